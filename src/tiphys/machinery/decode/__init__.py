"""What turns the body of a request into an object: `parse` reads bytes, `conform` makes the tree what its kind allows."""

from tiphys.machinery.decode.conforming import conform, prune
from tiphys.machinery.decode.parsing import Parsed, parse
from tiphys.machinery.decode.problems import (
    as_warnings,
    cannot_handle,
    complaints,
    strict_problem,
    strict_warnings,
    unrecognized,
)

__all__ = [
    "Parsed",
    "as_warnings",
    "cannot_handle",
    "complaints",
    "conform",
    "parse",
    "prune",
    "strict_problem",
    "strict_warnings",
    "unrecognized",
]
