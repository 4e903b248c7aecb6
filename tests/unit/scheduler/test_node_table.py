"""The table after any events is the table that the same nodes and pods would give if it were built anew."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tiphys.api.node_selector import node_affinity
from tiphys.machinery.selectors import from_labels
from tiphys.scheduler import pod_info
from tiphys.scheduler.node_table import CountKey, NodeTable, Worlds
from tiphys.scheduler.pod_info import HostPort, PodInfo, Toleration

NAMES = ("a", "b", "c", "d")
APPS = ("red", "green")
HARD = {"key": "hard", "value": "1", "effect": "NoSchedule"}
SOFT = {"key": "soft", "value": "1", "effect": "PreferNoSchedule"}

nodes = st.fixed_dictionaries(
    {
        "name": st.sampled_from(NAMES),
        "zone": st.sampled_from(("", "x", "y")),
        "cpu": st.sampled_from(("1", "2500m")),
        "gpu": st.booleans(),
        "taints": st.sampled_from(((), (HARD,), (SOFT,), (HARD, SOFT))),
        "cordoned": st.booleans(),
        "images": st.sampled_from(((), ("one",), ("one", "two"))),
    }
)
pods = st.fixed_dictionaries(
    {
        "name": st.integers(0, 5).map(str),
        "node": st.sampled_from((*NAMES, "unknown")),
        "app": st.sampled_from(APPS),
        "cpu": st.sampled_from(("", "100m", "1")),
        "port": st.sampled_from((0, 80)),
        "away": st.booleans(),
        "deleting": st.booleans(),
        "priority": st.integers(-1, 1),
    }
)
events = st.one_of(
    st.tuples(st.just("node"), nodes),
    st.tuples(st.just("no node"), st.sampled_from(NAMES)),
    st.tuples(st.just("pod"), pods),
    st.tuples(st.just("no pod"), st.integers(0, 5).map(str)),
)
RED = CountKey(((frozenset(("default",)), from_labels({"app": "red"})),), living=True)


def node_of(told: dict[str, Any]) -> dict[str, Any]:
    amounts = {"cpu": told["cpu"], "memory": "1Gi", "pods": "10", **({"example.com/gpu": "2"} if told["gpu"] else {})}
    labels = {"kubernetes.io/hostname": told["name"], **({"zone": told["zone"]} if told["zone"] else {})}
    return {
        "metadata": {"name": told["name"], "labels": labels},
        "spec": {"taints": list(told["taints"]), "unschedulable": told["cordoned"]},
        "status": {"allocatable": amounts, "images": [{"names": [each], "sizeBytes": 5} for each in told["images"]]},
    }


def pod_of(told: dict[str, Any]) -> PodInfo:
    container: dict[str, Any] = {"name": "c", "resources": {"requests": {"cpu": told["cpu"]} if told["cpu"] else {}}}
    if told["port"]:
        container["ports"] = [{"hostPort": told["port"]}]
    spec: dict[str, Any] = {"nodeName": told["node"], "containers": [container], "priority": told["priority"]}
    if told["away"]:
        term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": told["app"]}}}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    metadata = {"name": told["name"], "uid": told["name"], "namespace": "default", "labels": {"app": told["app"]}}
    if told["deleting"]:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return pod_info.of({"metadata": metadata, "spec": spec})


def importance_of(worlds: Worlds, position: int) -> list[tuple[int, str]]:
    """The lower pods of a node, in their order; which of two that are alike came first is no matter here."""
    places = np.flatnonzero(worlds.slots[position] >= 0).tolist()
    found = [(-pod.priority, pod.key) for pod in (worlds.pod(position, place) for place in places)]
    assert [each[0] for each in found] == sorted(each[0] for each in found)
    return sorted(found)


def picture(table: NodeTable) -> dict[str, Any]:
    """What the table says of each node, by name."""
    tolerations = (Toleration("hard", "Exists", "", ""),)
    refused, unwelcome = table.taints.refused(()), table.taints.unwelcome(())
    tolerated = table.taints.refused(tolerations)
    zoned = table.labels.matching(node_affinity({"nodeSelector": {"zone": "x"}}), table.rows)
    carried = list(table.carried.anti_required.concerning(pod_of({**PROBE, "app": "red"}), {}))
    matching = table.matching(RED)
    rows = np.array(sorted(table.rows.values()), np.intp)
    worlds = table.without_lower(1, rows, {})
    nodes = table.imagined(worlds)
    lower = {table.names[row]: (nodes.pod_count[at], nodes.requested("cpu")[at]) for at, row in enumerate(rows.tolist())}
    ranked = {table.names[row]: importance_of(worlds, at) for at, row in enumerate(rows.tolist())}
    found = {}
    for name, row in table.rows.items():
        zone = table.labels.column("zone")
        requested = {key: int(table.requested[at, row]) for key, at in table.resources.items() if table.requested[at, row]}
        allocatable = {
            key: int(table.allocatable[at, row]) for key, at in table.resources.items() if table.allocatable[at, row]
        }
        found[name] = {
            "present": bool(table.present[row]),
            "cordoned": bool(table.unschedulable[row]),
            "pods": (int(table.pod_count[row]), int(table.pods_allowed[row]), sorted(table.pods[row])),
            "requested": requested,
            "allocatable": allocatable,
            "scored": table.scored[:, row].tolist(),
            "hard": refused is not None and bool(refused[row]),
            "tolerated": tolerated is not None and bool(tolerated[row]),
            "soft": 0 if unwelcome is None else int(unwelcome[row]),
            "zone": sorted(other for other, at in table.rows.items() if zone[at] and zone[at] == zone[row]),
            "selected": bool(zoned[row]),
            "red": int(matching[row]),
            "without lower": tuple(map(int, lower[name])),
            "lower": ranked[name],
            "carried": sum(int(each.column[row]) for each in carried),
            "images": [name for name in ("one", "two") if (image := table.images.find(name)) and image[2][row]],
            "ports": {address: users[row] for address, users in table.ports.get(("TCP", 80), {}).items() if row in users},
        }
    found["counts"] = (table.count, table.cordoned, [image[1] for each in ("one", "two") if (image := table.images.find(each))])
    return found


PROBE = {"name": "probe", "node": "", "app": "red", "cpu": "", "port": 0, "away": False, "deleting": False, "priority": 0}


@settings(max_examples=200, deadline=None)
@given(st.lists(events, max_size=30), st.integers(0, 30))
def test_events_lead_to_the_table_built_from_scratch(happened: list[Any], asked_at: int):
    table, known, placed = NodeTable(), {}, {}
    for number, (kind, told) in enumerate(happened):
        if number == asked_at:
            # From here on they are counted as it happens.
            table.matching(RED)
        if kind == "node":
            known[told["name"]] = node_of(told)
            table.set_node(known[told["name"]])
        elif kind == "no node":
            known.pop(told, None)
            table.remove_node(told)
        elif kind == "pod":
            pod = pod_of(told)
            if pod.key in placed:
                table.remove_pod(placed.pop(pod.key))
            placed[pod.key] = pod
            table.add_pod(pod)
        elif f"default/{told}" in placed:
            table.remove_pod(placed.pop(f"default/{told}"))
    fresh = NodeTable()
    for node in known.values():
        fresh.set_node(node)
    for pod in placed.values():
        fresh.add_pod(pod)
    assert picture(table) == picture(fresh)


def test_it_grows_and_keeps_what_it_knows():
    table = NodeTable()
    for number in range(200):
        table.set_node(node_of({**NODE, "name": f"n{number}", "zone": "xy"[number % 2]}))
        table.add_pod(pod_of({**PROBE, "name": str(number), "node": f"n{number}", "cpu": "1"}))
    assert table.count == 200
    assert table.requested[0, : table.size].sum() == 200_000
    per_zone = table.all().per_domain(table.matching(RED), "zone")
    assert sorted(per_zone[1:].tolist()) == [100, 100]


NODE = {"name": "a", "zone": "", "cpu": "1", "gpu": False, "taints": (), "cordoned": False, "images": ()}


def test_rows_and_numbers_of_values_are_used_again():
    table = NodeTable()
    for number in range(1000):
        table.set_node(node_of({**NODE, "name": f"n{number}"}))
        table.remove_node(f"n{number}")
    assert table.size == 1
    table.set_node(node_of(NODE))
    assert table.labels.domains("kubernetes.io/hostname") == 2


def test_many_taints_need_more_than_one_word():
    table = NodeTable()
    for number in range(100):
        node = node_of({**NODE, "name": f"n{number}"})
        node["spec"]["taints"] = [{"key": f"k{number}", "effect": "NoSchedule"}]
        table.set_node(node)
    refused = table.taints.refused((Toleration("k70", "Exists", "", ""),))
    assert refused is not None
    assert np.flatnonzero(~refused[:100]).tolist() == [70]


# v1.36.4 staging/src/k8s.io/kube-scheduler/framework/types.go:602 (CheckConflict)
def test_an_address_clashes_with_itself_and_with_all_addresses():
    one, other, every = (HostPort(each, "TCP", 80) for each in ("10.0.0.1", "10.0.0.2", "0.0.0.0"))
    assert one.clashes(one.address)
    assert not one.clashes(other.address)
    assert one.clashes(every.address)
    assert every.clashes(one.address)
