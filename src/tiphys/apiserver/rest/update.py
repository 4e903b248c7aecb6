"""PUT, and the second half of every PATCH: an existing object changes."""

from collections.abc import Callable

from tiphys.apiserver.call import Call, check_write_options
from tiphys.apiserver.rest import answers, bodies, create, storing, tracking, writing
from tiphys.base.http.messages import Response
from tiphys.machinery.patch.managed import keep_times
from tiphys.machinery.record import Record
from tiphys.machinery.tree import Obj

Change = Callable[[Obj], Obj]
"""From the stored object (read-only, in the version of the URL) to the one that the client wants."""


async def update(call: Call) -> Response:
    answers.form_of(call)
    check_write_options(call, "UpdateOptions")
    sent = bodies.read_object(call)
    bodies.check_name(call, sent)

    pristine = bodies.Pristine(sent)

    async def attempt() -> tuple[Record, bool]:
        current = await load(call)
        if current is None:
            if not call.served.kind.strategy.create_on_update or call.info.subresource:
                raise call.served.not_found(call.info.name)
            writing.check_uid(call.served.kind, sent, None, call.served.name_in_store(call.namespace, call.info.name))
            return await create.create_object(call, pristine.take()), True
        return await change_object(call, current, lambda _: pristine.take()), False

    record, created = await storing.read_modify_write(attempt, call)
    return answers.record(call, record, 201 if created else 200)


async def load(call: Call) -> Record | None:
    served = call.served
    return await call.backend.store.latest(served.kind.prefix, served.name_in_store(call.namespace, call.info.name))


async def change_object(call: Call, current: Record, change: Change, *, applied: bool = False, patched: bool = False) -> Record:
    """One attempt: from what is stored to what will be. Raises storing.Retry if somebody was faster.

    `applied`: the change has already settled managedFields (server-side apply). `patched`: a uid in the new object is no
    condition on the old one, but a change.
    """
    kind, subresource = call.served.kind, call.info.subresource
    old = answers.from_store(call, current)
    new = change(old)
    if patched and subresource != "status":
        # The new object has taken over what the patch left alone, and hooks change it in place.
        old = answers.from_store(call, current)
    if not patched:
        writing.check_uid(kind, new, old, current.name)
    writing.check_resource_version(kind, new, old)
    new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    if not patched:
        writing.unique_owners(new, call.warnings)
    if not applied:
        tracking.changed(call, new, old)
    attributes = call.attributes("UPDATE", call.info.name, new, old, {"fieldManager": tracking.manager_of(call)})
    await call.backend.admission.admit(attributes)
    writing.unique_owners(new, call.warnings, admitted=True)
    writing.prepare_changed(kind, new, old, subresource)
    extra = await call.backend.hooks.updating(call, new, old)
    writing.check_changed(kind, new, old, subresource, call.warnings)
    await call.backend.admission.validate(attributes)
    if writing.finished_deleting(kind, new, old):
        await storing.remove(call, current, await call.backend.hooks.deleting(call, old))
        # Whoever updates an object expects to see it, although it is gone now.
        return storing.as_if_stored(call, current, new)
    new = keep_times(new, old)
    if new == old:
        return await storing.unchanged(call, current)
    return await storing.replace(call, current, new, [*extra, *attributes.extra])
