"""Label selectors: what they match, and the LabelSelector that stands in an object."""

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from tiphys.machinery import validators
from tiphys.machinery.fields import FieldError, child, forbidden, index, invalid, not_supported, quote, required
from tiphys.machinery.tree import Obj

Operator = Literal["=", "==", "!=", "in", "notin", "exists", "!", "gt", "lt"]
Labels = Mapping[str, str]

_OPERATORS = ("!", "!=", "<", "=", "==", ">", "exists", "gt", "in", "lt", "notin")
_FROM_TREE: dict[str, Operator] = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_EQUALITY = frozenset(("=", "=="))


class Requirement:
    """One condition on one label. `values` are sorted."""

    __slots__ = ("key", "operator", "values")

    def __init__(self, key: str, operator: Operator, values: tuple[str, ...] = ()) -> None:
        self.key = key
        self.operator = operator
        self.values = values

    def matches(self, labels: Labels) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "=" | "==" | "in":
                return value is not None and value in self.values
            case "!=" | "notin":
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
        mine, theirs = _integer(value), _integer(self.values[0])
        if mine is None or theirs is None:
            return False
        return mine > theirs if self.operator == "gt" else mine < theirs

    def __str__(self) -> str:
        listed = ",".join(sorted(self.values))
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({listed})"
            case "gt":
                return f"{self.key}>{listed}"
            case "lt":
                return f"{self.key}<{listed}"
        return f"{self.key}{self.operator}{listed}"

    def __repr__(self) -> str:
        return f"Requirement({self})"


