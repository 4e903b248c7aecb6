"""What somebody who runs nodes may set; upstream's defaults."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeLifecycleSettings:
    grace: float = 50.0
    """Seconds of silence after which a node counts as lost."""
    startup_grace: float = 60.0
    """The same for one that has never spoken."""
    monitor_period: float = 5.0
    """Seconds after which a node that is not ready is looked at again."""
    eviction_rate: float = 0.1
    """Nodes a second, of one zone, whose pods may begin to be evicted."""
    secondary_eviction_rate: float = 0.01
    """The same in a zone of which too much is ill."""
    unhealthy_share: float = 0.55
    """How much of a zone that is."""
    large_zone: int = 50
    """In a zone that is ill and no larger than this, nobody is evicted."""


UPSTREAMS = NodeLifecycleSettings()
