"""The status of a policy: warnings of the type check, and conditions in the standard form."""

import re
from collections.abc import Iterator

from tiphys.machinery.fields import FieldError, child, duplicate, index, invalid, not_supported, required, too_long
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import qualified_name, regex_error

_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_RE = re.compile(_REASON)
_REASON_TOLD = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters "
    "or '_,:', and must end with an alphanumeric character or '_'"
)
_EXAMPLES = ("my_name", "MY_NAME", "MyName", "ReasonA,ReasonB", "ReasonA:ReasonB")
_MAX_REASON = 1024
_MAX_MESSAGE = 32 * 1024


def validate_policy_status(new: Obj, _old: Obj) -> Iterator[FieldError]:
    for position, warning in enumerate(get(new, ("status", "typeChecking", "expressionWarnings"), ())):
        at = index("status.typeChecking.expressionWarnings", position)
        if not warning.get("warning"):
            yield required(child(at, "warning"))
        if not warning.get("fieldRef", "").strip():
            yield required(child(at, "fieldRef"))
    conditions = get(new, ("status", "conditions"), ())
    types = [each.get("type", "") for each in conditions]
    for position, condition in enumerate(conditions):
        at = index("status.conditions", position)
        if types[position] in types[:position]:
            yield duplicate(child(at, "type"), types[position])
        yield from validate_condition(condition, at)


def validate_condition(condition: Obj, at: str) -> Iterator[FieldError]:
    kind, status, reason = (condition.get(field, "") for field in ("type", "status", "reason"))
    for told in qualified_name(kind):
        yield invalid(child(at, "type"), kind, told)
    if status not in ("False", "True", "Unknown"):
        yield not_supported(child(at, "status"), status, ("False", "True", "Unknown"))
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        yield invalid(child(at, "observedGeneration"), generation, "must be greater than or equal to zero")
    if not condition.get("lastTransitionTime"):
        yield required(child(at, "lastTransitionTime"))
    if not reason:
        yield required(child(at, "reason"))
    else:
        if not _REASON_RE.fullmatch(reason):
            yield invalid(child(at, "reason"), reason, regex_error(_REASON_TOLD, _REASON, *_EXAMPLES))
        if len(reason) > _MAX_REASON:
            yield too_long(child(at, "reason"), _MAX_REASON)
    if len(condition.get("message", "")) > _MAX_MESSAGE:
        yield too_long(child(at, "message"), _MAX_MESSAGE)
