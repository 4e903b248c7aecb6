"""Writes docs/commands.md from the commands' own parsers: what --help says is what the page says.

python tools/document_commands.py
"""

import argparse
import importlib
from collections.abc import Iterator
from pathlib import Path

from tiphys.cmd.main import COMMANDS

PAGE = Path(__file__).parent.parent / "docs" / "commands.md"
HEAD = """# Commands

Written by `tools/document_commands.py` from what each command's `--help` says; do not edit.

Exit codes: 0 done, 1 it could not be done, or was asked for wrongly (one sentence on stderr says why), 2 the command line is
not understood, 3 (`status`) no cluster is running, 130 it was interrupted.

`TIPHYS_DATA_DIR` names another default for `--data-dir`; `KUBECONFIG` other kubeconfigs, as for kubectl.
"""
OF_THE_MACHINE = {
    "node_name": "the name of the machine",
    "node_ip": "the address by which the machine reaches others",
    "hostname_override": "the name of the machine",
}


class _Captured(Exception):
    def __init__(self, parser: argparse.ArgumentParser) -> None:
        super().__init__(parser.prog)
        self.parser = parser


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser that the command is about to use."""

    def capture(self, *_args, **_keywords):
        raise _Captured(self)

    module = importlib.import_module(COMMANDS[name][0])
    original = argparse.ArgumentParser.parse_args
    argparse.ArgumentParser.parse_args = capture
    try:
        module.main(name, ["--help"])
    except _Captured as captured:
        return captured.parser
    finally:
        argparse.ArgumentParser.parse_args = original
    raise AssertionError(f"{name} parses nothing")


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield from parsers(each)


def shown(action: argparse.Action) -> bool:
    return action.help is not argparse.SUPPRESS and not isinstance(action, argparse._HelpAction | argparse._SubParsersAction)


def flags(parser: argparse.ArgumentParser) -> set[str]:
    return {name for action in parser._actions if shown(action) for name in action.option_strings}


def told(action: argparse.Action) -> str:
    values = {**vars(action), "default": OF_THE_MACHINE.get(action.dest, action.default)}
    values["choices"] = ", ".join(map(str, action.choices or ()))
    said = (action.help or "") % values
    return said.replace(str(Path.home()), "~").replace("|", "\\|")


def spelled(action: argparse.Action) -> str:
    names = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    value = ""
    if action.option_strings and action.nargs != 0:
        value = " " + (str(action.metavar) if action.metavar else "\\|".join(map(str, action.choices or ())) or "VALUE")
    return f"`{names}{value}`"


def section(parser: argparse.ArgumentParser, level: int) -> str:
    description = " ".join((parser.description or "").split())
    lines = [f"{'#' * level} {parser.prog}", ""]
    if description:
        lines += [description, ""]
    rows = [f"| {spelled(action)} | {told(action)} |" for action in parser._actions if shown(action)]
    if rows:
        lines += ["| | |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def summary() -> str:
    rows = [f"| [`tiphys {name}`](#tiphys-{name}) | {told} |" for name, (_, told) in COMMANDS.items()]
    return "\n".join(["| | |", "|---|---|", *rows, ""])


def page() -> str:
    parts = [HEAD, summary()]
    for name in COMMANDS:
        top, *below = parsers(parser_of(name))
        parts.append(section(top, 2))
        parts += [section(each, 3) for each in below]
    return "\n".join(parts).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
