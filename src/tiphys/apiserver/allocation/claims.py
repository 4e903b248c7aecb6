"""Devices with administrator's access, which also those have whose devices they are: only namespaces that say so give it out.

KEP-5018; upstream's pkg/registry/resource/utils.go.
"""

from collections.abc import Iterator, Mapping, Sequence

from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.kind import Kind
from tiphys.apiserver.allocation import claim_status
from tiphys.apiserver.allocation.hooks import Hook
from tiphys.apiserver.call import Call
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery import errors, meta
from tiphys.machinery.fields import forbidden
from tiphys.machinery.tree import Obj, Path, get
from tiphys.store.interface import Op

GROUP = "resource.k8s.io"
LABEL = "resource.kubernetes.io/admin-access"
_CLAIM: Path = ("spec", "devices", "requests")
_TEMPLATE: Path = ("spec", *_CLAIM)
_RESULTS: Path = ("status", "allocation", "devices", "results")


def requested(requests: Sequence[Obj]) -> Iterator[int]:
    """Which of the requests of a claim ask for it. Alternatives to a request cannot."""
    for position, each in enumerate(requests):
        if (each.get("exactly") or {}).get("adminAccess"):
            yield position


def granted(claim: Obj) -> Iterator[int]:
    for position, each in enumerate(get(claim, _RESULTS) or ()):
        if each.get("adminAccess"):
            yield position


def hooks(lookup: Lookup) -> Mapping[tuple[str, str], Hook]:
    """For WriteHooks, by (group, plural)."""
    return {(GROUP, "resourceclaims"): _hook(lookup, _CLAIM), (GROUP, "resourceclaimtemplates"): _hook(lookup, _TEMPLATE)}


def _hook(lookup: Lookup, requests: Path) -> Hook:
    async def creating(call: Call, new: Obj) -> Sequence[Op]:
        # Upstream names the place in the claim also where it is a template's.
        for position in requested(get(new, requests) or ()):
            _check(lookup, call.served.kind, new, f"spec.devices.requests[{position}].adminAccess")
        return ()

    async def updating(call: Call, new: Obj, old: Obj) -> Sequence[Op]:
        if call.info.subresource == "status" and not any(True for _ in granted(old)):
            for position in granted(new):
                _check(lookup, call.served.kind, new, f"status.allocation.devices.results[{position}].adminAccess")
        if call.info.subresource == "status":
            told = [each async for each in claim_status.problems(call, new.get("status") or {}, old.get("status") or {})]
            if told:
                raise errors.invalid(call.served.kind.group, call.served.kind.kind, meta.name(new), told)
        return ()

    async def deleting(_call: Call, _old: Obj) -> Sequence[Op]:
        return ()

    return Hook(creating, updating, deleting)


def _check(lookup: Lookup, kind: Kind, claim: Obj, at: str) -> None:
    namespace = lookup.get(NAMESPACES.prefix, meta.namespace(claim))
    if namespace is None or meta.labels(namespace).get(LABEL) != "true":
        told = f"admin access to devices requires the `{LABEL}: true` label on the containing namespace"
        raise errors.invalid(kind.group, kind.kind, meta.name(claim), [forbidden(at, told)])
