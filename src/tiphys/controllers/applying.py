"""Performs the writes of a plan. It decides nothing but when to stop: at the first write that fails."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tiphys.api.kind import Kind
from tiphys.client.cache import Cache
from tiphys.client.interface import Client, PatchType
from tiphys.client.recorder import Recorder
from tiphys.controllers.controller import Inquiry, Named, named
from tiphys.controllers.plan import (
    Adopt,
    Create,
    Delete,
    Emit,
    Failure,
    Inquire,
    Note,
    Patch,
    Release,
    Update,
    Write,
    causes,
)
from tiphys.machinery import errors, meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj, get


@dataclass(frozen=True, slots=True)
class Debt:
    """Something that was written and that the cache of its kind has yet to see."""

    cache: Named
    revision: int = 0
    key: str = ""
    uid: str = ""
    """Of an object that was deleted: the cache must show it on its way, or no more."""

    def paid(self, caches: Mapping[Named, Cache]) -> bool:
        cache = caches.get(self.cache)
        if cache is None:
            return True
        if self.revision:
            return cache.revision >= self.revision
        found = cache.get(self.key)
        return found is None or meta.uid(found) != self.uid or meta.is_deleting(found)


@dataclass(slots=True)
class Outcome:
    failure: Failure | None = None
    debts: list[Debt] = field(default_factory=list)
    wrote: tuple[str, ...] = ()
    answered: bool = False
    answer: Any = None


class Applier:
    def __init__(self, client: Client, recorder: Recorder, component: str, inquiries: Mapping[str, Inquiry]) -> None:
        self._client = client
        self._recorder = recorder
        self._component = component
        self._inquiries = inquiries

    async def apply(self, writes: tuple[Write, ...]) -> Outcome:
        outcome = Outcome()
        wrote: list[str] = []
        position = 0
        while position < len(writes) and outcome.failure is None:
            write = writes[position]
            if isinstance(write, Create) or (isinstance(write, Delete) and not write.same_version):
                run = _run(writes, position)
                position += len(run)
                await self._in_batches(run, outcome, wrote)
            else:
                position += 1
                await self._one(write, outcome, wrote)
        outcome.wrote = tuple(wrote)
        return outcome

    async def _in_batches(self, run: list[Write], outcome: Outcome, wrote: list[str]) -> None:
        """One, then two, four, ...: where the first is refused (a quota, say), thousands would be, too."""
        size = 1 if isinstance(run[0], Create) else len(run)
        while run and outcome.failure is None:
            batch, run = run[:size], run[size:]
            if len(batch) == 1:
                await self._one(batch[0], outcome, wrote)
            else:
                async with asyncio.TaskGroup() as group:
                    for each in batch:
                        group.create_task(self._one(each, outcome, wrote))
            size *= 2

    async def _one(self, write: Write, outcome: Outcome, wrote: list[str]) -> None:
        name = ""
        try:
            answer = await self._perform(write, outcome)
            name = get(answer, ("metadata", "name"), "") if answer is not None else ""
        except ApiError as error:
            self._refused(write, error, outcome, wrote)
            return
        except (ConnectionError, TimeoutError) as error:
            lost = error if isinstance(error, ConnectionError) else ConnectionError(str(error))
            outcome.failure = outcome.failure or Failure(write, lost)
            wrote.append(f"{_told(write)}: {error}")
            return
        if not isinstance(write, Emit):
            wrote.append(_told(write, name))
        self._note(write.done, name=name)

    def _refused(self, write: Write, error: ApiError, outcome: Outcome, wrote: list[str]) -> None:
        if write.tolerate & causes(error) or (isinstance(write, Delete | Release) and error.reason == "NotFound"):
            return
        wrote.append(f"{_told(write)}: {error.reason}")
        outcome.failure = outcome.failure or Failure(write, error)
        if error.reason != "AlreadyExists":
            # What is there already is no failure that its owner need hear of; the next turn sees it.
            self._note(write.failed, error=str(error))

    def _note(self, note: Note | None, **outcome: str) -> None:
        if note is not None:
            message = note.message
            for key, value in outcome.items():
                message = message.replace("{" + key + "}", value)
            self._recorder.tell(note.about, self._component, note.type, note.reason, message)

    async def _perform(self, write: Write, outcome: Outcome) -> Obj | None:
        client = self._client
        match write:
            case Create():
                return self._owe(outcome, write.kind, await client.create(write.kind, write.obj, meta.namespace(write.obj)))
            case Update():
                updated = await client.update(write.kind, write.obj, subresource=write.subresource)
                return self._owe(outcome, write.kind, updated)
            case Patch():
                params = {"fieldManager": write.manager, "force": "true"} if write.manager else {}
                return await self._patch(
                    write.kind, write.obj, write.patch, outcome, write.patch_type, write.subresource, params
                )
            case Delete():
                return await self._delete(write, outcome)
            case Adopt():
                return await self._adopt(write, outcome)
            case Release():
                return await self._patch(write.kind, write.obj, _releasing(write), outcome, "strategic")
            case Emit():
                self._note(write.note)
            case Inquire():
                outcome.answer = await self._inquiries[write.name](client, write.arguments)
                outcome.answered = True
        return None

    async def _patch(
        self,
        kind: Kind,
        obj: Obj,
        patch: Any,
        outcome: Outcome,
        patch_type: PatchType = "merge",
        subresource: str = "",
        params: Mapping[str, str] = {},
    ) -> Obj:
        name, namespace = meta.name(obj), meta.namespace(obj)
        patched = await self._client.patch(
            kind, name, patch, namespace, patch_type=patch_type, subresource=subresource, params=params
        )
        return self._owe(outcome, kind, patched)

    async def _delete(self, write: Delete, outcome: Outcome) -> Obj:
        kind, obj = write.kind, write.obj
        preconditions = {"uid": meta.uid(obj)}
        if write.same_version:
            preconditions["resourceVersion"] = meta.resource_version(obj)
        options: Obj = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions}
        if write.policy:
            options["propagationPolicy"] = write.policy
        if write.grace is not None:
            options["gracePeriodSeconds"] = write.grace
        await self._client.delete(kind, meta.name(obj), meta.namespace(obj), options=options)
        outcome.debts.append(Debt(named(kind), key=meta.key(obj), uid=meta.uid(obj)))
        return obj

    async def _adopt(self, write: Adopt, outcome: Outcome) -> Obj:
        owner, kind = write.owner, write.owner_kind
        live = await self._client.get(kind, meta.name(owner), meta.namespace(owner))
        if meta.uid(live) != meta.uid(owner):
            raise errors.conflict(kind.group, kind.plural, meta.name(owner), "it was deleted and made anew")
        if meta.is_deleting(live):
            raise errors.conflict(kind.group, kind.plural, meta.name(owner), "it is being deleted")
        reference = meta.owner_reference({**live, "apiVersion": kind.api_version, "kind": kind.kind})
        metadata: Obj = {"ownerReferences": [reference], "uid": meta.uid(write.obj)}
        if write.finalizer:
            metadata["finalizers"] = [write.finalizer]
        return await self._patch(write.kind, write.obj, {"metadata": metadata}, outcome, "strategic")

    @staticmethod
    def _owe(outcome: Outcome, kind: Kind, answer: Obj) -> Obj:
        revision = meta.resource_version(answer) if "metadata" in answer else ""
        if revision:
            outcome.debts.append(Debt(named(kind), revision=int(revision)))
        return answer


def _run(writes: tuple[Write, ...], start: int) -> list[Write]:
    """The writes from `start` on that are of one type and about one kind, with repetitions spelled out."""
    what = _sort(writes[start])
    run: list[Write] = []
    for write in writes[start:]:
        if _sort(write) != what or (isinstance(write, Delete) and write.same_version):
            break
        run.append(write)
    if len(run) == 1 and isinstance(run[0], Create):
        return run * run[0].times
    return run


def _sort(write: Write) -> tuple[type[Write], Kind | None]:
    return type(write), write.kind if isinstance(write, Create | Delete) else None


def _releasing(write: Release) -> Obj:
    reference = {"$patch": "delete", "uid": meta.uid(write.owner)}
    metadata: Obj = {"ownerReferences": [reference], "uid": meta.uid(write.obj)}
    if write.finalizer:
        metadata["$deleteFromPrimitiveList/finalizers"] = [write.finalizer]
    return {"metadata": metadata}


def _told(write: Write, name: str = "") -> str:
    """For the record."""
    match write:
        case Create():
            key = name or meta.name(write.obj) or write.obj["metadata"].get("generateName", "")
            return f"create {write.kind.kind} {key}"
        case Update() | Patch():
            below = f"/{write.subresource}" if write.subresource else ""
            return f"{type(write).__name__.lower()} {write.kind.kind}{below} {meta.key(write.obj)}"
        case Delete() | Adopt() | Release():
            return f"{type(write).__name__.lower()} {write.kind.kind} {meta.key(write.obj)}"
        case Inquire():
            return f"inquire {write.name}"
    return type(write).__name__
