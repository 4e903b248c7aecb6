"""The flag of `tiphys apiserver` about which built-in APIs are served."""

import argparse
import sys

from tiphys.api.registry import KINDS
from tiphys.apiserver import enablement
from tiphys.apiserver.enablement import Enablement
from tiphys.cmd.data_directory import Unusable


class _Merge(argparse.Action):
    """Given several times, each adds to what is there."""

    def __call__(self, _parser: object, given: argparse.Namespace, value: object, _option: object = None) -> None:
        setattr(given, self.dest, {**(getattr(given, self.dest) or {}), **enablement.parse(str(value))})


def add(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--runtime-config",
        action=_Merge,
        default={},
        metavar="K=BOOL,...",
        help="turn built-in APIs on or off: api/all, api/ga, api/beta, api/alpha, group/version, group/version/resource. "
        "The core group is always on, and so is flowcontrol.apiserver.k8s.io/v1",
    )


def enabled(given: argparse.Namespace) -> Enablement:
    """Raises Unusable."""
    try:
        found = enablement.read(given.runtime_config, KINDS)
    except enablement.Unusable as problem:
        raise Unusable(str(problem)) from None
    for stage in found.idle:
        print(f"warning: --runtime-config={stage}=true turns on nothing: no such version is served here", file=sys.stderr)
    return found
