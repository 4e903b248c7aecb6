"""What the columns of a table are said to show: mostly what the published definitions say of a field.

`columns.tsv` has group, resource and column, and the definition and field whose description it is.
"""

from collections.abc import Mapping
from functools import cache
from importlib import resources

from tiphys.apiserver.definitions import definitions


@cache
def texts() -> Mapping[tuple[str, str, str], str]:
    """By group, resource and name of the column."""
    lines = resources.files("tiphys.apiserver").joinpath("columns.tsv").read_text(encoding="utf-8").splitlines()
    known = definitions()
    found = {}
    for line in lines:
        group, plural, column, definition, field = line.split("\t")
        found[group, plural, column] = known[definition]["properties"][field]["description"]
    return found
