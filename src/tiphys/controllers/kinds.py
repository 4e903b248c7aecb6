"""The kinds that a server has, as far as controllers of everything (namespaces, garbage) can know them: the built-in ones, and
one for each CustomResourceDefinition."""

from collections.abc import Iterable, Iterator

from tiphys.api.kind import Kind
from tiphys.api.registry import KINDS
from tiphys.machinery.tree import Obj


def built_in() -> Iterator[Kind]:
    """Each stored kind once, by the version it is stored in."""
    for kind in KINDS:
        if not kind.ephemeral and kind.stored_as is None and {"list", "delete", "watch"} <= set(kind.verbs):
            yield kind


def custom(definitions: Iterable[Obj]) -> Iterator[Kind]:
    for definition in definitions:
        kind = of_definition(definition)
        if kind is not None:
            yield kind


def of_definition(definition: Obj) -> Kind | None:
    """None while it is not served."""
    spec = definition["spec"]
    conditions = (definition.get("status") or {}).get("conditions") or ()
    if not any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions):
        return None
    served = [version["name"] for version in spec["versions"] if version.get("served")]
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    if not served:
        return None
    version = stored[0] if stored and stored[0] in served else served[0]
    names = spec["names"]
    return Kind(
        group=spec["group"],
        version=version,
        kind=names["kind"],
        plural=names["plural"],
        schema="",
        namespaced=spec.get("scope") == "Namespaced",
    )
