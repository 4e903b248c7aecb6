"""What somebody who runs autoscalers may set; upstream's defaults. All but the tolerance in seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AutoscalerSettings:
    sync_period: float = 15.0
    downscale_stabilization: float = 300.0
    """How far back a higher wish counts, where the autoscaler itself says nothing about that."""
    tolerance: float = 0.1
    """A figure so near to its target changes nothing; where the autoscaler itself says nothing about that."""
    cpu_initialization: float = 300.0
    """After its start a pod's use of CPU may not be its usual one."""
    initial_readiness: float = 30.0
    """A pod that became unready so soon after its start has never been ready."""
