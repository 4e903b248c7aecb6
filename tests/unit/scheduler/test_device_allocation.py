"""Which devices a claim is given, step by step. Whole decisions: tests/contract/scheduler. Tables and reasons:
v1.36.4 staging/src/k8s.io/dynamic-resource-allocation/structured/internal/allocatortesting/allocator_testing.go."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery import quantity
from tiphys.machinery.tree import Obj
from tiphys.scheduler.devices import extended
from tiphys.scheduler.devices.allocating import Allocator
from tiphys.scheduler.devices.asking import asking
from tiphys.scheduler.devices.capacity import Capacity, exact
from tiphys.scheduler.devices.claims import Claims, NoClaim
from tiphys.scheduler.devices.ledger import Ledger
from tiphys.scheduler.devices.pools import Slices
from tiphys.scheduler.devices.results import allocation
from tiphys.scheduler.pod_info import of
from tiphys.scheduler.testing import make_pod

NODE: Obj = {"metadata": {"name": "n", "labels": {}}}
CLASSES: dict[str, Obj] = {"any": {"metadata": {"name": "any"}, "spec": {}}}


def a_slice(name: str, *devices: Obj, count: int = 1, **spec: Any) -> Obj:
    pool = {"name": "p", "generation": spec.pop("generation", 1), "resourceSliceCount": count}
    listed = {"devices": list(devices)} if devices else {}
    place = {} if {"perDeviceNodeSelection", "allNodes"} & spec.keys() else {"nodeName": "n"}
    return {"metadata": {"name": name}, "spec": {"driver": "d", "pool": pool, **place, **listed, **spec}}


def claim(name: str, *requests: Obj, **devices: Any) -> Obj:
    listed = [{"name": f"r{at}", "exactly": {"deviceClassName": "any", **each}} for at, each in enumerate(requests)]
    metadata = {"name": name, "namespace": "default", "uid": name}
    return {"metadata": metadata, "spec": {"devices": {"requests": listed, **devices}}}


def give(slices: Sequence[Obj], *claims: Obj, ledger: Ledger | None = None, steps: int | None = 10_000) -> list[Obj] | None:
    known = Slices({each["metadata"]["name"]: each for each in slices})
    known.refresh()
    found = Allocator(ledger or Ledger(), steps).allocate([asking(each, CLASSES) for each in claims], known.pools(NODE), NODE)
    return None if found is None else [allocation(each, "n", lambda: "uid") for each in found]


def names(found: list[Obj] | None) -> list[list[str]] | None:
    if found is None:
        return None
    return [[result["device"] for result in each["devices"]["results"]] for each in found]


def drawing(name: str, **amounts: str) -> Obj:
    counters = {counter: {"value": amount} for counter, amount in amounts.items()}
    return {"name": name, "consumesCounters": [{"counterSet": "set", "counters": counters}]}


def counters(**amounts: str) -> Obj:
    return a_slice(
        "counters",
        count=2,
        sharedCounters=[{"name": "set", "counters": {name: {"value": each} for name, each in amounts.items()}}],
    )


def test_partitions_draw_on_the_same_counters():
    slices = [counters(memory="8Gi"), a_slice("a", *(drawing(f"d{at}", memory="4Gi") for at in range(3)), count=2)]
    assert names(give(slices, claim("one", {"count": 2}))) == [["d0", "d1"]]
    assert names(give(slices, claim("one", {"count": 3}))) is None
    ledger = Ledger()
    ledger.add({"devices": {"results": [{"driver": "d", "pool": "p", "device": "d2"}]}})
    assert names(give(slices, claim("one", {}), ledger=ledger)) == [["d0"]]
    assert names(give(slices, claim("one", {"count": 2}), ledger=ledger)) is None


def test_the_search_goes_back_to_what_leaves_enough_for_the_others():
    devices = (drawing("large", memory="6Gi"), drawing("small", memory="4Gi"), drawing("tiny", memory="2Gi"))
    slices = [counters(memory="6Gi"), a_slice("a", *devices, count=2)]
    assert names(give(slices, claim("one", {}), claim("two", {}))) == [["small"], ["tiny"]]


def test_where_a_counter_is_overdrawn_nothing_can_be_had_of_the_pool():
    slices = [counters(memory="4Gi", parts="9"), a_slice("a", *(drawing(f"d{at}", memory="4Gi") for at in range(2)), count=2)]
    slices[1]["spec"]["devices"].append(drawing("other", parts="1"))
    ledger = Ledger()
    for name in ("d0", "d1"):
        ledger.add({"devices": {"results": [{"driver": "d", "pool": "p", "device": name}]}})
    assert give(slices, claim("one", {}), ledger=ledger) is None


def shared(name: str, capacity: Obj) -> Obj:
    return {"name": name, "allowMultipleAllocations": True, "capacity": {"memory": capacity}}


def test_shares_are_counted_within_a_pod_and_beside_others():
    slices = [a_slice("a", shared("d", {"value": "10Gi"}))]
    asked = {"capacity": {"requests": {"memory": "4Gi"}}}
    found = give(slices, claim("one", asked), claim("two", asked))
    assert found is not None
    (result,) = found[0]["devices"]["results"]
    assert result == {
        "request": "r0",
        "driver": "d",
        "pool": "p",
        "device": "d",
        "shareID": "uid",
        "consumedCapacity": {"memory": "4Gi"},
    }
    assert give(slices, claim("one", asked), claim("two", asked), claim("three", asked)) is None
    ledger = Ledger()
    for each in found:
        ledger.add(each)
    assert give(slices, claim("three", asked), ledger=ledger) is None
    ledger.remove(found[0])
    assert names(give(slices, claim("three", asked), ledger=ledger)) == [["d"]]


def test_a_request_without_an_amount_takes_all_that_there_is():
    slices = [a_slice("a", shared("d", {"value": "10Gi"}))]
    assert give(slices, claim("one", {}), claim("two", {})) is None


# v1.36.4 .../structured/internal/incubating/consumable_capacity_test.go
@pytest.mark.parametrize(
    ("policy", "asked", "portion", "handed_out"),
    [
        ({}, "3", "3", True),
        ({"default": "2"}, None, "2", True),
        (None, None, "10", True),
        ({"default": "1", "validRange": {"min": "2"}}, "1", "2", True),
        ({"default": "2", "validRange": {"min": "2", "step": "3"}}, "3", "5", True),
        ({"default": "2", "validRange": {"min": "2", "step": "3"}}, "5", "5", True),
        ({"default": "2", "validRange": {"min": "2", "max": "4"}}, "5", "5", False),
        ({"default": "2", "validRange": {"min": "2", "step": "2", "max": "4"}}, "5", "6", False),
        ({"default": "1", "validValues": ["1", "4", "8"]}, "2", "4", True),
        ({"default": "1", "validValues": ["1", "4", "8"]}, "9", "9", False),
    ],
)
def test_portions(policy: Obj | None, asked: str | None, portion: str, handed_out: bool):
    capacity = Capacity.read({"value": "10", **({"requestPolicy": policy} if policy is not None else {})})
    found = capacity.portion(None if asked is None else quantity.parse(asked))
    assert str(found) == portion
    assert capacity.hands_out(found) is handed_out


@given(st.integers(0, 40), st.integers(0, 9), st.integers(1, 7))
def test_a_portion_is_never_less_than_what_was_asked_for(asked: int, low: int, step: int):
    policy = {"default": str(low), "validRange": {"min": str(low), "step": str(step)}}
    capacity = Capacity.read({"value": "100", "requestPolicy": policy})
    found = capacity.portion(quantity.from_int(asked))
    assert max(asked, low) <= found.value() < max(asked, low) + step
    assert capacity.hands_out(found)


# With two devices, each request doubles what a search in vain goes through: nine of them stay far below its limit.
@given(st.lists(st.lists(st.integers(1, 5), max_size=3), min_size=1, max_size=3), st.integers(1, 12))
def test_never_more_is_handed_out_than_there_is(claims: list[list[int]], total: int):
    slices = [a_slice("a", shared("d0", {"value": str(total)}), shared("d1", {"value": str(total)}))]
    wanted = [
        claim(f"c{at}", *({"capacity": {"requests": {"memory": str(each)}}} for each in amounts))
        for at, amounts in enumerate(claims)
    ]
    found = give(slices, *wanted)
    ledger = Ledger()
    for each in found or ():
        ledger.add(each)
    assert all(ledger.used(("d", "p", name)).get("memory", 0) <= exact(str(total)) for name in ("d0", "d1"))
    assert found is not None or sum(map(sum, claims)) > total


def attributed(name: str, rack: str) -> Obj:
    return {"name": name, "attributes": {"example.com/rack": {"string": rack}}}


# Upstream's distinctAttributeConstraint keeps one value a request: of three devices the first and the last may be alike.
def test_distinct_attributes_are_compared_with_the_last_of_each_request():
    slices = [
        a_slice("a", attributed("d0", "left"), attributed("d1", "left"), attributed("d2", "right"), attributed("d3", "left"))
    ]
    distinct = [{"distinctAttribute": "example.com/rack"}]
    assert names(give(slices, claim("one", {"count": 2}, constraints=distinct))) == [["d0", "d2"]]
    assert names(give(slices, claim("one", {"count": 3}, constraints=distinct))) == [["d0", "d2", "d3"]]
    assert names(give(slices, claim("one", {}, {}, {}, constraints=distinct))) is None


def test_pools_that_wait_for_conditions_come_last():
    slow = {"name": "slow", "bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
    first = a_slice("a", slow)
    second = a_slice("b", {"name": "quick"})
    second["spec"]["pool"] = {**second["spec"]["pool"], "name": "q"}
    assert names(give([first, second], claim("one", {"count": 2}))) == [["quick", "slow"]]


def test_devices_that_bind_to_a_node_are_for_that_one_only():
    found = give([a_slice("a", {"name": "d", "bindsToNode": True}, allNodes=True)], claim("one", {}))
    assert found is not None
    assert found[0]["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"] == ["n"]
    everywhere = give([a_slice("a", {"name": "d"}, allNodes=True)], claim("one", {}))
    assert everywhere is not None
    assert "nodeSelector" not in everywhere[0]


def test_a_claim_cannot_have_too_many_devices():
    slices = [a_slice("a", *({"name": f"d{at}"} for at in range(40)))]
    with pytest.raises(ValueError, match="claim default/one: number of requested devices 33 exceeds the claim limit of 32"):
        give(slices, claim("one", {"count": 20}, {"count": 13}))
    found = names(give(slices, claim("one", {"count": 32})))
    assert found is not None
    assert len(found[0]) == 32


@pytest.mark.differs(
    "gives up to look for devices on a node once `filterTimeout` is over.",
    "it does so after fifty thousand steps for each second of it: nothing else runs meanwhile, and the outcome is the same on "
    "any machine.",
)
def test_a_search_that_leads_nowhere_ends():
    devices = [drawing(f"d{at}", memory="3Gi") for at in range(30)]
    slices = [counters(memory="40Gi"), a_slice("a", *devices, count=2)]
    with pytest.raises(ValueError, match="node n: timed out trying to allocate devices"):
        give(slices, claim("one", *({} for _ in range(20))))


def test_how_deep_the_search_goes_is_not_limited_by_the_language():
    slices = [a_slice("a", *({"name": f"d{at}"} for at in range(1600)))]
    found = give(slices, *(claim(f"c{at}", {"count": 32}) for at in range(50)), steps=None)
    assert found is not None
    assert len({name for each in names(found) or () for name in each}) == 1600


# v1.36.4 pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources_test.go (createRequestsAndMappings)
def test_containers_that_are_done_leave_their_devices_to_others():
    def container(name: str, count: int, **more: str) -> Obj:
        return {"name": name, "resources": {"requests": {"cpu": "1", "x/gpu": str(count)}}, **more}

    spec = {
        "initContainers": [container("first", 5), container("second", 3), container("side", 1, restartPolicy="Always")],
        "containers": [container("main", 2)],
    }
    requests, mappings = extended.requests(spec, {"x/gpu": "any"})
    assert [(each["name"], each["exactly"]["count"]) for each in requests] == [
        ("container-0-request-1", 2),
        ("container-2-request-1", 1),
        ("container-3-request-1", 2),
    ]
    assert [(each["containerName"], each["requestName"]) for each in mappings] == [
        ("side", "container-2-request-1"),
        ("main", "container-3-request-1"),
        ("first", "container-2-request-1"),
        ("first", "container-3-request-1"),
        ("first", "container-0-request-1"),
        ("second", "container-2-request-1"),
        ("second", "container-3-request-1"),
    ]


GIVEN = {"devices": {"results": [{"driver": "d", "pool": "p", "device": "d0"}]}}


def test_devices_are_taken_from_the_decision_until_the_claim_is_gone():
    claims, made = Claims(), claim("one", {})
    made["metadata"]["resourceVersion"] = "5"
    claims.changed(None, made)
    claims.promise("one", GIVEN)
    assert claims.ledger.is_taken(("d", "p", "d0"))
    written = {**made, "metadata": {**made["metadata"], "resourceVersion": "7"}, "status": {"allocation": GIVEN}}
    claims.wrote(written)
    # What is heard now happened before: it does not count.
    late = {**made, "metadata": {**made["metadata"], "resourceVersion": "6"}}
    claims.changed(made, late)
    assert claims.get("default", "one") is written
    assert claims.ledger.is_taken(("d", "p", "d0"))
    claims.changed(late, written)
    freed = {**made, "metadata": {**made["metadata"], "resourceVersion": "8"}}
    claims.changed(written, freed)
    assert not claims.ledger.is_taken(("d", "p", "d0"))
    assert claims.promised("one") is None


def test_what_is_not_written_after_all_is_free_again():
    claims, made = Claims(), claim("one", {})
    claims.changed(None, made)
    claims.promise("one", GIVEN)
    claims.take_back("one")
    assert not claims.ledger.is_taken(("d", "p", "d0"))
    claims.promise("one", GIVEN)
    claims.changed(made, None)
    assert not claims.ledger.is_taken(("d", "p", "d0"))
    pod = of(make_pod("p", resourceClaims=[{"name": "r", "resourceClaimName": "one"}]))
    with pytest.raises(NoClaim, match='could not find ResourceClaim "default/one"'):
        claims.of(pod)


def test_the_newest_class_stands_behind_a_resource():
    classes: dict[str, Obj] = {}
    behind = extended.ClassesBehind(classes)
    assert behind.get("x/gpu") is None
    for name, created in (("a", "2026-01-01T00:00:00Z"), ("b", "2026-01-02T00:00:00Z"), ("c", "2026-01-02T00:00:00Z")):
        metadata = {"name": name, "creationTimestamp": created}
        classes[name] = {"metadata": metadata, "spec": {"extendedResourceName": "example.com/gpu"}}
    assert behind.get("example.com/gpu") is classes["b"]
    assert behind.get("deviceclass.resource.kubernetes.io/a") is classes["a"]
    assert behind.get("cpu") is None
