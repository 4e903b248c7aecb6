"""What extenders, which are asked over HTTP, think of the nodes that could take a pod."""

from dataclasses import dataclass, field

EXTENDER = "Extender"
"""The name under which they refuse: any event may make them think otherwise."""


@dataclass(frozen=True, slots=True)
class Opinion:
    accepted: frozenset[str]
    """Names of nodes. One that they were not asked about is not among them."""
    refused: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Why not, and whether evicting pods could help."""
    scores: dict[str, int] = field(default_factory=dict)
    """Weighted, and on the scale of the plugins."""
