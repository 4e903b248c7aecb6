"""Disruption controller: how many pods may be taken away on purpose. Evictions spend what it finds."""

from tiphys.controllers.disruption.controller import DisruptionController, World

__all__ = ["DisruptionController", "World"]
