"""What a pod may learn of itself: fields, and the resources of its containers.

https://kubernetes.io/docs/concepts/workloads/pods/downward-api/
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tiphys.kubelet.names import all_containers
from tiphys.machinery import quantity
from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class FieldValues:
    """What the node adds to what the pod's object says."""

    node: str = ""
    host_addresses: tuple[str, ...] = ()
    pod_addresses: tuple[str, ...] = ()
    allocatable: Mapping[str, str] = field(default_factory=dict)


_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]")


def field_value(pod: Obj, path: str, values: FieldValues) -> str:
    meta, spec = pod["metadata"], pod["spec"]
    subscript = _SUBSCRIPT.fullmatch(path)
    if subscript is not None:
        return str((meta.get(subscript[1]) or {}).get(subscript[2], ""))
    if path in ("metadata.labels", "metadata.annotations"):
        return _lines(meta.get(path.removeprefix("metadata.")) or {})
    found = {
        "metadata.name": meta.get("name"),
        "metadata.namespace": meta.get("namespace"),
        "metadata.uid": meta.get("uid"),
        "spec.nodeName": values.node,
        "spec.serviceAccountName": spec.get("serviceAccountName"),
        "status.hostIP": values.host_addresses[0] if values.host_addresses else "",
        "status.hostIPs": ",".join(values.host_addresses),
        "status.podIP": values.pod_addresses[0] if values.pod_addresses else "",
        "status.podIPs": ",".join(values.pod_addresses),
    }
    return str(found.get(path) or "")


def _lines(told: Mapping[str, str]) -> str:
    """key="escaped value", one a line, sorted: how files of the downward API show maps (pkg/fieldpath/fieldpath.go)."""
    return "\n".join(f"{key}={_quoted(told[key])}" for key in sorted(told))


def _quoted(text: str) -> str:
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(each, each) for each in text) + '"'


def resource_value(pod: Obj, container: Obj, reference: Obj, values: FieldValues) -> str:
    """In units of the divisor, rounded up. A limit that is not set is what the node can give."""
    named = reference.get("containerName")
    chosen = next((each for each in all_containers(pod) if each["name"] == named), container) if named else container
    part, name = reference["resource"].split(".", 1)
    resources = chosen.get("resources") or {}
    amount = (resources.get(part) or {}).get(name)
    if amount is None and part == "limits":
        amount = values.allocatable.get(name)
    divisor = quantity.parse(reference.get("divisor") or "1")
    unit = divisor.milli() if name == "cpu" else divisor.value()
    held = quantity.parse(amount or "0")
    whole = held.milli() if name == "cpu" else held.value()
    if not unit:
        unit = 1000 if name == "cpu" else 1
    return str(-(-whole // unit))
