"""The flag --feature-gates of every program that upstream gives it."""

import argparse
import random
import sys
from collections.abc import Collection, Mapping

from tiphys.base.clock import Clock
from tiphys.base.process_metrics import started
from tiphys.cmd import flags
from tiphys.cmd.data_directory import Unusable
from tiphys.machinery import feature_gates
from tiphys.machinery.feature_gates import FeatureGates
from tiphys.machinery.zpages import ZPages


class _Merge(argparse.Action):
    """Given several times, each adds to what is there."""

    def __call__(self, _parser: object, given: argparse.Namespace, value: object, _option: object = None) -> None:
        try:
            setattr(given, self.dest, {**(getattr(given, self.dest) or {}), **feature_gates.parse(str(value))})
        except feature_gates.Unusable as problem:
            raise argparse.ArgumentError(self, str(problem)) from None


def add(parser: argparse.ArgumentParser | argparse._ArgumentGroup, effective: Collection[str]) -> None:
    parser.add_argument(
        "--feature-gates",
        action=_Merge,
        default={},
        metavar="NAME=BOOL,...",
        help=f"v1.36's feature gates, AllAlpha and AllBeta; here {', '.join(sorted(effective))} change something, "
        "and of others it is said that they do not",
    )


def gates(given: Mapping[str, bool], effective: Collection[str]) -> FeatureGates:
    """Says what to know of them. Raises Unusable."""
    try:
        found = feature_gates.read(given)
    except feature_gates.Unusable as problem:
        raise Unusable(str(problem)) from None
    for warning in found.warnings(effective):
        print(f"warning: {warning}", file=sys.stderr)
    return found


def pages(name: str, gates: FeatureGates, parser: argparse.ArgumentParser, given: argparse.Namespace, clock: Clock) -> ZPages:
    """/flagz and /statusz of the program that upstream calls `name`."""
    return ZPages(name, gates, flags.shown(parser, given), started(), clock.now, random.choice)
