"""Why a pod is where it is, or still nowhere: the decision as it was taken, and what would help as things stand now.

What was decided is read from the decisions that are kept. How far off the nearest nodes are, and what would let the pod run,
is worked out when somebody asks: the cluster may have changed since.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tiphys.scheduler.decision import Decision
from tiphys.scheduler.framework import Explains, Filter, Lack
from tiphys.scheduler.node_table import Mask, NodeTable
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.queue import Queued
from tiphys.scheduler.state import State

Told = dict[str, Any]
MOST_NODES = 20
_MOST_MISSES = 5


def explain(state: State, key: str, now: float, most_nodes: int = MOST_NODES) -> Told | None:
    """Of the pod namespace/name; None if nothing is known of it. Lists of nodes are cut to `most_nodes`."""
    decision, queued = state.decisions.of(key), state.queue.named(key)
    if decision is None and queued is None:
        return None
    told: Told = {"pod": key, "state": _state(decision, queued)}
    if queued is not None:
        told["queue"] = _queue(queued, now)
        told["scheduler"] = queued.pod.scheduler
    if decision is not None:
        told["decision"] = _decision(decision, most_nodes)
    if queued is not None and not queued.gate:
        told["now"] = _as_it_stands(state, queued.pod)
    return told


def _state(decision: Decision | None, queued: Queued | None) -> str:
    if queued is not None:
        return "gated" if queued.gate else "pending"
    return "placed" if decision is not None and decision.node else "pending"


def _queue(queued: Queued, now: float) -> Told:
    waited = dict(queued.waited)
    waited[queued.place] = waited.get(queued.place, 0.0) + now - queued.moved
    told: Told = {
        "place": queued.place,
        "attempts": queued.attempts,
        "waitedSeconds": {place: round(seconds, 3) for place, seconds in waited.items()},
        "refusedBy": sorted(queued.refused_by),
    }
    if queued.gate:
        told["gate"] = queued.gate
    if queued.woken_by:
        told["wokenBy"] = queued.woken_by
    if queued.place == "backoff":
        told["againInSeconds"] = round(max(0.0, queued.ready_at - now), 3)
    return told


def _decision(decision: Decision, most_nodes: int) -> Told:
    told: Told = {
        "at": decision.at,
        "node": decision.node,
        "message": decision.message,
        "attempts": decision.attempts,
        "waitedSeconds": {place: round(seconds, 3) for place, seconds in decision.waited.items()},
        "refusals": _refusals(decision, most_nodes),
        "scores": _scores(decision, most_nodes),
    }
    if decision.woken_by:
        told["wokenBy"] = decision.woken_by
    return told


def _refusals(decision: Decision, most_nodes: int) -> list[Told]:
    """By the first plugin that refused: nodes, and why."""
    found = []
    for plugin, words, rows in decision.refused_rows():
        names = [decision.names[row] for row in rows]
        found.append({"plugin": plugin, "reason": words, "count": len(names), "nodes": names[:most_nodes]})
    return found


def _scores(decision: Decision, most_nodes: int) -> list[Told]:
    """The best nodes first; the chosen one is always there."""
    rows, totals = decision.totals()
    order = np.argsort(-totals, kind="stable")
    chosen = [at for at in order if decision.names[rows[at]] == decision.node]
    first = [*chosen, *(at for at in order if at not in chosen)][:most_nodes]
    told = []
    for at in sorted(first, key=lambda each: -totals[each]):
        row = int(rows[at])
        parts = {plugin: {"score": int(scores[row]), "weight": weight} for plugin, weight, scores in decision.scores}
        told.append({"node": decision.names[row], "total": int(totals[at]), "plugins": parts})
    return told


def _as_it_stands(state: State, pod: PodInfo) -> Told:
    cycle, table = state.cycles[pod.scheduler], state.table
    refused = cycle.filtering.each(pod)
    count = np.zeros(table.size, np.int64)
    for _, rows in refused:
        count += rows
    fits = table.all().present & (count == 0)
    misses = [_miss(table, pod, int(row), refused) for row in _nearest(table, count)]
    misses.sort(key=lambda each: (len(each["refusedBy"]), each["distance"]))
    words = [each for each in (_pod_wide(state, pod),) if each]
    return {
        "fits": int(np.count_nonzero(fits)),
        "problems": words,
        "misses": misses[:_MOST_MISSES],
        "remedies": list(dict.fromkeys(_remedies(misses[:_MOST_MISSES]))),
    }


def _pod_wide(state: State, pod: PodInfo) -> str:
    """What keeps the pod from every node."""
    answers = (plugin.narrow(pod) for plugin in state.profiles[pod.scheduler].narrowers)
    return next((each.words for each in answers if each is not None and each.words), "")


def _nearest(table: NodeTable, count: "np.typing.NDArray[np.int64]") -> Iterable[int]:
    """Nodes that the fewest plugins refuse; not more than can be looked at closely."""
    rows = np.flatnonzero(table.all().present & (count > 0))
    fewest = rows[np.argsort(count[rows], kind="stable")]
    return [int(row) for row in fewest[:200]]


def _miss(table: NodeTable, pod: PodInfo, row: int, refused: list[tuple[Filter, Mask]]) -> Told:
    by: list[Told] = []
    lacking: list[Lack] = []
    for plugin, rows in refused:
        if not rows[row]:
            continue
        lacks = plugin.lacks(pod, table.only(row)) if isinstance(plugin, Explains) else []
        by.append({"plugin": plugin.name, "lacks": [each.words for each in lacks]})
        lacking += lacks
    return {
        "node": table.names[row],
        "refusedBy": by,
        "distance": round(sum(each.distance for each in lacking) + sum(not each["lacks"] for each in by), 4),
        "remedies": [each.remedy for each in lacking if each.remedy],
    }


def _remedies(misses: list[Told]) -> Iterable[str]:
    """Only what is enough by itself: everything that a node lacks, together."""
    for miss in misses:
        if all(each["lacks"] for each in miss["refusedBy"]) and miss["remedies"]:
            yield "; and ".join(dict.fromkeys(miss["remedies"]))
