"""The objects of a new cluster, beside those that kube-apiserver v1.36.4 wrote into an empty etcd (`recorded.jsonl`)."""

from pathlib import Path

import orjson
import pytest

from tiphys.apiserver.bootstrap import api_services, cluster, flow_control, rbac_policy

NOW = "2026-01-02T03:04:05Z"
RECORDED = [orjson.loads(line) for line in Path(__file__).with_name("recorded.jsonl").read_bytes().splitlines()]


def key(obj):
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def recorded(kind):
    return {key(obj): obj for obj in RECORDED if obj["kind"] == kind}


# v1.36.4 plugin/pkg/auth/authorizer/rbac/bootstrappolicy; staging apiserver/pkg/apis/flowcontrol/bootstrap/default.go
# v1.36.4 pkg/registry/scheduling/rest/storage_scheduling.go; pkg/controlplane/apiserver/aggregator.go
@pytest.mark.parametrize(
    ("kind", "ours"),
    [
        ("ClusterRole", rbac_policy.cluster_roles()),
        ("Role", rbac_policy.roles()),
        ("ClusterRoleBinding", rbac_policy.cluster_role_bindings()),
        ("RoleBinding", rbac_policy.role_bindings()),
        ("PriorityLevelConfiguration", flow_control.priority_levels()),
        ("FlowSchema", flow_control.flow_schemas(NOW)),
        ("PriorityClass", cluster.priority_classes()),
        ("Namespace", cluster.namespaces()),
        ("ServiceCIDR", [cluster.service_cidr(["10.0.0.0/24"])]),
    ],
)
def test_equals_what_upstream_writes(kind, ours):
    theirs = recorded(kind)
    if kind != "Namespace":
        ours = [{field: value for field, value in obj.items() if field != "status"} for obj in ours]
    own = [obj for obj in ours if obj["metadata"]["name"].startswith("tiphys:")]
    assert {key(obj): obj for obj in ours if obj not in own} == theirs
    assert len(ours) - len(own) == len(theirs)


@pytest.mark.differs(
    "has no role for `/explain`.",
    "the ClusterRole `tiphys:explainer` may read it; all other roles that are made at the start are upstream's, to the letter.",
)
def test_explanations_have_a_role_of_their_own():
    own = [
        obj
        for obj in rbac_policy.cluster_roles()
        if obj["metadata"]["name"] not in {name for _, name in recorded("ClusterRole")}
    ]
    assert [(obj["metadata"]["name"], obj["rules"]) for obj in own] == [
        ("tiphys:explainer", [{"verbs": ["get"], "nonResourceURLs": ["/explain/*"]}])
    ]


def test_api_services_equal_upstreams():
    theirs = recorded("APIService")
    pairs = [(obj["spec"].get("group", ""), obj["spec"]["version"]) for obj in theirs.values()]
    ours = api_services.api_services(pairs, NOW)
    assert {key(obj): {name: obj[name] for name in obj if name != "status"} for obj in ours} == theirs


def test_the_aggregators_own_group_has_no_api_service():
    assert api_services.api_services([("apiregistration.k8s.io", "v1")], NOW) == []


# v1.36.4 pkg/controlplane/controller/clusterauthenticationtrust/cluster_authentication_trust_controller.go:244
def test_authentication_configmap_lists_are_json():
    known = cluster.ClusterAuthentication(
        client_ca="CA",
        request_header_ca="FRONT",
        allowed_names=("front-proxy",),
        username_headers=("X-Remote-User",),
        group_headers=("X-Remote-Group",),
        extra_prefixes=("X-Remote-Extra-",),
    )
    assert cluster.authentication_configmap(known)["data"] == {
        "client-ca-file": "CA",
        "requestheader-client-ca-file": "FRONT",
        "requestheader-allowed-names": '["front-proxy"]',
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    }


def test_authentication_configmap_without_front_proxy_tells_the_client_ca_only():
    assert cluster.authentication_configmap(cluster.ClusterAuthentication("CA"))["data"] == {"client-ca-file": "CA"}


def test_legacy_tokens_are_tracked_from_the_first_day():
    # v1.36.4 pkg/controlplane/controller/legacytokentracking/controller.go
    written = cluster.legacy_token_tracking("2026-01-02")
    assert key(written) == ("kube-system", "kube-apiserver-legacy-service-account-token-tracking")
    assert written["data"] == {"since": "2026-01-02"}
