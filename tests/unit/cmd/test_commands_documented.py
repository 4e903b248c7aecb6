"""A flag that nobody has documented fails here: `python tools/document_commands.py` writes the page."""

import re

import pytest
from tools.document_commands import PAGE, flags, parser_of, parsers

from tiphys.cmd.main import COMMANDS, main

SECTIONS = dict(re.findall(r"^##+ (tiphys .+?)\n(.*?)(?=^##|\Z)", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL))
PARSERS = [each for name in COMMANDS for each in parsers(parser_of(name))]


def documented(section: str) -> set[str]:
    first_cells = re.findall(r"^\| `([^`]*)`", section, flags=re.MULTILINE)
    return {word for cell in first_cells for word in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", cell)}


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.prog)
def test_flags(parser):
    assert documented(SECTIONS[parser.prog]) == flags(parser)


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.prog)
def test_each_flag_is_explained(parser):
    unexplained = [action.option_strings or action.dest for action in parser._actions if not action.help]
    # A choice between commands has their sections.
    assert [each for each in unexplained if isinstance(each, list)] == []


def test_no_section_is_left_over():
    assert set(SECTIONS) == {parser.prog for parser in PARSERS}


def test_usage_names_every_command(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for name, (_, told) in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(told)}$", shown, flags=re.MULTILINE)


def test_what_is_no_command(capsys):
    assert main([]) == 2
    assert "usage: tiphys COMMAND" in capsys.readouterr().out
    assert main(["fly"]) == 2
    assert "`tiphys --help` lists the commands" in capsys.readouterr().err
