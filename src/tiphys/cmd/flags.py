"""What all programs with upstream's flags need to know of a command line."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tiphys.machinery import duration


class Parser(argparse.ArgumentParser):
    """Says what is wrong, and where to read more: the usage of some commands fills a screen."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message}\n\n`{self.prog} --help` lists what it takes.\n")


def yes_or_no(value: str) -> bool:
    if value.lower() in ("true", "t", "1"):
        return True
    if value.lower() in ("false", "f", "0"):
        return False
    raise argparse.ArgumentTypeError(f"{value!r} is neither true nor false")


class Switch(argparse.Action):
    """`--flag`, `--flag=false` as upstream's programs take it, or `--no-flag`."""

    def __init__(self, option_strings: Sequence[str], dest: str, **settings: Any) -> None:
        names = [*option_strings, *(f"--no-{each.removeprefix('--')}" for each in option_strings)]
        super().__init__(names, dest, nargs="?", type=yes_or_no, metavar="BOOL", **settings)

    def __call__(self, _parser: object, given: argparse.Namespace, value: Any, option: str | None = None) -> None:
        said = True if value is None else bool(value)
        setattr(given, self.dest, said != (option or "").startswith("--no-"))


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
