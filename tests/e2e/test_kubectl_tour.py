"""What people do with kubectl, verb by verb, on the machine's kubectl."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
import yaml

pytestmark = [pytest.mark.kubectl, pytest.mark.slow]

MANIFESTS = Path(__file__).parent / "manifests"


@pytest.fixture
def deployment(kubectl) -> str:
    kubectl("apply", "-f", MANIFESTS / "deployments.apps.yaml")
    return "deployment/tour"


@pytest.fixture
def configmap(kubectl) -> str:
    kubectl("create", "configmap", "settings", "--from-literal=color=blue", "--from-literal=size=large")
    return "configmap/settings"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("name", "configmap/settings\n"),
        ("jsonpath={.data.color}", "blue"),
        ('jsonpath={.metadata.name}{"/"}{.data.size}', "settings/large"),
        ("custom-columns=NAME:.metadata.name,COLOR:.data.color", "NAME       COLOR\nsettings   blue\n"),
        ("go-template={{.data.size}}", "large"),
    ],
)
def test_outputs(kubectl, configmap, output, expected):
    assert kubectl("get", configmap, "-o", output) == expected


def test_tables(kubectl, deployment):
    narrow, wide = kubectl("get", deployment), kubectl("get", deployment, "-o", "wide")
    assert narrow.split()[:5] == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    assert "registry.k8s.io/pause:3.10" in wide
    assert "app=tour" in wide
    assert yaml.safe_load(kubectl("get", deployment, "-o", "yaml"))["spec"]["replicas"] == 2
    assert kubectl("get", "deployments", "--no-headers").startswith("tour ")
    assert "deployment.apps/tour" in kubectl("get", "all")


def test_sorting_and_selectors(kubectl, configmap):
    kubectl("create", "configmap", "another")
    kubectl("label", "configmap", "another", "tier=back")
    assert kubectl("get", "cm", "-l", "tier=back", "-o", "name") == "configmap/another\n"
    assert kubectl("get", "cm", "-l", "tier notin (back)", "-o", "name") == "configmap/settings\n"
    assert kubectl("get", "cm", "--field-selector", "metadata.name=settings", "-o", "name") == "configmap/settings\n"
    by_name = kubectl("get", "cm", "--sort-by=.metadata.name", "-o", "name").split()
    assert by_name == ["configmap/another", "configmap/settings"]


def test_large_lists_come_in_pieces(kubectl):
    every = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number:02}"}} for number in range(25)]
    several = json.dumps({"apiVersion": "v1", "kind": "List", "items": every})
    # kubectl checks a list by the OpenAPI v2 document, which it takes in protobuf only.
    kubectl("create", "-f", "-", stdin=several)
    assert len(kubectl("get", "cm", "--chunk-size=7", "-o", "name").split()) == 25
    assert kubectl("delete", "cm", "--all").count("deleted") == 25


def test_apply_keeps_what_others_own(kubectl):
    first = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}, "data": {"mine": "1", "gone": "x"}}
    kubectl("apply", "-f", "-", stdin=json.dumps(first))
    kubectl("patch", "cm", "shared", "-p", '{"data":{"theirs":"2"}}')
    second = {**first, "data": {"mine": "3"}}
    kubectl("apply", "-f", "-", stdin=json.dumps(second))
    assert kubectl.json("get", "cm", "shared")["data"] == {"mine": "3", "theirs": "2"}


def test_diff(kubectl, configmap):
    changed = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings"},
        "data": {"color": "red", "size": "large"},
    }
    ran = kubectl.run("diff", "-f", "-", stdin=json.dumps(changed))
    assert ran.returncode == 1
    assert "-  color: blue" in ran.stdout
    assert "+  color: red" in ran.stdout
    assert kubectl.json("get", configmap)["data"]["color"] == "blue"


def test_server_side_apply_and_its_conflicts(kubectl):
    mine = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned"}, "data": {"key": "one"}}
    kubectl("apply", "--server-side", "--field-manager=first", "-f", "-", stdin=json.dumps(mine))
    theirs = json.dumps({**mine, "data": {"key": "two"}})
    refusal = kubectl.refused("apply", "--server-side", "--field-manager=second", "-f", "-", stdin=theirs)
    assert 'Apply failed with 1 conflict: conflict with "first": .data.key' in refusal
    kubectl("apply", "--server-side", "--field-manager=second", "--force-conflicts", "-f", "-", stdin=theirs)
    owned = kubectl.json("get", "cm", "owned", "--show-managed-fields")
    assert owned["data"] == {"key": "two"}
    managers = {each["manager"]: each["operation"] for each in owned["metadata"]["managedFields"]}
    assert managers == {"second": "Apply"}


def test_edit(kubectl, configmap, tmp_path):
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i "s/blue/green/" "$1"\n')
    editor.chmod(0o755)
    assert "edited" in kubectl("edit", configmap, editor=str(editor))
    assert kubectl.json("get", configmap)["data"]["color"] == "green"


def test_replace_minds_the_version(kubectl, configmap):
    read = kubectl.json("get", configmap)
    kubectl("replace", "-f", "-", stdin=json.dumps({**read, "data": {"color": "red"}}))
    # https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
    stale = kubectl.refused("replace", "-f", "-", stdin=json.dumps({**read, "data": {"color": "black"}}))
    assert "the object has been modified; please apply your changes to the latest version and try again" in stale
    assert kubectl.json("get", configmap)["data"] == {"color": "red"}
    del read["metadata"]["resourceVersion"]
    kubectl("replace", "--force", "-f", "-", stdin=json.dumps(read))
    assert kubectl.json("get", configmap)["metadata"]["uid"] != read["metadata"]["uid"]


PATCHES = [
    ("strategic", '{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"other:1"}]}}}}', ["other:1"]),
    ("strategic", '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:1"}]}}}}', None),
    ("merge", '{"spec":{"template":{"spec":{"containers":[{"name":"only","image":"only:1"}]}}}}', ["only:1"]),
    ("json", '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"third:1"}]', ["third:1"]),
]


@pytest.mark.parametrize(("kind", "patch", "images"), PATCHES)
def test_patches(kubectl, deployment, kind, patch, images):
    kubectl("patch", deployment, f"--type={kind}", "-p", patch)
    found = [each["image"] for each in kubectl.json("get", deployment)["spec"]["template"]["spec"]["containers"]]
    if images is None:
        assert sorted(found) == ["registry.k8s.io/pause:3.10", "side:1"]
    else:
        assert found == images


def test_patches_of_a_subresource(kubectl, deployment):
    kubectl("patch", deployment, "--subresource=status", "--type=merge", "-p", '{"status":{"replicas":2,"readyReplicas":2}}')
    assert kubectl.json("get", deployment)["status"]["readyReplicas"] == 2
    kubectl("patch", deployment, "--type=merge", "-p", '{"status":{"readyReplicas":9}}')
    assert kubectl.json("get", deployment)["status"]["readyReplicas"] == 2


def test_labels_and_annotations(kubectl, configmap):
    kubectl("label", configmap, "tier=front")
    assert "--overwrite is false" in kubectl.refused("label", configmap, "tier=back")
    kubectl("label", configmap, "tier=back", "--overwrite")
    kubectl("annotate", configmap, "note=a long story")
    kubectl("label", configmap, "tier-")
    metadata = kubectl.json("get", configmap)["metadata"]
    assert "labels" not in metadata
    assert metadata["annotations"]["note"] == "a long story"


def test_scale(kubectl, deployment):
    kubectl("scale", deployment, "--replicas=5")
    assert kubectl.json("get", deployment)["spec"]["replicas"] == 5
    refusal = kubectl.refused("scale", deployment, "--current-replicas=3", "--replicas=1")
    assert "Expected replicas to be 3, was 5" in refusal


def test_set_and_rollout(kubectl, deployment):
    kubectl("set", "image", deployment, "web=other:2")
    kubectl("set", "env", deployment, "COLOR=blue")
    kubectl("rollout", "pause", deployment)
    spec = kubectl.json("get", deployment)["spec"]
    assert spec["paused"] is True
    assert spec["template"]["spec"]["containers"][0]["image"] == "other:2"
    assert spec["template"]["spec"]["containers"][0]["env"] == [{"name": "COLOR", "value": "blue"}]


def test_wait(kubectl, deployment):
    kubectl("wait", deployment, "--for=jsonpath={.spec.replicas}=2", "--timeout=60s")
    assert "timed out" in kubectl.refused("wait", deployment, "--for=condition=Available", "--timeout=1s")
    condition = '{"status":{"conditions":[{"type":"Available","status":"True"}]}}'
    kubectl("patch", deployment, "--subresource=status", "--type=merge", "-p", condition)
    kubectl("wait", deployment, "--for=condition=Available", "--timeout=60s")


def test_explain(kubectl):
    told = kubectl("explain", "pod.spec.containers")
    assert "FIELD: containers" in told
    assert "imagePullPolicy" in told
    assert "VERSION:    v1" in kubectl("explain", "deployment", "--recursive")
    assert 'field "nonsense" does not exist' in kubectl.refused("explain", "pod.nonsense")


def test_what_is_there(kubectl):
    assert {"v1", "apps/v1", "batch/v1", "networking.k8s.io/v1"} <= set(kubectl("api-versions").split())
    resources = kubectl("api-resources")
    assert "deployments" in resources
    assert "Kubernetes control plane" in kubectl("cluster-info")
    assert json.loads(kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"].startswith("v1.36")
    assert kubectl("get", "--raw", "/readyz") == "ok"


def test_auth(kubectl):
    assert kubectl("auth", "can-i", "delete", "nodes") == "yes\n"
    assert kubectl.run("auth", "can-i", "delete", "nodes", "--as=tourist").stdout == "no\n"
    assert "pods" in kubectl("auth", "can-i", "--list", "--as=system:kube-scheduler")
    assert "kubernetes-admin" in kubectl("auth", "whoami")
    refusal = kubectl.refused("get", "secrets", "--as=tourist")
    assert 'secrets is forbidden: User "tourist" cannot list resource "secrets" in API group "" in the namespace' in refusal
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=pods")
    kubectl("create", "rolebinding", "readers", "--role=reader", "--user=tourist")
    assert kubectl("auth", "can-i", "list", "pods", "--as=tourist") == "yes\n"


def test_tokens(kubectl):
    kubectl("create", "serviceaccount", "robot")
    token = kubectl("create", "token", "robot", "--duration=10m").strip()
    assert token.count(".") == 2
    answer = kubectl.run("--token", token, "auth", "whoami", "-o", "json")
    # The certificate of the kubeconfig goes before a token.
    assert answer.returncode == 0
    assert f"system:serviceaccount:{kubectl.namespace}:robot" in kubectl(
        "auth", "whoami", f"--as=system:serviceaccount:{kubectl.namespace}:robot"
    )


def test_events(kubectl):
    event = yaml.safe_load((MANIFESTS / "events.yaml").read_text())
    event["involvedObject"]["namespace"] = kubectl.namespace
    kubectl("create", "-f", "-", stdin=json.dumps(event))
    assert "it started" in kubectl("get", "events")
    assert "it started" in kubectl("events")
    assert "it started" in kubectl("get", "events", "--field-selector", "reason=Started,involvedObject.name=web")


@pytest.mark.parametrize("where", ["client", "server"])
def test_dry_run(kubectl, where):
    told = kubectl("create", "configmap", "never", f"--dry-run={where}", "-o", "json")
    assert json.loads(told)["metadata"]["name"] == "never"
    assert ("uid" in json.loads(told)["metadata"]) == (where == "server")
    assert 'configmaps "never" not found' in kubectl.refused("get", "cm", "never")


@pytest.mark.parametrize("cascade", ["background", "foreground", "orphan"])
def test_cascades(kubectl, deployment, cascade):
    kubectl("delete", deployment, f"--cascade={cascade}", "--wait=false")
    ran = kubectl.run("get", deployment, "-o", "json")
    if cascade == "background":
        assert "not found" in ran.stderr
    else:
        # No garbage collector runs here, so what it has to do first stays to be seen.
        finalizer = {"foreground": "foregroundDeletion", "orphan": "orphan"}[cascade]
        assert json.loads(ran.stdout)["metadata"]["finalizers"] == [finalizer]
        kubectl("patch", deployment, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        assert "not found" in kubectl.refused("get", deployment)


def test_watch(kubectl, configmap):
    command = [kubectl.program, "--kubeconfig", str(kubectl.cluster.kubeconfig), "-n", kubectl.namespace]
    command += ["get", configmap, "-w", "--no-headers", "--output-watch-events", "--request-timeout=60s"]
    environment = {**os.environ, "HOME": str(kubectl.cluster.home)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as watching:
        assert watching.stdout is not None
        seen = [watching.stdout.readline().split()]
        kubectl("label", configmap, "seen=yes")
        seen.append(watching.stdout.readline().split())
        kubectl("delete", configmap)
        seen.append(watching.stdout.readline().split())
        watching.terminate()
    assert [each[0] for each in seen] == ["ADDED", "MODIFIED", "DELETED"]


def test_delete_waits_for_finalizers(kubectl, configmap):
    kubectl("patch", configmap, "--type=merge", "-p", '{"metadata":{"finalizers":["example.com/hold"]}}')
    assert "timed out" in kubectl.refused("delete", configmap, "--timeout=1s")
    assert kubectl.json("get", configmap)["metadata"]["deletionTimestamp"]
    kubectl("patch", configmap, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    until = time.monotonic() + 60
    while kubectl.run("get", configmap).returncode == 0:
        assert time.monotonic() < until


def pod(**spec) -> str:
    container = {"name": "web", "image": "web:1"}
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "bad"}, "spec": {"containers": [container], **spec}}
    )


# The words of a real v1.36 server.
REFUSALS = [
    (("get", "nonsense"), "", 'the server doesn\'t have a resource type "nonsense"'),
    (("get", "pod", "absent"), "", 'Error from server (NotFound): pods "absent" not found'),
    (("create", "-f", "-"), pod(restartPolicy="Sometimes"), 'spec.restartPolicy: Unsupported value: "Sometimes"'),
    (("create", "-f", "-"), pod(nonsense=1), 'strict decoding error: unknown field "spec.nonsense"'),
    (("create", "-f", "-"), pod(containers=[]), "spec.containers: Required value"),
    (("create", "-f", "-"), pod(priority="high"), 'Pod in version "v1" cannot be handled as a Pod'),
    (
        ("create", "-f", "-"),
        '{"apiVersion":"v9","kind":"Pod","metadata":{"name":"x"}}',
        'no matches for kind "Pod" in version "v9"',
    ),
    (
        ("create", "-f", "-"),
        '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"dta":{}}]}',
        'unknown field "dta" in io.k8s.api.core.v1.ConfigMap',
    ),
    (("create", "configmap", "Not_A_Name"), "", "a lowercase RFC 1123 subdomain must consist of"),
    (("create", "namespace", "default"), "", 'namespaces "default" already exists'),
    (("delete", "namespace", "kube-system"), "", "this namespace may not be deleted"),
    (
        ("patch", "cm", "settings", "--type=json", "-p", '[{"op":"remove","path":"/data/none"}]'),
        "",
        "the server rejected our request",
    ),
]


@pytest.mark.parametrize(("arguments", "stdin", "words"), REFUSALS)
def test_refusals(kubectl, configmap, arguments, stdin, words):
    assert words in kubectl.refused(*arguments, stdin=stdin)


def test_create_commands(kubectl):
    for command in (
        ("deployment", "d", "--image=web:1", "--replicas=3"),
        ("job", "j", "--image=web:1"),
        ("cronjob", "c", "--image=web:1", "--schedule=*/5 * * * *"),
        ("secret", "generic", "s", "--from-literal=password=x"),
        ("service", "clusterip", "v", "--tcp=80:8080"),
        ("service", "nodeport", "n", "--tcp=80:8080"),
        ("ingress", "i", "--rule=example.com/*=v:80"),
        ("role", "r", "--verb=get", "--resource=pods"),
        ("quota", "q", "--hard=pods=10"),
        ("poddisruptionbudget", "p", "--selector=app=d", "--min-available=1"),
    ):
        assert "created" in kubectl("create", *command)
    assert kubectl.json("get", "svc", "n")["spec"]["ports"][0]["nodePort"] >= 30000
    kubectl("autoscale", "deployment", "d", "--max=5", "--cpu-percent=50") if kubectl.minor < 34 else None
    kubectl("expose", "deployment", "d", "--port=80", "--name=exposed")
    assert kubectl.json("get", "svc", "exposed")["spec"]["clusterIP"].startswith("10.96.")
    assert "pod/standalone created" in kubectl("run", "standalone", "--image=web:1")
    assert "taint" in kubectl_taint(kubectl)


def kubectl_taint(kubectl) -> str:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{kubectl.namespace}"}}
    kubectl("create", "-f", "-", stdin=json.dumps(node))
    kubectl("cordon", node["metadata"]["name"])
    assert kubectl.json("get", "node", node["metadata"]["name"])["spec"]["unschedulable"] is True
    return kubectl("taint", "node", node["metadata"]["name"], "dedicated=tour:NoSchedule")


def test_kustomize(kubectl, tmp_path):
    (tmp_path / "kustomization.yaml").write_text("namePrefix: big-\nresources: [map.yaml]\n")
    (tmp_path / "map.yaml").write_text((MANIFESTS / "configmaps.yaml").read_text())
    assert kubectl("apply", "-k", tmp_path) == "configmap/big-tour created\n"
    assert kubectl("delete", "-k", tmp_path).startswith('configmap "big-tour" deleted')
