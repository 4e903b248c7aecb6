"""What all programs with upstream's flags need to know of a command line."""

import argparse
from collections.abc import Sequence


def named(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> frozenset[str]:
    """The names (as in the parsed values) of the flags that the arguments give, even if what they give is the default."""
    nothing = argparse.Namespace(**dict.fromkeys(vars(parser.parse_args([]))))
    return frozenset(name for name, value in vars(parser.parse_args(arguments, nothing)).items() if value is not None)
