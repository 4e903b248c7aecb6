"""What a pod's status and its node say of it, picked out for several answers."""

from collections.abc import Iterator
from typing import Any

from tiphys.api.core.pods import facts as pods
from tiphys.kubectl.why.facts import Facts
from tiphys.kubectl.why.layout import seconds
from tiphys.machinery import times
from tiphys.machinery.tree import Obj

_LEASE_SECONDS = 40
_LISTS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


def statuses(pod: Obj) -> Iterator[Obj]:
    """Of all containers, in the order in which they start."""
    for each in _LISTS:
        yield from (pod.get("status") or {}).get(each) or ()


def since(facts: Facts, stamp: str | None) -> str:
    """How long ago that was."""
    return seconds(max(0.0, facts.now - times.parse(stamp))) if stamp else "some time"


def under_way(facts: Facts) -> list[dict[str, Any]]:
    """What the node is doing for it just now."""
    return [each for each in (facts.kubelet or {}).get("steps") or () if "underWayForSeconds" in each]


def of_container(facts: Facts, name: str) -> dict[str, Any]:
    """What the node knows of it beside its status."""
    found: dict[str, Any] = ((facts.kubelet or {}).get("containers") or {}).get(name) or {}
    return found


def warning(facts: Facts, *reasons: str) -> str:
    """The last event of those reasons."""
    told = [each.get("message") or "" for each in facts.events if each.get("reason") in reasons]
    return told[-1] if told else ""


def killed_by_a_probe(facts: Facts, name: str) -> str:
    """The last event that says so of this container."""
    told = [each.get("message") or "" for each in facts.events if each.get("reason") == "Killing"]
    return next((each for each in reversed(told) if each.startswith(f"Container {name} failed ") and "probe" in each), "")


def probe_words(result: dict[str, Any]) -> str:
    """What a probe has said."""
    return result["output"].strip() or "it said nothing"


def node_is_silent(facts: Facts) -> str:
    """Why nothing that the status says need be true any more; empty where the node reports."""
    name = facts.pod["spec"].get("nodeName")
    if not name:
        return ""
    if facts.node is None:
        return f"Node {name} is not there any more: nobody can say whether its containers run."
    ready = pods.condition(facts.node, "Ready") or {}
    renewed = ((facts.lease or {}).get("spec") or {}).get("renewTime")
    late = facts.now - times.parse_micro(renewed) if renewed else 0.0
    if ready.get("status") == "Unknown":
        heard = f"was heard of {seconds(late)} ago for the last time" if renewed else "is silent"
        return f"Node {name} {heard}: {ready.get('message') or 'it does not report'}"
    if facts.lease is not None and late > facts.lease["spec"].get("leaseDurationSeconds", _LEASE_SECONDS):
        return f"Node {name} has not renewed its lease for {seconds(late)}: it may be down."
    return ""
