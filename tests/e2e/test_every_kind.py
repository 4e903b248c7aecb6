"""kubectl and every built-in kind: made, shown in each way, changed, deleted."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tiphys.api.kind import Kind
from tiphys.api.registry import KINDS

pytestmark = [pytest.mark.kubectl, pytest.mark.slow]

MANIFESTS = Path(__file__).parent / "manifests"
ANSWERED_ONLY = {
    "bindings",
    "selfsubjectreviews",
    "tokenreviews",
    "localsubjectaccessreviews",
    "selfsubjectaccessreviews",
    "selfsubjectrulesreviews",
    "subjectaccessreviews",
}
"""Kinds that are asked and answered, and never stored."""
DESCRIBED_LATER = {
    "ipaddresses.networking.k8s.io",
    "servicecidrs.networking.k8s.io",
    "volumeattributesclasses.storage.k8s.io",
}
"""An older kubectl describes them only in their beta versions."""


def full_name(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


NEWEST = {full_name(kind): kind for kind in reversed(KINDS) if kind.plural != "componentstatuses"}
STORED = sorted(name for name, kind in NEWEST.items() if kind.plural not in ANSWERED_ONLY)


def test_each_kind_has_a_manifest():
    assert {each.stem for each in MANIFESTS.glob("*.yaml")} == set(NEWEST)


@pytest.mark.parametrize("name", STORED)
def test_stored_kinds(kubectl, name):
    file = MANIFESTS / f"{name}.yaml"
    wanted = yaml.safe_load(file.read_text())
    if wanted["kind"] == "Event":
        # Events about objects without a namespace belong there.
        kubectl = replace(kubectl, namespace="default")
    told = wanted["metadata"]["name"]
    thing = f"{name}/{told}"

    # kubectl applies what it then applies again: nothing may change by that.
    assert kubectl("apply", "-f", file).strip().endswith(" created")
    assert kubectl("apply", "-f", file).strip().endswith((" unchanged", " configured"))

    shown = kubectl("get", name, told, "-o", "wide").splitlines()
    assert len(shown) == 2
    assert kubectl("get", name, told, "-o", "name").strip().endswith(f"/{told}")
    first = kubectl.json("get", name, told)
    assert first["kind"] == wanted["kind"]
    assert first["apiVersion"] == wanted["apiVersion"]
    assert first["metadata"]["name"] == told
    if name not in DESCRIBED_LATER or kubectl.minor >= 34:
        assert told in kubectl("describe", name, told)

    kubectl("label", thing, "toured=yes")
    assert f"/{told}\n" in kubectl("get", name, "-l", "toured=yes", "-o", "name")
    second = kubectl.json("get", name, told)
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])
    assert second["metadata"]["uid"] == first["metadata"]["uid"]

    kubectl("delete", thing, "--wait=false")


def test_namespaced_kinds_are_told_apart(kubectl):
    told = set(kubectl("api-resources", "--namespaced=true", "-o", "name").split())
    assert {name for name, kind in NEWEST.items() if kind.namespaced} <= told


def test_reviews(kubectl):
    def asked(name: str) -> dict:
        return json.loads(kubectl("create", "-f", MANIFESTS / f"{name}.yaml", "-o", "json"))["status"]

    assert asked("selfsubjectreviews.authentication.k8s.io")["userInfo"]["username"] == "kubernetes-admin"
    assert asked("tokenreviews.authentication.k8s.io")["user"]["username"] == "tourist"
    assert asked("selfsubjectaccessreviews.authorization.k8s.io")["allowed"] is True
    assert asked("subjectaccessreviews.authorization.k8s.io")["allowed"] is False
    assert asked("selfsubjectrulesreviews.authorization.k8s.io")["resourceRules"]


def test_a_review_in_a_namespace(kubectl):
    answer = kubectl.run(
        *("create", "--namespace", "default", "-o", "json"),
        *("-f", MANIFESTS / "localsubjectaccessreviews.authorization.k8s.io.yaml"),
    )
    assert json.loads(answer.stdout)["status"]["allowed"] is False


def test_a_binding_binds(kubectl):
    pod = yaml.safe_load((MANIFESTS / "pods.yaml").read_text())
    pod["metadata"]["name"] = "bound"
    kubectl("create", "-f", "-", stdin=json.dumps(pod))
    kubectl("create", "-f", MANIFESTS / "bindings.yaml")
    assert kubectl("get", "pod", "bound", "-o", "jsonpath={.spec.nodeName}") == "somewhere"
