"""Quantities on their way in: nothing is kept finer than a thousandth."""

from tiphys.api.pod_template import amounts
from tiphys.machinery.tree import Obj


def round_up(resources: Obj | None) -> None:
    if resources:
        resources.update({name: amounts.rounded(text) for name, text in resources.items()})
