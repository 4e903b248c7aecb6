"""Which requests a webhook is asked about: expressions (CEL) over `request`, a SubjectAccessReviewSpec of v1. Core.

https://kubernetes.io/docs/reference/access-authn-authz/authorization/#using-configuration-file-for-authorization
"""

from collections.abc import Sequence

from tiphys.apiserver.authz.attributes import Attributes
from tiphys.apiserver.authz.review import spec_of
from tiphys.machinery import cel
from tiphys.machinery.cel.checking import BOOL, STRING, Type, check, list_of, map_of
from tiphys.machinery.tree import Obj


class Undecided(Exception):
    """No condition says no, and not all have a value."""


def _object(name: str, /, **fields: Type) -> Type:
    return Type(f"kubernetes.{name}", (), fields)


_REQUIREMENTS = list_of(_object("SelectorRequirement", key=STRING, operator=STRING, values=list_of(STRING)))
_SELECTORS = {
    f"{each}Selector": _object(f"{each.capitalize()}SelectorAttributes", rawSelector=STRING, requirements=_REQUIREMENTS)
    for each in ("field", "label")
}
_TEXTS = ("namespace", "verb", "group", "version", "resource", "subresource", "name")
_REQUEST = _object(
    "SubjectAccessReviewSpec",
    resourceAttributes=_object("ResourceAttributes", **dict.fromkeys(_TEXTS, STRING), **_SELECTORS),
    nonResourceAttributes=_object("NonResourceAttributes", path=STRING, verb=STRING),
    user=STRING,
    groups=list_of(STRING),
    extra=map_of(STRING, list_of(STRING)),
    uid=STRING,
)


def problem_of(expression: str) -> str:
    """What is wrong with a condition; empty if it is one."""
    try:
        found = check(expression, {"request": _REQUEST})
    except cel.Unsound as problem:
        return f"compilation failed: {problem}"
    return "" if found == BOOL else f"must evaluate to bool but got {found}"


class Conditions:
    def __init__(self, expressions: Sequence[str]) -> None:
        self._expressions = [(each, cel.compiled(each)) for each in expressions]

    def hold(self, asked: Attributes) -> bool:
        """Whether all do; one that says no decides, whatever trouble there is with others. Raises Undecided."""
        if not self._expressions:
            return True
        variables = {"request": _request(asked)}
        troubles = []
        for text, value in self._expressions:
            try:
                found = value(variables)
                if found is False:
                    return False
                if found is not True:
                    raise cel.Trouble(f"it is no bool: {found!r}")
            except cel.Trouble as trouble:
                troubles.append(f"cel evaluation error: expression '{text}' resulted in error: {trouble}")
        if troubles:
            raise Undecided(troubles[0] if len(troubles) == 1 else f"[{', '.join(troubles)}]")
        return True


def _request(asked: Attributes) -> Obj:
    """Texts that are empty are there, too: an expression need not ask for each."""
    spec = spec_of(asked)
    request = {"user": "", "groups": [], "uid": "", "extra": {}, **spec}
    if "resourceAttributes" in spec:
        request["resourceAttributes"] = {**dict.fromkeys(_TEXTS, ""), **spec["resourceAttributes"]}
    return request
