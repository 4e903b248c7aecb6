"""What all programs with upstream's flags need to know of a command line."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tiphys.machinery import duration


def named(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> frozenset[str]:
    """The names (as in the parsed values) of the flags that the arguments give, even if what they give is the default."""
    nothing = argparse.Namespace(**dict.fromkeys(action.dest for action in parser._actions))
    return frozenset(name for name, value in vars(parser.parse_args(arguments, nothing)).items() if value is not None)


def shown(parser: argparse.ArgumentParser, given: argparse.Namespace) -> dict[str, str]:
    """Every flag and its value, in Go's manner, for /flagz."""
    values = vars(given)
    found = {}
    for action in parser._actions:
        if action.option_strings and action.dest in values:
            name = next((each for each in action.option_strings if each.startswith("--")), action.option_strings[0])
            found[name.lstrip("-")] = _text(values[action.dest], is_length=action.metavar in ("D", "T"))
    return found


def _text(value: Any, *, is_length: bool = False) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if is_length:
            return duration.spell(round(value * duration.SECOND))
        case float() if value.is_integer():
            return str(int(value))
        case Mapping():
            return ",".join(f"{name}={_text(each)}" for name, each in sorted(value.items()))
        case (int() as first, int() as last):
            return f"{first}-{last}"
        case list() | tuple():
            return f"[{','.join(map(_text, value))}]"
        case Path():
            return str(value)
    return str(value)
