"""What a container finds in its environment (v1.36.4 pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables)."""

import pytest

from tiphys.kubelet.pods.downward import FieldValues, field_value, resource_value
from tiphys.kubelet.pods.environment import CannotMake, Sources, environment, expand, referenced
from tiphys.kubelet.service_variables import service_variables

POD = {
    "metadata": {
        "name": "p",
        "namespace": "d",
        "uid": "u",
        "labels": {"app": "x", "z": 'q"'},
        "annotations": {"a.b/c": "note"},
    },
    "spec": {"containers": [], "serviceAccountName": "sa"},
}
VALUES = FieldValues("node", ("192.168.0.1",), ("10.0.0.5", "fd00::5"), {"cpu": "4", "memory": "8Gi"})
MAP = {"kind": "ConfigMap", "data": {"k": "v", "n": "2"}}
SECRET = {"kind": "Secret", "data": {"s": "c2VjcmV0"}}


def made(env=(), env_from=(), **sources):
    return environment(POD, {"name": "c", "env": list(env), "envFrom": list(env_from)}, Sources(**sources), VALUES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("$$(A)", "$(A)"),
        ("$(B)", "$(B)"),
        ("a$(A)b$(A)", "a1b1"),
        ("$A", "$A"),
        ("$", "$"),
        ("$$", "$"),
        ("$(A", "$(A"),
    ],
)
def test_expansion(text, expected):
    # v1.36.4 third_party/forked/golang/expansion/expand_test.go
    assert expand(text, {"A": "1"}) == expected


def test_variables_refer_to_those_before_them():
    found = made([{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(C)"}, {"name": "C", "value": "3"}])
    assert found == {"A": "1", "B": "1$(C)", "C": "3"}


def test_all_sources_and_their_precedence():
    found = made(
        [
            {"name": "k", "value": "own"},
            {"name": "S", "valueFrom": {"secretKeyRef": {"name": "sec", "key": "s"}}},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ],
        [{"configMapRef": {"name": "cm"}}, {"prefix": "P_", "secretRef": {"name": "sec"}}],
        config_maps={"cm": MAP},
        secrets={"sec": SECRET},
        services={"n": "service", "HOST": "h"},
    )
    assert found == {"n": "2", "HOST": "h", "k": "own", "P_s": "secret", "S": "secret", "IP": "10.0.0.5"}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"configMapKeyRef": {"name": "no", "key": "k"}}, 'configmap "no" not found'),
        ({"configMapKeyRef": {"name": "cm", "key": "no"}}, "couldn't find key no in ConfigMap d/cm"),
        ({"secretKeyRef": {"name": "sec", "key": "no"}}, "couldn't find key no in Secret d/sec"),
    ],
)
def test_what_is_missing_keeps_the_container_from_being_made(entry, words):
    with pytest.raises(CannotMake, match="^" + words.replace("(", r"\(") + "$"):
        made([{"name": "A", "valueFrom": entry}], config_maps={"cm": MAP}, secrets={"sec": SECRET})
    kind = next(iter(entry))
    optional = {kind: {**entry[kind], "optional": True}}
    assert made([{"name": "A", "valueFrom": optional}], config_maps={"cm": MAP}, secrets={"sec": SECRET}) == {}


def test_what_has_to_be_fetched():
    container = {
        "env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k"}}}],
        "envFrom": [{"secretRef": {"name": "s"}}],
    }
    assert referenced(container) == ({"m"}, {"s"})


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.labels['app']", "x"),
        ("metadata.annotations['a.b/c']", "note"),
        ("metadata.labels", 'app="x"\nz="q\\""'),
        ("spec.serviceAccountName", "sa"),
        ("spec.nodeName", "node"),
        ("status.podIPs", "10.0.0.5,fd00::5"),
        ("status.hostIP", "192.168.0.1"),
        ("metadata.uid", "u"),
    ],
)
def test_fields(path, expected):
    assert field_value(POD, path, VALUES) == expected


@pytest.mark.parametrize(
    ("resource", "divisor", "expected"),
    [
        ("limits.cpu", "1", "2"),
        ("limits.cpu", "1m", "1500"),
        ("requests.cpu", "0", "0"),
        ("limits.memory", "1Mi", "8192"),
    ],
)
def test_resources_are_rounded_up_and_unlimited_ones_are_the_nodes(resource, divisor, expected):
    # https://kubernetes.io/docs/tasks/inject-data-application/environment-variable-expose-pod-information/
    container = {"name": "c", "resources": {"limits": {"cpu": "1500m"}}}
    assert resource_value(POD, container, {"resource": resource, "divisor": divisor}, VALUES) == expected


def test_service_variables():
    # https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
    def service(namespace, name, ip, port):
        return {
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"clusterIP": ip, "ports": [{"name": "web", "port": port, "protocol": "TCP"}]},
        }

    services = [
        service("default", "kubernetes", "10.96.0.1", 443),
        service("d", "redis-primary", "10.0.0.11", 6379),
        service("d", "headless", "None", 1),
        service("other", "far", "10.0.0.12", 1),
    ]
    found = service_variables(services, "d", links=True)
    assert found["REDIS_PRIMARY_SERVICE_HOST"] == "10.0.0.11"
    assert found["REDIS_PRIMARY_SERVICE_PORT_WEB"] == "6379"
    assert found["REDIS_PRIMARY_PORT_6379_TCP_ADDR"] == "10.0.0.11"
    assert found["KUBERNETES_SERVICE_HOST"] == "10.96.0.1"
    assert not any(name.startswith(("FAR", "HEADLESS")) for name in found)
    assert all(name.startswith("KUBERNETES") for name in service_variables(services, "d", links=False))
