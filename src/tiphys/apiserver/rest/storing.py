"""The last step of a write: a finished object goes to the store, and comes back as the record that everyone will see."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from tiphys.apiserver.call import Call
from tiphys.machinery import errors
from tiphys.machinery.errors import ApiError
from tiphys.machinery.record import Record, encode, stamp, unstamp
from tiphys.machinery.tree import Obj
from tiphys.store.interface import Delete, Guard, Mismatch, Op, Put

_T = TypeVar("_T")

ATTEMPTS = 30
"""How often a read-modify-write starts again before it gives up with a conflict."""


class Retry(Exception):
    """Something the attempt relied on has changed meanwhile."""


def to_stored(call: Call, obj: Obj) -> Obj:
    conversion = call.served.kind.conversion
    return conversion.to_stored(obj) if conversion is not None else obj


async def insert(call: Call, obj: Obj, extra: Sequence[Op] = ()) -> Record:
    """Raises AlreadyExists; Retry if one of `extra` did not hold."""
    kind = call.served.kind
    name = call.served.name_in_store(call.namespace, obj["metadata"]["name"])
    value = encode(to_stored(call, obj))
    if call.dry_run:
        existing = await call.backend.store.get(kind.prefix, name)
        if existing is not None:
            raise _exists(call, obj, existing)
        return Record(kind.prefix, name, value, 0, 0)
    put = Put(kind.prefix, name, value, expect=0)
    try:
        return (await call.backend.store.write([put, *extra]))[0]
    except Mismatch as mismatch:
        if mismatch.op is not put:
            raise Retry from mismatch
        raise _exists(call, obj, mismatch.current) from None


def _exists(call: Call, obj: Obj, current: Record | None) -> ApiError:
    kind = call.served.kind
    problem = errors.already_exists(kind.group, kind.plural, obj["metadata"]["name"])
    if current is not None and "deletionTimestamp" in current.tree()["metadata"]:
        problem.message = f"object is being deleted: {problem.message}"
    return problem


async def replace(call: Call, current: Record, obj: Obj, extra: Sequence[Op] = ()) -> Record:
    """Raises Retry if `current` is no longer what is stored."""
    if call.dry_run:
        return as_if_stored(call, current, obj)
    value = encode(to_stored(call, obj))
    try:
        return (await call.backend.store.write([Put(current.bucket, current.name, value, current.revision), *extra]))[0]
    except Mismatch as mismatch:
        raise Retry from mismatch


def as_if_stored(call: Call, current: Record, obj: Obj) -> Record:
    """What `replace` would return, without storing it."""
    data = stamp(encode(to_stored(call, obj)), current.revision)
    return Record(current.bucket, current.name, data, current.revision, current.created)


async def unchanged(call: Call, current: Record) -> Record:
    """A write that changes nothing is no write; but what it saw must be durable before it is acknowledged."""
    store = call.backend.store
    if call.dry_run:
        return current
    try:
        if store.is_stale(current.bucket, current.name):
            return (await store.write([Put(current.bucket, current.name, unstamp(current.data), current.revision)]))[0]
        if current.revision > store.revision:
            await store.write([Guard(current.bucket, current.name, current.revision)])
    except Mismatch as mismatch:
        raise Retry from mismatch
    return current


async def remove(call: Call, current: Record, extra: Sequence[Op] = ()) -> Record:
    """The last state, at the revision of the deletion. Raises Retry if `current` is no longer what is stored."""
    if call.dry_run:
        return current
    try:
        return (await call.backend.store.write([Delete(current.bucket, current.name, current.revision), *extra]))[0]
    except Mismatch as mismatch:
        raise Retry from mismatch


async def read_modify_write(attempt: Callable[[], Awaitable[_T]], call: Call) -> _T:
    """Run `attempt` until what it read is still true when it writes."""
    for _ in range(ATTEMPTS):
        try:
            return await attempt()
        except Retry:
            continue
    kind = call.served.kind
    raise errors.conflict(kind.group, kind.plural, call.info.name)
