"""What the containers of a spec ask for together."""

from collections.abc import Callable
from typing import Literal

from tiphys.api.pod_template import amounts
from tiphys.api.pod_template.amounts import Amounts
from tiphys.machinery.quantity import Quantity
from tiphys.machinery.tree import Obj

What = Literal["requests", "limits"]


def is_restartable(init_container: Obj) -> bool:
    """A sidecar: an init container that goes on running beside the others."""
    return init_container.get("restartPolicy") == "Always"


def asked(container: Obj, what: What) -> Amounts | None:
    resources = container.get("resources")
    return resources.get(what) if resources else None


Ask = Callable[[Obj], dict[str, Quantity]]
"""What one container needs."""


def of_containers(spec: Obj, what: What, ask: Ask | None = None) -> dict[str, Quantity]:
    """The regular containers and the sidecars at once, but never less than any step of the initialization."""
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        amounts.add(total, ask(container) if ask else amounts.parsed(asked(container, what)))
    if not spec.get("initContainers"):
        return total
    sidecars: dict[str, Quantity] = {}
    step: dict[str, Quantity] = {}
    for container in spec["initContainers"]:
        if is_restartable(container):
            own = ask(container) if ask else amounts.parsed(asked(container, what))
            amounts.add(total, own)
            amounts.add(sidecars, own)
            amounts.raise_to(step, sidecars)
        else:
            own = amounts.parsed(asked(container, what))
            amounts.add(own, sidecars)
            amounts.raise_to(step, own)
    amounts.raise_to(total, step)
    return total
