"""Horizontal pod autoscaler: the number of copies follows what they use, or any other figure, within the bounds that it sets.

Every sync period an autoscaler goes through up to four turns. Each but the last asks the server something that no cache holds:

    the scale of the target -> the figures of its metrics -> (where the number changes) the target's new scale -> the status

`replicas.py` says how many copies a figure asks for, `behavior.py` how much of that may be done now.
"""

from tiphys.controllers.autoscaler.controller import HorizontalPodAutoscalerController
from tiphys.controllers.autoscaler.settings import AutoscalerSettings

__all__ = ["AutoscalerSettings", "HorizontalPodAutoscalerController"]
