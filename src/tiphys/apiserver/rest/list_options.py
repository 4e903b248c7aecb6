"""The options of a list or a watch, read and judged in upstream's words."""

from tiphys.apiserver.call import Call
from tiphys.machinery import errors
from tiphys.machinery.errors import ApiError
from tiphys.machinery.fields import FieldError, forbidden, not_supported, quote

_MATCH = "resourceVersionMatch"
_NOT_OLDER = "NotOlderThan"


def check_list(call: Call) -> None:
    number(call, "limit")
    number(call, "timeoutSeconds")
    if _MATCH not in call.query and "sendInitialEvents" not in call.query:
        return
    match, version = call.option(_MATCH), call.option("resourceVersion")
    problems: list[FieldError] = []
    if match:
        if not version:
            problems.append(forbidden(_MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if call.option("continue"):
            problems.append(forbidden(_MATCH, "resourceVersionMatch is forbidden when continue is provided"))
        if match not in ("Exact", _NOT_OLDER):
            problems.append(not_supported(_MATCH, match, ("Exact", _NOT_OLDER, "")))
        if match == "Exact" and version == "0":
            problems.append(forbidden(_MATCH, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if "sendInitialEvents" in call.query:
        problems.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    _refuse(problems)


def check_watch(call: Call) -> None:
    number(call, "limit")
    number(call, "timeoutSeconds")
    match, wants_initial = call.option(_MATCH), "sendInitialEvents" in call.query
    problems: list[FieldError] = []
    if not match and not wants_initial and call.option("resourceVersion") in ("", "0"):
        # A watch without a revision asks for the present state as if it had said so in today's words.
        match, wants_initial = _NOT_OLDER, True
    if wants_initial and match != _NOT_OLDER:
        problems.append(forbidden(_MATCH, f"sendInitialEvents requires setting resourceVersionMatch to {_NOT_OLDER}"))
    if match:
        if not wants_initial:
            told = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            problems.append(forbidden(_MATCH, told))
        if match != _NOT_OLDER:
            problems.append(not_supported(_MATCH, match, (_NOT_OLDER,)))
        if call.option("continue"):
            problems.append(forbidden(_MATCH, "resourceVersionMatch is forbidden when continue is provided"))
    _refuse(problems)


def _refuse(problems: list[FieldError]) -> None:
    if problems:
        raise errors.invalid("meta.k8s.io", "ListOptions", "", problems)


def number(call: Call, name: str) -> int:
    """An option that is a number; 0 where it is not given."""
    text = call.option(name)
    if not text:
        return 0
    digits = text[1:] if text[0] in "+-" else text
    if not (digits.isascii() and digits.isdecimal()):
        raise errors.bad_request(f"strconv.ParseInt: parsing {quote(text)}: invalid syntax")
    return int(text)


def unreadable_revision(text: str) -> str:
    return f"resourceVersion: Invalid value: {quote(text)}: strconv.ParseUint: parsing {quote(text)}: invalid syntax"


def is_revision(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def parse_revision(text: str) -> int:
    """Of a get or a watch, where upstream takes the client's mistake for its own."""
    if not is_revision(text):
        raise ApiError(500, "", unreadable_revision(text))
    return int(text)
