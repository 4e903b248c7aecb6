"""Deletes what is in a namespace and counts what stays. The part of the namespace controller that talks to the server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tiphys.api.core.pods import PODS, facts
from tiphys.api.kind import Kind
from tiphys.client.interface import Client
from tiphys.machinery import meta
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

FINALIZER_SECONDS = 15
"""How long finalizers are given before we look again."""
_NOT_SERVED = (404, 405)


@dataclass(slots=True)
class Remaining:
    """What is left, and why."""

    resources: dict[str, int] = field(default_factory=dict)
    """By `plural.group`."""
    finalizers: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    seconds: int = 0
    """When it may be worth looking again."""
    pods_only: bool = False
    """Pods are still there, so nothing else has been touched."""


async def empty(client: Client, arguments: Mapping[str, Any]) -> Remaining:
    namespace: str = arguments["namespace"]
    kinds: Sequence[Kind] = arguments["kinds"]
    found = Remaining()
    await _empty_of(client, PODS, namespace, found)
    if found.resources:
        found.pods_only = True
        return found
    for kind in kinds:
        if (kind.group, kind.plural) != (PODS.group, PODS.plural):
            await _empty_of(client, kind, namespace, found)
    return found


async def _empty_of(client: Client, kind: Kind, namespace: str, found: Remaining) -> None:
    try:
        present = (await client.list(kind, namespace)).items
        if not present:
            return
        estimate = _grace(present) if kind is PODS else 0
        await _delete(client, kind, namespace, present)
        left = (await client.list(kind, namespace)).items
    except ApiError as refused:
        if refused.code not in _NOT_SERVED:
            found.problems.append(str(refused))
        return
    if not left:
        return
    found.resources[f"{kind.plural}.{kind.group}"] = len(left)
    held = [name for each in left for name in meta.finalizers(each)]
    for name in held:
        found.finalizers[name] = found.finalizers.get(name, 0) + 1
    if not estimate and not held:
        resource = f"{kind.group}/{kind.version}, Resource={kind.plural}"
        found.problems.append(f"unexpected items still remain in namespace: {namespace} for gvr: {resource}")
    found.seconds = max(found.seconds, estimate or FINALIZER_SECONDS)


def _grace(pods: Sequence[Obj]) -> int:
    seconds = (pod["spec"].get("terminationGracePeriodSeconds") or 0 for pod in pods if not facts.is_finished(pod))
    return max(seconds, default=0)


async def _delete(client: Client, kind: Kind, namespace: str, present: Sequence[Obj]) -> None:
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    if "deletecollection" in kind.verbs:
        await client.delete(kind, "", namespace, options=options)
        return
    for each in present:
        try:
            await client.delete(kind, meta.name(each), namespace, options=options)
        except ApiError as refused:
            if refused.reason != "NotFound":
                raise
