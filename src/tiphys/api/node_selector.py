"""Which nodes a pod asks for: its node selector and node affinity. Values here are keys, so that answers can be kept."""

from dataclasses import dataclass

from tiphys.machinery import selectors
from tiphys.machinery.selectors import Operator, Requirement
from tiphys.machinery.tree import Obj

_OPERATORS: dict[str, Operator] = {
    "In": "in",
    "NotIn": "notin",
    "Exists": "exists",
    "DoesNotExist": "!",
    "Gt": "gt",
    "Lt": "lt",
}
NAME_FIELD = "metadata.name"


@dataclass(frozen=True, slots=True)
class LabelCondition:
    key: str
    operator: Operator
    values: tuple[str, ...]

    def requirement(self) -> Requirement:
        return Requirement(self.key, self.operator, self.values)


@dataclass(frozen=True, slots=True)
class NameCondition:
    equal: bool
    name: str

    def matches(self, name: str) -> bool:
        return (name == self.name) == self.equal


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """All conditions hold. A term with an unsound condition matches nothing."""

    labels: tuple[LabelCondition, ...] = ()
    names: tuple[NameCondition, ...] = ()
    unsound: bool = False

    def matches(self, name: str, labels: dict[str, str]) -> bool:
        """One node at a time; the scheduler asks its columns."""
        if self.unsound or not (self.labels or self.names):
            return False
        return all(each.matches(name) for each in self.names) and all(
            each.requirement().matches(labels) for each in self.labels
        )


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    term: NodeTerm
    weight: int


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    selector: tuple[tuple[str, str], ...] = ()
    required: tuple[NodeTerm, ...] | None = None
    """One of them has to match; None asks for nothing."""
    preferred: tuple[PreferredTerm, ...] = ()
    only: frozenset[str] | None = None
    """The names that every term asks for: no other node need be looked at."""

    @property
    def restricts(self) -> bool:
        return bool(self.selector) or self.required is not None

    def allows(self, name: str, labels: dict[str, str]) -> bool:
        """A node of this name and with these labels."""
        if any(labels.get(key) != value for key, value in self.selector):
            return False
        return self.required is None or any(term.matches(name, labels) for term in self.required)


ANYWHERE = NodeAffinity()


def node_affinity(spec: Obj) -> NodeAffinity:
    selector = spec.get("nodeSelector")
    affinity = (spec.get("affinity") or {}).get("nodeAffinity")
    if not selector and not affinity:
        return ANYWHERE
    affinity = affinity or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = None if required is None else tuple(map(node_term, required.get("nodeSelectorTerms") or ()))
    preferred = tuple(
        PreferredTerm(node_term(each["preference"]), each["weight"])
        for each in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        if each.get("weight") and not _is_empty(each["preference"])
    )
    # Empty terms match nothing, but they still say that not every node was named.
    solid = None if terms is None else tuple(each for each in terms if each.labels or each.names or each.unsound)
    return NodeAffinity(tuple(sorted((selector or {}).items())), solid, preferred, _only(required))


def node_terms(tree: Obj | None) -> tuple[NodeTerm, ...]:
    """Of a NodeSelector."""
    return tuple(node_term(each) for each in (tree or {}).get("nodeSelectorTerms") or () if not _is_empty(each))


def _is_empty(term: Obj) -> bool:
    return not term.get("matchExpressions") and not term.get("matchFields")


def node_term(tree: Obj) -> NodeTerm:
    try:
        labels = tuple(_label_condition(each) for each in tree.get("matchExpressions") or ())
        names = tuple(_name_condition(each) for each in tree.get("matchFields") or ())
    except ValueError:
        return NodeTerm(unsound=True)
    return NodeTerm(labels, names)


def _label_condition(tree: Obj) -> LabelCondition:
    operator = _OPERATORS.get(tree.get("operator", ""))
    if operator is None:
        raise ValueError("not a valid operator")
    values = tuple(tree.get("values") or ())
    selectors.labels.checked(tree.get("key", ""), operator, values)
    return LabelCondition(tree.get("key", ""), operator, values)


def _name_condition(tree: Obj) -> NameCondition:
    values: list[str] = tree.get("values") or []
    if tree.get("key") != NAME_FIELD or tree.get("operator") not in ("In", "NotIn") or len(values) != 1:
        raise ValueError("not a valid field selector")
    return NameCondition(tree["operator"] == "In", values[0])


def _only(required: Obj | None) -> frozenset[str] | None:
    terms = (required or {}).get("nodeSelectorTerms") or ()
    if not terms:
        return None
    names: set[str] = set()
    for term in terms:
        named: set[str] | None = None
        for each in term.get("matchFields") or ():
            if each.get("key") == NAME_FIELD and each.get("operator") == "In":
                values = set(each.get("values") or ())
                named = values if named is None else named & values
        if named is None:
            return None
        names |= named
    return frozenset(names)
