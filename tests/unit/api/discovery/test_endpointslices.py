from tiphys.api.discovery.endpointslices import ENDPOINT_SLICES as SLICES


def endpoint_slice(*addresses, kind="IPv4", **fields):
    obj = {"metadata": {"name": "a"}, "addressType": kind, "endpoints": [{"addresses": [each]} for each in addresses], **fields}
    SLICES.default(obj)
    return obj


def told(problems):
    return [str(problem) for problem in problems]


def test_defaults():
    # v1.36.4 pkg/apis/discovery/v1/defaults.go
    obj = endpoint_slice("1.2.3.4", ports=[{"port": 80}])
    assert obj["ports"] == [{"name": "", "port": 80, "protocol": "TCP"}]
    assert obj["endpoints"] == [{"addresses": ["1.2.3.4"], "conditions": {}}]


def test_what_is_wrong_already_may_stay():
    # v1.36.4 pkg/apis/discovery/validation/validation.go:64
    old = endpoint_slice("127.0.0.1")
    assert told(SLICES.validate_create(old)) == [
        'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)'
    ]
    assert told(SLICES.validate_update(endpoint_slice("127.0.0.1", ports=[{"port": 1}]), old)) == []
    assert len(told(SLICES.validate_update(endpoint_slice("127.0.0.1", "1.2.3.4"), old))) == 1


def test_the_address_type_stays():
    # v1.36.4 pkg/apis/discovery/validation/validation.go:89
    old, new = endpoint_slice(), endpoint_slice(kind="IPv6")
    assert told(SLICES.validate_update(new, old)) == ['addressType: Invalid value: "IPv6": field is immutable']


def test_the_old_topology_is_dropped_where_endpoints_change():
    # v1.36.4 pkg/registry/discovery/endpointslice/strategy.go (dropTopologyOnV1)
    old = endpoint_slice("1.2.3.4")
    old["endpoints"][0]["deprecatedTopology"] = {"a": "b"}
    same = {**old}
    SLICES.prepare_update(same, old)
    assert same["endpoints"][0]["deprecatedTopology"] == {"a": "b"}
    new = endpoint_slice("1.2.3.5")
    new["endpoints"][0]["deprecatedTopology"] = {"a": "b"}
    SLICES.prepare_update(new, old)
    assert "deprecatedTopology" not in new["endpoints"][0]


def test_controllers_are_not_warned():
    # v1.36.4 pkg/registry/discovery/endpointslice/strategy.go (warnOnBadIPs)
    obj = endpoint_slice("2001:DB8::1", kind="IPv6")
    assert len(list(SLICES.warnings(obj, None))) == 1
    obj["metadata"]["labels"] = {"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}
    assert list(SLICES.warnings(obj, None)) == []


def test_columns():
    # v1.36.4 pkg/printers/internalversion/printers.go:1638
    cells = {column.name: column.value for column in SLICES.columns}
    obj = endpoint_slice(*(f"1.2.3.{last}" for last in range(1, 6)), ports=[{"port": 80}, {"name": "x"}])
    assert cells["Endpoints"](obj, 0) == "1.2.3.1,1.2.3.2,1.2.3.3 + 2 more..."
    assert cells["Ports"](obj, 0) == "80,x"
    assert cells["Endpoints"](endpoint_slice(), 0) == "<unset>"
