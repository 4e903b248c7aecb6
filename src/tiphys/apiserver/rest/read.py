"""GET of one object and of a collection. The common answers are stored bytes, joined; nothing is decoded for them."""

import binascii
import dataclasses
import posixpath
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence

import orjson

from tiphys.apiserver import table
from tiphys.apiserver.call import Call
from tiphys.apiserver.negotiate import JSON
from tiphys.apiserver.rest import answers, list_options
from tiphys.apiserver.rest.list_options import parse_revision
from tiphys.apiserver.rest.selection import selection_of
from tiphys.base.http.messages import Response
from tiphys.machinery import errors
from tiphys.machinery.decode.json_syntax import syntax_problem
from tiphys.machinery.errors import Details
from tiphys.machinery.record import Record
from tiphys.machinery.tree import Obj
from tiphys.store.interface import Compacted, Future, Listing

_EXPIRED = "The resourceVersion for the provided list is too old."
_CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the "
    "continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing "
    "with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the "
    "time the first chunk was returned and now may show up in the list."
)


async def get(call: Call) -> Response:
    answers.check_view(call)
    served, store = call.served, call.backend.store
    name = served.name_in_store(call.namespace, call.info.name)
    version = call.option("resourceVersion")
    if version:
        check_not_ahead(store.revision, parse_revision(version))
    found = await store.get(served.kind.prefix, name)
    if found is None:
        raise served.not_found(call.info.name)
    return answers.record(call, found)


def check_not_ahead(current: int, asked: int) -> None:
    if asked > current:
        raise errors.too_large_resource_version(current, asked)


@dataclasses.dataclass(frozen=True, slots=True)
class Selected:
    records: Sequence[Record]
    revision: int
    remaining: int | None = None
    continue_token: str = ""


async def list_objects(call: Call) -> Response:
    answers.check_view(call, collection=True)
    selected = await select(call)
    form = answers.form_of(call)
    if form.plain and not call.served.converts and not answers.wants_pretty(call):
        return Response(200, _joined(call, selected), JSON, answers.headers_of(call))
    items = [answers.from_store(call, record) for record in selected.records]
    return listed(call, items, str(selected.revision), selected.continue_token, selected.remaining)


def listed(call: Call, items: list[Obj], revision: str, token: str = "", remaining: int | None = None) -> Response:
    """A list of trees in whatever form was asked for."""
    kind, form = call.served.kind, answers.form_of(call)
    meta: Obj = {"resourceVersion": revision}
    if token or (call.served.custom and not form.view):
        meta["continue"] = token
    if remaining is not None:
        meta["remainingItemCount"] = remaining
    if form.view == "Table":
        include = call.option("includeObject") or "Metadata"
        body = table.of(kind, items, meta, call.now, include, form.view_version)
    elif form.view:
        body = table.partial_list(items, meta, form.view_version)
    else:
        if not call.served.custom:
            items = [{key: value for key, value in item.items() if key not in ("kind", "apiVersion")} for item in items]
        body = {"kind": kind.list_kind, "apiVersion": kind.api_version, "metadata": meta, "items": items}
    return answers.encoded(call, body, 200, form)


def _joined(call: Call, selected: Selected) -> list[bytes]:
    served = call.served
    head = [served.list_head, str(selected.revision).encode(), b'"']
    if selected.continue_token or served.custom:
        # Lists of custom resources say so, too, where nothing follows.
        head.append(b',"continue":' + orjson.dumps(selected.continue_token))
    if selected.remaining is not None:
        head.append(b',"remainingItemCount":%d' % selected.remaining)
    if served.custom:
        items = b",".join([served.shown(record).data for record in selected.records])
    else:
        skip = len(served.head)
        # Items of built-in lists carry no kind and apiVersion; the bytes of every record begin with them.
        items = b",{".join([record.data[skip:] for record in selected.records])
        if items:
            items = b"{" + items
    return [*head, b'},"items":[', items, b"]}"]


async def select(call: Call) -> Selected:
    """The records that the request asks for: a page of them, at the right revision, matching its selectors."""
    list_options.check_list(call)
    selection = selection_of(call)
    token = call.option("continue")
    # What is read from memory comes as a whole.
    whole = call.option("resourceVersion") == "0" and not token
    limit = 0 if whole else max(list_options.number(call, "limit"), 0)
    after, revision = _resume(call, token) if token else ("", _revision(call))
    matches = selection.matcher(call.backend.watches.labels_of)
    exact_name = selection.name if not token else None
    if exact_name is not None and (call.namespace or not call.served.kind.namespaced) and revision in (None, 0):
        return await _one(call, exact_name, matches)
    wanted = limit if matches is None else 0
    try:
        listing = await call.backend.store.list(
            call.served.kind.prefix, call.namespace, revision=revision, limit=wanted, after=after
        )
    except Compacted:
        raise _expired(token, after) from None
    except Future as future:
        raise errors.too_large_resource_version(future.current, future.asked) from None
    return _paged(listing, limit, matches)


