"""IPAddress: one address that is taken, and by what."""

from collections.abc import Iterator

from tiphys.api import ip
from tiphys.api.core.cells import NONE
from tiphys.api.core.structs import spelled
from tiphys.api.kind import Column, Kind
from tiphys.api.networking.ingresses import validate_segment
from tiphys.machinery.fields import FieldError, child, invalid, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import IMMUTABLE, dns1123_subdomain, path_segment

_PARENT = "spec.parentRef"


def default(address: Obj) -> None:
    address.setdefault("spec", {})


def validate(address: Obj) -> Iterator[FieldError]:
    parent = get(address, ("spec", "parentRef"))
    if parent is None:
        yield required(_PARENT)
        return
    if group := parent.get("group"):
        for problem in dns1123_subdomain(group):
            yield invalid(child(_PARENT, "group"), group, problem)
    for part in ("resource", "name"):
        yield from validate_segment(parent.get(part) or "", child(_PARENT, part))
    namespace = parent.get("namespace") or ""
    for problem in path_segment(namespace):
        yield invalid(child(_PARENT, "namespace"), namespace, problem)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    now, was = get(new, ("spec", "parentRef")), get(old, ("spec", "parentRef"))
    if now != was:
        shown = {part.capitalize(): (now or {}).get(part, "") for part in ("group", "resource", "namespace", "name")}
        yield invalid(_PARENT, spelled(shown) if now is not None else None, IMMUTABLE)


def _parent(address: Obj, _: float) -> str:
    parent = get(address, ("spec", "parentRef"))
    if parent is None:
        return NONE
    what = ".".join(filter(None, (parent.get("resource", ""), parent.get("group", "")))).lower()
    namespace = f"/{parent['namespace']}" if parent.get("namespace") else ""
    return f"{what}{namespace}/{parent.get('name', '')}"


IP_ADDRESSES = Kind(
    group="networking.k8s.io",
    version="v1",
    kind="IPAddress",
    plural="ipaddresses",
    singular="ipaddress",
    schema="io.k8s.api.networking.v1.IPAddress",
    namespaced=False,
    short=("ip",),
    default=default,
    validate=validate,
    validate_update=validate_update,
    name=ip.strict_problems,
    # Upstream has no column for the age.
    columns=(Column("ParentRef", _parent, description="What has taken the address."),),
)
