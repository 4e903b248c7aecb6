"""POST to a collection: a new object."""

from tiphys.apiserver.call import Call, check_write_options
from tiphys.apiserver.rest import answers, bodies, storing, tracking, writing
from tiphys.base.http.messages import Response
from tiphys.machinery import errors, meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.record import Record
from tiphys.machinery.tree import Obj

NAME_ATTEMPTS = 8
"""How many generated names are tried; upstream's number."""


async def create(call: Call) -> Response:
    answers.form_of(call)
    check_write_options(call)
    obj = bodies.read_object(call)
    call.mark("decode")
    record = await create_object(call, obj)
    if call.remembered is not None:
        call.remembered.key = record.name
    return answers.record(call, record, 201)


async def create_object(call: Call, obj: Obj, *, applied: bool = False) -> Record:
    """Admit, check and store `obj`, which is already in the version of the URL and defaulted.

    `applied`: managedFields are settled already (server-side apply).
    """
    bodies.check_namespace(call, obj)
    metadata = obj["metadata"]
    base = "" if metadata.get("name") else metadata.get("generateName", "")
    pristine = bodies.Pristine(obj)
    name = ""

    async def attempt_with_name() -> Record:
        new = pristine.take()
        if name:
            new["metadata"]["name"] = name
        return await _attempt(call, new, applied)

    for attempt in range(NAME_ATTEMPTS):
        if base:
            name = meta.generate_name(base, call.backend.choose)
        try:
            return await storing.read_modify_write(attempt_with_name, call)
        except ApiError as problem:
            if not base or problem.reason != "AlreadyExists":
                raise
            if attempt == NAME_ATTEMPTS - 1:
                kind = call.served.kind
                raise errors.no_unique_name(kind.group, kind.plural, name) from None
    raise AssertionError("unreachable")


async def _attempt(call: Call, obj: Obj, applied: bool) -> Record:
    kind, backend = call.served.kind, call.backend
    if kind.closing:
        told = "create not allowed while custom resource definition is terminating"
        raise errors.forbidden(kind.group, kind.plural, obj["metadata"].get("name", ""), told)
    sent_version = obj["metadata"].get("resourceVersion", "")
    writing.fill_system_metadata(obj, call.now, backend.new_uid())
    writing.unique_owners(obj, call.warnings)
    if not applied:
        tracking.created(call, obj)
    attributes = call.attributes(
        "CREATE", obj["metadata"].get("name", ""), obj, None, {"fieldManager": tracking.manager_of(call)}
    )
    await backend.admission.admit(attributes)
    call.mark("admit")
    writing.unique_owners(obj, call.warnings, admitted=True)
    writing.prepare_new(kind, obj)
    extra = await backend.hooks.creating(call, obj)
    writing.check_new(kind, obj, call.warnings)
    await backend.admission.validate(attributes)
    call.mark("validate")
    if sent_version.isdecimal() and int(sent_version) and not call.dry_run and call.info.verb == "create":
        raise ApiError(500, "", "resourceVersion should not be set on objects to be created")
    record = await storing.insert(call, obj, [*extra, *attributes.extra])
    call.mark("store")
    return record
