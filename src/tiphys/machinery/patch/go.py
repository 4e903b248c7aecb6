"""Values as Go prints them: upstream's messages about patches show them with %v and %T."""

import json
import re
from typing import Any

_TYPES = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    type(None): "%!s(<nil>)",
}


def go_type(value: Any) -> str:
    return _TYPES.get(type(value), type(value).__name__)


def go_text(value: Any) -> str:
    """%v of a JSON value: `map[a:1 b:[x y]]`, with the keys in order."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_text(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_text, value)) + "]"
    if isinstance(value, float):
        return go_float(value)
    return str(value)


def go_float(value: float) -> str:
    """%v of a float64: the shortest form, with an exponent below 1e-4 and from 1e21 on."""
    if value == int(value) and abs(value) < 1e21:
        return str(int(value))
    mantissa, mark, exponent = repr(value).partition("e")
    if not mark:
        return mantissa
    mantissa = mantissa.removesuffix(".0")
    sign, digits = ("-", exponent[1:]) if exponent[0] == "-" else ("+", exponent.lstrip("+"))
    return f"{mantissa}e{sign}{digits.zfill(2)}"


def go_quote(text: str) -> str:
    """%q of a string, for the texts that occur in objects."""
    return json.dumps(text, ensure_ascii=False)


def escape(text: str) -> str:
    """JSON as Go writes it: <, >, & and the two line separators of Unicode are always escaped."""
    return text.translate(_ESCAPES) if _SPECIAL.search(text) else text


_SPECIAL = re.compile("[<>&\u2028\u2029]")
_ESCAPES = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
