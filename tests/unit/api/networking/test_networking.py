import pytest

from tiphys.api.networking.ingressclasses import INGRESS_CLASSES
from tiphys.api.networking.ingresses import INGRESSES
from tiphys.api.networking.ipaddresses import IP_ADDRESSES
from tiphys.api.networking.networkpolicies import NETWORK_POLICIES
from tiphys.api.networking.servicecidrs import SERVICE_CIDRS


def told(problems):
    return [str(problem) for problem in problems]


def cell(kind, name, obj):
    return next(column.value for column in kind.columns if column.name == name)(obj, 0)


# v1.36.4 pkg/printers/internalversion/printers.go (formatHosts): rules without a host count once three are shown.
@pytest.mark.parametrize(
    ("hosts", "shown"),
    [
        ([], "*"),
        ([None, None], "*"),
        (["a", None, "b"], "a,b"),
        (["a", "b", "c"], "a,b,c"),
        (["a", "b", "c", None], "a,b,c + 1 more..."),
        (["a", None, "b", "c", "d"], "a,b,c + 2 more..."),
    ],
)
def test_hosts_of_an_ingress(hosts, shown):
    rules = [{"host": host} if host else {} for host in hosts]
    assert cell(INGRESSES, "Hosts", {"spec": {"rules": rules}}) == shown


def test_a_class_said_twice_must_agree_on_create_only():
    # v1.36.4 pkg/apis/networking/validation/validation.go:301
    obj = {
        "metadata": {"annotations": {"kubernetes.io/ingress.class": "a"}},
        "spec": {"ingressClassName": "b", "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
    }
    assert told(INGRESSES.validate_create(obj)) == [
        'annotations.kubernetes.io/ingress.class: Invalid value: "a": must match `ingressClassName` when both are specified'
    ]
    assert told(INGRESSES.validate(obj)) == []


def test_columns_of_an_ingress_class():
    # v1.36.4 pkg/printers/internalversion/printers.go:1526
    obj = {
        "metadata": {"name": "a", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
        "spec": {"controller": "a.b/c", "parameters": {"apiGroup": "x.y", "kind": "P", "name": "p"}},
    }
    assert cell(INGRESS_CLASSES, "Name", obj) == "a (default)"
    assert cell(INGRESS_CLASSES, "Parameters", obj) == "P.x.y/p"
    assert cell(INGRESS_CLASSES, "Parameters", {"spec": {}}) == "<none>"


# v1.36.4 pkg/apis/networking/v1/defaults.go:36
@pytest.mark.parametrize(
    ("spec", "types"),
    [
        ({}, ["Ingress"]),
        ({"egress": [{}]}, ["Ingress", "Egress"]),
        ({"ingress": [{}]}, ["Ingress"]),
        ({"policyTypes": ["Egress"]}, ["Egress"]),
    ],
)
def test_directions_of_a_network_policy(spec, types):
    obj = {"spec": spec}
    NETWORK_POLICIES.default(obj)
    assert obj["spec"]["policyTypes"] == types


# v1.36.4 pkg/apis/networking/validation/validation.go:266
@pytest.mark.parametrize(
    ("cidr", "left_out", "fits"),
    [
        ("10.0.0.0/8", "10.1.0.0/16", True),
        ("10.0.0.0/8", "10.0.0.0/8", False),
        ("10.0.0.0/8", "0.0.0.0/0", False),
        ("10.0.0.0/8", "11.0.0.0/16", False),
        ("10.0.0.0/8", "fd00::/64", False),
        ("fd00::/8", "fd00::/64", True),
    ],
)
def test_exceptions_lie_within_the_block(cidr, left_out, fits):
    spec = {"ingress": [{"from": [{"ipBlock": {"cidr": cidr, "except": [left_out]}}]}]}
    at = "spec.ingress[0].from[0].ipBlock.except[0]"
    problems = [] if fits else [f'{at}: Invalid value: "{left_out}": must be a strict subset of `cidr`']
    assert told(NETWORK_POLICIES.validate({"spec": spec})) == problems


def test_names_of_ip_addresses_are_canonical():
    # v1.36.4 pkg/apis/networking/validation/validation.go (ValidateIPAddressName)
    assert IP_ADDRESSES.name("10.0.0.1") == []
    assert IP_ADDRESSES.name("2001:db8::1") == []
    assert IP_ADDRESSES.name("2001:DB8::1") == ['must be in canonical form ("2001:db8::1")']


def test_parent_of_an_ip_address():
    # v1.36.4 pkg/printers/internalversion/printers.go:3140
    parent = {"group": "Apps", "resource": "Things", "namespace": "n", "name": "x"}
    assert cell(IP_ADDRESSES, "ParentRef", {"spec": {"parentRef": parent}}) == "things.apps/n/x"
    assert cell(IP_ADDRESSES, "ParentRef", {"spec": {}}) == "<none>"


# v1.36.4 pkg/apis/networking/validation/validation.go (ValidateServiceCIDRUpdate)
@pytest.mark.parametrize(
    ("old", "new", "problems"),
    [
        (["10.0.0.0/24"], ["10.0.0.0/24"], []),
        (["10.0.0.0/24"], ["10.0.0.0/24", "fd00::/64"], []),
        (["10.0.0.0/24"], ["10.0.1.0/24"], ['spec.cidrs[0]: Invalid value: "10.0.1.0/24": field is immutable']),
        (
            ["10.0.0.0/24", "fd00::/64"],
            ["10.0.0.0/24"],
            ['spec.cidrs: Invalid value: ["10.0.0.0/24"]: field is immutable'],
        ),
    ],
)
def test_a_service_cidr_may_only_gain_a_family(old, new, problems):
    assert told(SERVICE_CIDRS.validate_update({"spec": {"cidrs": new}}, {"spec": {"cidrs": old}})) == problems
