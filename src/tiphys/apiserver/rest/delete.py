"""DELETE of one object, and of a collection: graceful deletion, finalizers, propagation, preconditions."""

from tiphys.apiserver.call import Call
from tiphys.apiserver.negotiate import OFFERED, content_type
from tiphys.apiserver.rest import answers, deleting, patch_problems, read, storing
from tiphys.base.http.messages import Response
from tiphys.machinery import decode, errors
from tiphys.machinery.record import Record
from tiphys.machinery.tree import Obj


async def delete(call: Call) -> Response:
    answers.form_of(call)
    options = read_options(call)
    _warn_of_orphans(call, options)
    record, gone = await delete_object(call, call.info.name, options)
    accepted = not gone and options.get("orphanDependents") is False
    status = 202 if accepted else 200
    kind = call.served.kind
    if not gone or kind.strategy.returns_deleted:
        return answers.record(call, record, status)
    uid = answers.from_store(call, record)["metadata"].get("uid", "")
    details: Obj = {"name": call.info.name, "kind": kind.plural, "uid": uid}
    if kind.group:
        details["group"] = kind.group
    return answers.encoded(call, answers.success(details), status)


async def delete_object(call: Call, name: str, options: Obj) -> tuple[Record, bool]:
    """The object as it is now, or was last; and whether it is gone."""
    served, backend = call.served, call.backend
    store_name = served.name_in_store(call.namespace, name)

    async def attempt() -> tuple[Record, bool]:
        current = await backend.store.latest(served.kind.prefix, store_name)
        if current is None:
            raise served.not_found(name)
        old = answers.from_store(call, current)
        deleting.check_preconditions(served.kind, old, options)
        await _admit(call, name, old, options)
        new = deleting.decide(served.kind, old, options, call.now)
        if new is old:
            return await storing.unchanged(call, current), False
        if new is None:
            extra = await backend.hooks.deleting(call, old)
            removed = await storing.remove(call, current, extra)
            last = deleting.farewell(served.kind, old, options, call.now)
            return (removed if last is old else storing.as_if_stored(call, removed, last)), True
        return await storing.replace(call, current, new), False

    return await storing.read_modify_write(attempt, call)


async def _admit(call: Call, name: str, old: Obj, options: Obj) -> None:
    attributes = call.attributes("DELETE", name, None, old, options)
    attributes.namespace = old["metadata"].get("namespace", call.namespace)
    await call.backend.admission.admit(attributes)
    await call.backend.admission.validate(attributes)


_ORPHANED_PODS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


def _warn_of_orphans(call: Call, options: Obj) -> None:
    kind = call.served.kind
    undecided = options.get("propagationPolicy") is None and options.get("orphanDependents") is None
    if undecided and (kind.group, kind.plural) == ("batch", "jobs"):
        call.warnings.append(_ORPHANED_PODS)


def read_options(call: Call) -> Obj:
    """DeleteOptions from the body; only if there is none, from the query."""
    if call.tree is not None:
        options: Obj = call.tree
    elif call.request.body:
        options = _from_body(call)
    else:
        options = _from_query(call)
    # From here on only the options count, not what else the query may say.
    if options.get("dryRun"):
        call.query["dryRun"] = list(options["dryRun"])
    else:
        call.query.pop("dryRun", None)
    deleting.check_options(options)
    return options


_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
_SCHEMA = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"


def _from_body(call: Call) -> Obj:
    media = content_type(call.request.headers.get("content-type", ""))
    if media not in OFFERED:
        raise errors.unsupported_media_type(OFFERED)
    parsed = decode.parse(call.request.body, media, find_duplicates=False).tree
    if not isinstance(parsed, dict):
        raise errors.bad_request(patch_problems.no_type_meta(parsed))
    kind, version = parsed.get("kind") or "DeleteOptions", parsed.get("apiVersion") or "v1"
    if kind != "DeleteOptions":
        raise errors.bad_request(f'no kind "{kind}" is registered for version "{version}" in scheme "{_SCHEME}"')
    try:
        return decode.conform(parsed, call.backend.catalogue.schemas.node(_SCHEMA), None)
    except errors.ApiError as problem:
        raise errors.bad_request(problem.message.partition("cannot be handled as a DeleteOptions: ")[2]) from None


def _from_query(call: Call) -> Obj:
    options: Obj = {}
    if grace := call.option("gracePeriodSeconds"):
        try:
            options["gracePeriodSeconds"] = int(grace)
        except ValueError:
            raise errors.bad_request(f'strconv.ParseInt: parsing "{grace}": invalid syntax') from None
    for name in ("propagationPolicy",):
        if value := call.option(name):
            options[name] = value
    if call.option("orphanDependents"):
        options["orphanDependents"] = call.flag("orphanDependents")
    if "dryRun" in call.query:
        options["dryRun"] = call.query["dryRun"]
    return options


async def delete_collection(call: Call) -> Response:
    answers.form_of(call)
    options = read_options(call)
    _warn_of_orphans(call, options)
    listing = await read.select(call)
    items: list[Obj] = []
    for record in listing.records:
        name = record.name.rpartition("/")[2]
        try:
            await delete_object(call, name, dict(options))
        except errors.ApiError as problem:
            if problem.reason == "NotFound":
                continue
            raise
        items.append(answers.from_store(call, record))
    return read.listed(call, items, str(listing.revision), listing.continue_token, listing.remaining)