class Selector:
    """All of its requirements, in the order of their keys; `nothing` matches no object, whatever its labels."""

    __slots__ = ("_pairs", "nothing", "requirements")

    def __init__(self, requirements: tuple[Requirement, ...] = (), *, nothing: bool = False) -> None:
        self.requirements = requirements
        self.nothing = nothing
        # Nearly every selector asks for equality only; those need no Requirement.
        plain = all(each.operator in _EQUALITY for each in requirements)
        self._pairs = tuple((each.key, each.values[0]) for each in requirements) if plain else None

    @property
    def empty(self) -> bool:
        """It lets everything through."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Labels | None) -> bool:
        if self.nothing:
            return False
        labels = labels or {}
        if self._pairs is not None:
            for key, value in self._pairs:  # noqa: SIM110
                if labels.get(key) != value:
                    return False
            return True
        return all(each.matches(labels) for each in self.requirements)

    def exact(self, key: str) -> str | None:
        """The one value that the label must have, where there is one."""
        for each in self.requirements:
            if each.key == key:
                return each.values[0] if each.operator in ("=", "==", "in") and len(each.values) == 1 else None
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Selector) and (str(self), self.nothing) == (str(other), other.nothing)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return "Selector(nothing)" if self.nothing else f"Selector({self})"


EVERYTHING = Selector()
NOTHING = Selector(nothing=True)


def from_labels(labels: Labels | None) -> Selector:
    """Equality with every label given, as a Service or a ReplicationController selects; everything if there is none."""
    return in_order([Requirement(key, "=", (value,)) for key, value in (labels or {}).items()])


def from_tree(tree: Obj | None) -> Selector:
    """Of a LabelSelector: none selects nothing, an empty one everything. ValueError where it is not valid."""
    if tree is None:
        return NOTHING
    found = [checked(key, "=", (value,)) for key, value in (tree.get("matchLabels") or {}).items()]
    for each in tree.get("matchExpressions") or ():
        operator = each.get("operator", "")
        if operator not in _FROM_TREE:
            raise ValueError(f"{quote(operator)} is not a valid label selector operator")
        found.append(checked(each.get("key", ""), _FROM_TREE[operator], tuple(each.get("values") or ())))
    return in_order(found)


def to_tree(selector: Selector) -> Obj:
    """The LabelSelector that says the same. ValueError where there is none (gt, lt, !=)."""
    names = {operator: name for name, operator in _FROM_TREE.items()}
    labels: Obj = {}
    expressions: list[Obj] = []
    for each in selector.requirements:
        if each.operator in _EQUALITY:
            labels[each.key] = each.values[0]
        elif each.operator not in names:
            problem = (
                "isn't supported in label selectors"
                if each.operator in ("gt", "lt")
                else "is not a valid label selector operator"
            )
            raise ValueError(f"{quote(each.operator)} {problem}")
        else:
            expression: Obj = {"key": each.key, "operator": names[each.operator]}
            if each.values:
                expression["values"] = list(each.values)
            expressions.append(expression)
    tree: Obj = {"matchLabels": labels} if labels else {}
    if expressions:
        tree["matchExpressions"] = expressions
    return tree


def validate_label_selector(tree: Obj | None, at: str, *, allow_invalid_values: bool = False) -> Iterator[FieldError]:
    """`allow_invalid_values` is for updates of objects that already hold an invalid one."""
    if tree is None:
        return
    yield from validators.labels(tree.get("matchLabels"), child(at, "matchLabels"))
    for position, each in enumerate(tree.get("matchExpressions") or ()):
        yield from _validate_requirement(each, index(child(at, "matchExpressions"), position), allow_invalid_values)


def _validate_requirement(tree: Obj, at: str, allow_invalid_values: bool) -> Iterator[FieldError]:
    operator, values = tree.get("operator", ""), tree.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            yield required(child(at, "values"), "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield forbidden(child(at, "values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        yield invalid(child(at, "operator"), operator, "not a valid selector operator")
    key = tree.get("key", "")
    for problem in validators.qualified_name(key):
        yield invalid(child(at, "key"), key, problem)
    if not allow_invalid_values:
        for position, value in enumerate(values):
            for problem in validators.label_value(value):
                yield invalid(index(child(at, "values"), position), value, problem)


def has_invalid_label_value(tree: Obj | None) -> bool:
    """Whether an update may keep doing what was allowed once."""
    expressions: list[Obj] = (tree or {}).get("matchExpressions") or []
    return any(validators.label_value(value) for each in expressions for value in each.get("values") or ())


def in_order(requirements: list[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda each: each.key))) if requirements else EVERYTHING


def _integer(text: str | None) -> int | None:
    """As an int64, like the numbers that gt and lt compare."""
    if text is None or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def checked(key: str, operator: Operator, values: tuple[str, ...]) -> Requirement:
    problems = list(_problems(key, operator, values))
    if problems:
        told = [str(each) for each in problems]
        raise ValueError(told[0] if len(told) == 1 else "[" + ", ".join(dict.fromkeys(told)) + "]")
    return Requirement(key, operator, values)


def _problems(key: str, operator: str, values: tuple[str, ...]) -> Iterator[FieldError]:
    wrong_key = validators.qualified_name(key)
    if wrong_key:
        yield invalid("key", key, "; ".join(wrong_key))
    shown = list(values)
    if operator in ("in", "notin"):
        if not values:
            yield invalid("values", shown, "for 'in', 'notin' operators, values set can't be empty")
    elif operator in ("exists", "!"):
        if values:
            yield invalid("values", shown, "values set must be empty for exists and does not exist")
    elif operator in ("gt", "lt"):
        if len(values) != 1:
            yield invalid("values", shown, "for 'Gt', 'Lt' operators, exactly one value is required")
        for position, value in enumerate(values):
            if _integer(value) is None:
                yield invalid(index("values", position), value, "for 'Gt', 'Lt' operators, the value must be an integer")
    elif operator not in ("=", "==", "!="):
        yield not_supported("operator", operator, _OPERATORS)
    elif len(values) != 1:
        yield invalid("values", shown, "exact-match compatibility requires one single value")
    for position, value in enumerate(values):
        wrong_value = validators.label_value(value)
        if wrong_value:
            yield invalid(f"values[{position}][{key}]", value, "; ".join(wrong_value))


def on_one_line(tree: Obj | None) -> str:
    """A LabelSelector on one line, as tables and messages show it."""
    return str(from_tree(tree)) or "<none>"
