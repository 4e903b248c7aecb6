"""events.k8s.io: what happened to objects."""

from tiphys.api.events.events import EVENTS
from tiphys.api.kind import Kind

KINDS: tuple[Kind, ...] = (EVENTS,)
