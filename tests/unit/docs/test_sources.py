"""What a reader, or an older Python, would trip over in the sources."""

import ast
from pathlib import Path

import tiphys

SOURCES = sorted(Path(tiphys.__file__).parent.rglob("*.py"))


def test_nothing_is_raised_where_it_would_become_a_group():
    """Before Python 3.11.4 (gh-103590) `raise` within `except*` gives an ExceptionGroup, which no `except` of ours expects."""
    found = [
        f"{source.name}:{inside.lineno}"
        for source in SOURCES
        if "except*" in (text := source.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.TryStar)
        for handler in node.handlers
        for inside in ast.walk(handler)
        if isinstance(inside, ast.Raise)
    ]
    assert found == []