async def _one(call: Call, name: str, matches: Callable[[Record], bool] | None) -> Selected:
    """A list narrowed to one name by metadata.name=... needs no scan."""
    served, store = call.served, call.backend.store
    store_name = served.name_in_store(call.namespace, name)
    await store.get(served.kind.prefix, store_name)
    # After that, what this process has seen is new enough; record and revision are read in the same moment.
    found = store.peek(served.kind.prefix, store_name)
    if found is None or (matches is not None and not matches(found)):
        return Selected((), store.revision)
    return Selected((found,), store.revision)


def _paged(listing: Listing, limit: int, matches: Callable[[Record], bool] | None) -> Selected:
    records, remaining = listing.records, listing.remaining
    if matches is not None:
        kept = [record for record in records if matches(record)]
        if not limit or len(kept) <= limit:
            return Selected(kept, listing.revision)
        # Upstream counts what remains only for lists without selectors.
        page = kept[:limit]
        return Selected(page, listing.revision, None, _token(listing.revision, page[-1].name))
    if not remaining:
        return Selected(records, listing.revision)
    return Selected(records, listing.revision, remaining, _token(listing.revision, records[-1].name))


def _revision(call: Call) -> int | None:
    """None: now; 0: anything; else exactly then. "Not older than N" is answered with now, once now has reached N."""
    text, match = call.option("resourceVersion"), call.option("resourceVersionMatch")
    if not text:
        return None
    if not list_options.is_revision(text):
        raise errors.bad_request(f"invalid resource version: {list_options.unreadable_revision(text)}")
    asked = int(text)
    if asked == 0:
        return 0
    current = call.backend.store.revision
    if match == "Exact" and asked > current:
        # Only the present can be waited for.
        problem = errors.too_large_resource_version(current, asked)
        assert problem.details is not None
        problem.details = Details(causes=problem.details.causes)
        raise problem
    check_not_ahead(current, asked)
    # With a limit and no match rule, upstream reads exactly the revision asked for.
    if match == "Exact" or (not match and call.option("limit") not in ("", "0")):
        return asked
    return 0


def _token(revision: int, last: str) -> str:
    body = orjson.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": last + "\0"})
    return urlsafe_b64encode(body).rstrip(b"=").decode()


def _resume(call: Call, token: str) -> tuple[str, int | None]:
    """Where a continue token goes on, and at which revision (None: now, after an expired one was traded in)."""
    if call.option("resourceVersion") not in ("", "0"):
        raise errors.bad_request("specifying resource version is not allowed when using continue")
    try:
        body = _decoded(token)
    except ValueError as problem:
        raise errors.bad_request(f"invalid continue token: {problem}") from None
    revision = body["rv"]
    return body["start"].removesuffix("\0"), None if revision < 0 else revision


_BAD_TOKEN = "continue key is not valid"
_VERSION = "meta.k8s.io/v1"


def _decoded(token: str) -> Obj:
    """ValueError for what no server has handed out."""
    try:
        data = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except (binascii.Error, ValueError):
        at = next((index for index, each in enumerate(token) if each not in _BASE64), len(token) - 1)
        raise ValueError(f"{_BAD_TOKEN}: illegal base64 data at input byte {at}") from None
    if problem := syntax_problem(data):
        raise ValueError(f"{_BAD_TOKEN}: {problem}")
    body = orjson.loads(data)
    if not isinstance(body, dict) or not isinstance(body.get("rv", 0), int) or not isinstance(body.get("start", ""), str):
        raise ValueError(f"{_BAD_TOKEN}: json: cannot unmarshal into Go value of type storage.continueToken")
    if body.get("v") != _VERSION:
        raise ValueError(f"{_BAD_TOKEN}: server does not recognize this encoded version {body.get('v', '')}")
    if not body.get("rv"):
        raise ValueError(f"{_BAD_TOKEN}: incorrect encoded start resourceVersion (version {_VERSION})")
    start = body.get("start", "")
    if not start:
        raise ValueError(f"{_BAD_TOKEN}: encoded start key empty (version {_VERSION})")
    path = start if start.startswith("/") else "/" + start
    if posixpath.normpath(path) != path:
        raise ValueError(f"{_BAD_TOKEN}: {start}")
    return body


_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def _expired(token: str, after: str) -> errors.ApiError:
    if not token:
        return errors.expired(_EXPIRED)
    return errors.expired(_CONTINUE_EXPIRED, _token(-1, after))
