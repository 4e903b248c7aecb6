"""Pod lifecycle events: what changed in the runtime between two looks at it.

Two snapshots, one difference. Nothing that happened in between is lost that matters: a container that came and went leaves its
dead body, and that is a difference.
"""

from collections.abc import Iterable, Mapping

Snapshot = Mapping[str, Mapping[str, str]]
"""Pod uid -> id of a container or sandbox -> its state."""


def snapshot(seen: Iterable[tuple[str, str, str]]) -> Snapshot:
    """From (pod uid, id, state)."""
    pods: dict[str, dict[str, str]] = {}
    for uid, identity, state in seen:
        pods.setdefault(uid, {})[identity] = state
    return pods


def changed(before: Snapshot, after: Snapshot) -> set[str]:
    """Uids of the pods that look different."""
    return {uid for uid in before.keys() | after.keys() if before.get(uid) != after.get(uid)}
