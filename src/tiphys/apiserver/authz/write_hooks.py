"""What the writes of roles, bindings and certificate requests have to do with who makes them."""

from collections.abc import Mapping, Sequence

from tiphys.api.certificates.certificatesigningrequests import asked_by, stamp_conditions
from tiphys.apiserver.allocation.hooks import Hook
from tiphys.apiserver.authz.escalation import GROUP, EscalationGuard
from tiphys.apiserver.call import Call
from tiphys.machinery import times
from tiphys.machinery.tree import Obj
from tiphys.store.interface import Op


async def _nothing(_call: Call, _old: Obj) -> Sequence[Op]:
    return ()


def hooks(guard: EscalationGuard) -> Mapping[tuple[str, str], Hook]:
    """For WriteHooks, by (group, plural)."""
    role, binding = _role_hook(guard), _binding_hook(guard)
    return {
        (GROUP, "roles"): role,
        (GROUP, "clusterroles"): role,
        (GROUP, "rolebindings"): binding,
        (GROUP, "clusterrolebindings"): binding,
        ("certificates.k8s.io", "certificatesigningrequests"): Hook(_request_creating, _request_updating, _nothing),
    }


def _role_hook(guard: EscalationGuard) -> Hook:
    async def creating(call: Call, new: Obj) -> Sequence[Op]:
        await guard.check_role(call.user, new)
        return ()

    async def updating(call: Call, new: Obj, old: Obj) -> Sequence[Op]:
        await guard.check_role(call.user, new, old)
        return ()

    return Hook(creating, updating, _nothing)


def _binding_hook(guard: EscalationGuard) -> Hook:
    async def creating(call: Call, new: Obj) -> Sequence[Op]:
        await guard.check_binding(call.user, new)
        return ()

    async def updating(call: Call, new: Obj, old: Obj) -> Sequence[Op]:
        await guard.check_binding(call.user, new, old)
        return ()

    return Hook(creating, updating, _nothing)


async def _request_creating(call: Call, new: Obj) -> Sequence[Op]:
    user = call.user
    asked_by(new, user.name, user.uid, user.groups, user.extras())
    return ()


async def _request_updating(call: Call, new: Obj, old: Obj) -> Sequence[Op]:
    if call.info.subresource in ("status", "approval"):
        stamp_conditions(new, old, times.rfc3339(call.now))
    return ()
