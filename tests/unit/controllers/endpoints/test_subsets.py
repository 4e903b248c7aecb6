"""The canonical form of subsets. v1.36.4 pkg/api/v1/endpoints/util_test.go, and truncateEndpoints of the controller."""

from hypothesis import given
from hypothesis import strategies as st

from tiphys.controllers.endpoints.subsets import MOST, count, repack, truncated


def at(ip, uid=""):
    return {"ip": ip, "targetRef": {"uid": uid}} if uid else {"ip": ip}


def port(number, name="", protocol="TCP"):
    return {"name": name, "port": number, "protocol": protocol} if name else {"port": number, "protocol": protocol}


def test_nothing_is_nothing():
    assert repack([]) == []
    assert repack([{"addresses": [], "ports": [port(1)]}]) == []


def test_addresses_with_the_same_ports_stand_together():
    given_ = [
        {"addresses": [at("1.2.3.4")], "ports": [port(111)]},
        {"addresses": [at("5.6.7.8")], "ports": [port(111)]},
        {"addresses": [at("1.2.3.4")], "ports": [port(222)]},
        {"addresses": [at("5.6.7.8")], "ports": [port(222)]},
    ]
    assert repack(given_) == [{"addresses": [at("1.2.3.4"), at("5.6.7.8")], "ports": [port(111), port(222)]}]


def test_others_stand_apart():
    given_ = [
        {"addresses": [at("1.2.3.4"), at("5.6.7.8")], "ports": [port(111)]},
        {"addresses": [at("5.6.7.8")], "ports": [port(222)]},
    ]
    assert repack(given_) == [
        {"addresses": [at("1.2.3.4"), at("5.6.7.8")], "ports": [port(111)]},
        {"addresses": [at("5.6.7.8")], "ports": [port(222)]},
    ]


def test_one_address_of_two_pods_is_two():
    given_ = [{"addresses": [at("1.2.3.4", "a"), at("1.2.3.4", "b")], "ports": [port(1)]}]
    assert repack(given_) == given_


def test_not_ready_wins_over_ready():
    given_ = [{"addresses": [at("1.2.3.4")], "notReadyAddresses": [at("1.2.3.4")], "ports": [port(1)]}]
    assert repack(given_) == [{"notReadyAddresses": [at("1.2.3.4")], "ports": [port(1)]}]


def test_addresses_without_ports_stay():
    assert repack([{"addresses": [at("1.2.3.4")]}]) == [{"addresses": [at("1.2.3.4")]}]


def test_too_many_are_cut_in_proportion_and_the_ready_go_first():
    many = [at(f"10.0.{number // 250}.{number % 250}") for number in range(1200)]
    halves = [{"addresses": many[:800], "ports": [port(1)]}, {"addresses": many[800:], "ports": [port(2)]}]
    cut = truncated(halves)
    assert [len(each["addresses"]) for each in cut] == [667, 333]
    mixed = [{"addresses": many[:900], "notReadyAddresses": many[900:], "ports": [port(1)]}]
    assert [(len(each["addresses"]), len(each["notReadyAddresses"])) for each in truncated(mixed)] == [(900, 100)]
    few = [{"addresses": many[:10]}]
    assert truncated(few) is few
    only_ready = [{"addresses": many[:1100], "notReadyAddresses": many[1100:]}]
    assert truncated(only_ready) == [{"addresses": many[:1000]}]


SUBSETS = st.lists(
    st.fixed_dictionaries(
        {
            "addresses": st.lists(st.sampled_from([at("1.1.1.1"), at("2.2.2.2"), at("1.1.1.1", "u")]), unique_by=str),
            "notReadyAddresses": st.lists(st.sampled_from([at("1.1.1.1"), at("3.3.3.3")]), unique_by=str),
            "ports": st.lists(st.sampled_from([port(1), port(2, "n"), port(3, "u", "UDP")]), unique_by=str),
        }
    ),
    max_size=4,
)


@given(SUBSETS)
def test_packing_twice_is_packing_once_and_loses_nothing(subsets):
    packed = repack(subsets)
    assert repack(packed) == packed
    assert repack(list(reversed(subsets))) == packed

    def offered(listed):
        return {
            (address["ip"], str(address.get("targetRef")), str(each))
            for subset in listed
            for part in ("addresses", "notReadyAddresses")
            for address in subset.get(part) or ()
            # An address that offers a port somewhere loses nothing by standing without one nowhere.
            for each in subset.get("ports") or ()
        }

    def standing(listed):
        return {
            address["ip"] for each in listed for part in ("addresses", "notReadyAddresses") for address in each.get(part) or ()
        }

    assert offered(packed) == offered(subsets)
    assert standing(packed) == standing(subsets)
    assert count(truncated(packed)) <= MOST
