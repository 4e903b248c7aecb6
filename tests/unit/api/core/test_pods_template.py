"""Parts of the pod template that the recorded outcomes do not reach."""

import pytest

from tiphys.api.core.pods import PODS
from tiphys.api.pod_template import amounts, images, internal
from tiphys.api.pod_template.tolerance import tolerated_by
from tiphys.machinery.tree import Obj


# v1.36.4 vendor/github.com/distribution/reference/normalize.go, pkg/util/parsers/parsers.go: ParseImageName
@pytest.mark.parametrize(
    ("reference", "tag"),
    [
        ("nginx", "latest"),
        ("nginx:1.27", "1.27"),
        ("registry.example.com:5000/a/b", "latest"),
        ("registry.example.com:5000/a/b:v1", "v1"),
        ("localhost/a:latest", "latest"),
        ("[::1]:5000/a", "latest"),
        ("nginx@sha256:" + "0" * 64, ""),
        ("nginx:latest@sha256:" + "0" * 64, "latest"),
        ("nginx@sha256:" + "0" * 32, ""),
        ("Nginx", ""),
        ("f" * 64, ""),
        ("a" * 256, ""),
    ],
)
def test_tag_of(reference: str, tag: str) -> None:
    assert images.tag_of(reference) == tag


# v1.36.4 pkg/apis/core/v1/defaults.go: SetDefaults_ResourceList
@pytest.mark.parametrize(
    ("text", "kept"),
    [("1000m", "1"), ("0.0001", "1m"), ("1.0015", "1002m"), ("1n", "1m"), ("1024Ki", "1Mi"), ("1E", "1E"), ("-1u", "-1m")],
)
def test_amounts_are_rounded_up_to_thousandths(text: str, kept: str) -> None:
    assert amounts.rounded(text) == kept


def test_the_table_of_internal_types_is_closed() -> None:
    """Every kind that a field is of is a scalar, or a type of the table."""
    types = internal._types()
    known = {*types, *internal._SCALARS, "Selector", "ObjectMeta", "Raw"}
    kinds = {field.kind.lstrip("*[]{}") for fields in types.values() for field in fields}
    assert kinds <= known


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ({}, {"hostNetwork": False, "volumes": []}, True),
        ({}, {"hostNetwork": True}, False),
        ({"containers": [{"name": "c"}]}, {"containers": [{"name": "c", "resources": {}, "stdin": False}]}, True),
        # Behind a pointer, nothing and an empty value are two things.
        ({"containers": [{"name": "c"}]}, {"containers": [{"name": "c", "securityContext": {}}]}, False),
        ({"enableServiceLinks": False}, {}, False),
    ],
)
def test_specs_are_equal_where_upstreams_internal_forms_are(one: Obj, other: Obj, equal: bool) -> None:
    # v1.36.4 staging/src/k8s.io/apimachinery/third_party/forked/golang/reflect/deep_equal.go
    assert internal.same(one, other, "PodSpec") is equal


# v1.36.4 pkg/api/pod/util.go: GetValidationOptionsFromPodSpecAndMeta
@pytest.mark.parametrize(
    ("old", "forgiven"),
    [
        ({}, set()),
        ({"tolerations": [{"key": "a", "operator": "Lt", "value": "5"}]}, {"compared_tolerations"}),
        ({"hostNetwork": True, "hostUsers": False}, {"host_network_users"}),
        ({"hostNetwork": True, "securityContext": {"sysctls": [{"name": "net.core.x"}]}}, {"host_sysctls"}),
        ({"securityContext": {"seLinuxChangePolicy": "Recursive"}}, {"any_selinux_policy"}),
        ({"overhead": {"hugepages-2Mi": "3Mi"}}, {"indivisible_huge_pages"}),
        ({"topologySpreadConstraints": [{"labelSelector": {"matchLabels": {"a b": "c"}}}]}, {"invalid_spread_selectors"}),
        (
            {"volumes": [{"projected": {"sources": [{"serviceAccountToken": {"path": "../x"}}]}}]},
            {"non_local_token_path"},
        ),
        (
            {"initContainers": [{"resizePolicy": [{"restartPolicy": "RestartContainer"}]}]},
            {"restarted_init_containers"},
        ),
    ],
)
def test_what_an_update_forgives(old: Obj, forgiven: set[str]) -> None:
    options = tolerated_by(old)
    flags = {name for name in options.__slots__ if name != "merged_spread_keys" and getattr(options, name)}
    assert flags == forgiven


# v1.36.4 pkg/printers/internalversion/printers.go: printPod; staging/src/k8s.io/apimachinery/pkg/util/duration
@pytest.mark.parametrize(
    ("restarts", "ended", "told"),
    [(0, "2027-01-15T07:00:00Z", "0"), (2, None, "2"), (5, "2027-01-15T07:54:40Z", "5 (5m20s ago)")],
)
def test_restarts(restarts: int, ended: str | None, told: str) -> None:
    container: Obj = {"name": "c", "restartCount": restarts, "state": {}}
    if ended:
        container["lastState"] = {"terminated": {"exitCode": 1, "finishedAt": ended}}
    pod = {"metadata": {}, "spec": {"containers": [{}]}, "status": {"containerStatuses": [container]}}
    column = next(each for each in PODS.columns if each.name == "Restarts")
    assert callable(column.value)
    assert column.value(pod, 1_800_000_000.0) == told


# v1.36.4 pkg/registry/core/pod/strategy.go: ToSelectableFields
@pytest.mark.parametrize(
    ("field", "value"),
    [("spec.hostNetwork", "false"), ("status.podIP", "10.0.0.7"), ("status.podIPs", "10.0.0.7")],
)
def test_selectable_fields(field: str, value: str) -> None:
    assert PODS.field_of[field]({"spec": {}, "status": {"podIPs": [{"ip": "10.0.0.7"}, {"ip": "fd00::7"}]}}) == value
