"""Pod Security Standards. `pod_security.jsonl` holds what a v1.36.4 server answered for pods of many kinds, level by level."""

import json
from pathlib import Path

import pytest

from tiphys.apiserver.admission.configuration import Configuration
from tiphys.apiserver.admission.pod_security import Exemptions, PodSecuritySettings, checks, policy
from tiphys.apiserver.admission.pod_security.policy import LATEST, Policy, Standard
from tiphys.apiserver.authn.user import User

ANSWERS = [json.loads(line) for line in Path(__file__).with_name("pod_security.jsonl").read_text().splitlines()]
PREFIX = policy.PREFIX
PRIVILEGED = {"securityContext": {"privileged": True}}


def standard(text):
    level, _, version = text.partition(":")
    return Standard(level, policy.parse_minor(version))


@pytest.mark.parametrize("answer", ANSWERS, ids=[json.dumps(each["spec"])[:60] for each in ANSWERS])
def test_pods_are_refused_as_by_the_real_server(answer):
    found = {
        each: checks.detailed(checks.refusals(standard(each), answer["metadata"], answer["spec"])) for each in answer["refused"]
    }
    assert found == answer["refused"]


@pytest.mark.parametrize("answer", ANSWERS, ids=[json.dumps(each["spec"])[:60] for each in ANSWERS])
def test_restricted_is_never_looser_than_baseline_except_in_user_namespaces(answer):
    if answer["spec"].get("hostUsers") is not False:
        for minor in (0, 20, 25, 30, 36, LATEST):
            if checks.refusals(Standard("baseline", minor), answer["metadata"], answer["spec"]):
                assert checks.refusals(Standard("restricted", minor), answer["metadata"], answer["spec"])
    assert not checks.refusals(Standard("privileged"), answer["metadata"], answer["spec"])


# staging/src/k8s.io/pod-security-admission/api/helpers.go:150
@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ({}, Policy()),
        ({"enforce": "baseline"}, Policy(enforce=Standard("baseline"), warn=Standard("baseline"))),
        (
            {"enforce": "restricted", "enforce-version": "v1.30"},
            Policy(enforce=Standard("restricted", 30), warn=Standard("restricted", 30)),
        ),
        (
            {"enforce": "restricted", "enforce-version": "v1.30", "warn": "baseline"},
            Policy(enforce=Standard("restricted", 30), warn=Standard("baseline")),
        ),
        ({"audit": "restricted"}, Policy(audit=Standard("restricted"))),
        ({"enforce": "nonsense"}, Policy(enforce=Standard("restricted"))),
        ({"warn": "nonsense", "audit": "nonsense"}, Policy()),
    ],
)
def test_labels_make_a_policy(labels, wanted):
    found, problems = policy.of_labels({PREFIX + key: value for key, value in labels.items()}, Policy())
    assert found == wanted
    assert len(problems) == sum(value == "nonsense" for value in labels.values())


async def test_a_pod_is_refused_and_its_template_warned_of(serve, make_pod):
    server = serve()
    await server.namespace("t", {PREFIX + "enforce": "baseline"})
    status = await server.create("pods", make_pod(container=PRIVILEGED))
    told = 'privileged (container "c" must not set securityContext.privileged=true)'
    assert (status["code"], status["message"]) == (
        403,
        f'pods "p" is forbidden: violates PodSecurity "baseline:latest": {told}',
    )
    template = {"metadata": {"labels": {"a": "b"}}, "spec": make_pod(container=PRIVILEGED)["spec"]}
    replica_set = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "r", "namespace": "t"}}
    replica_set["spec"] = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    seen = watch_warnings(server)
    assert (await server.create("replicasets", replica_set, "apps"))["kind"] == "ReplicaSet"
    assert seen["warnings"] == [f'would violate PodSecurity "baseline:latest": {told}']


def watch_warnings(server):
    """What the plugin says beside its verdict, of the next write."""
    seen = {}
    (plugin,) = (each for each in server.plugins if each.name == "PodSecurity")
    server.pipeline.backend.admission = Observed(server.pipeline.backend.admission, seen)
    assert plugin in server.pipeline.backend.admission.plugins
    return seen


class Observed:
    def __init__(self, chain, seen):
        self._chain = chain
        self._seen = seen
        self.plugins = chain.plugins

    async def admit(self, attributes):
        await self._chain.admit(attributes)

    async def validate(self, attributes):
        try:
            await self._chain.validate(attributes)
        finally:
            self._seen.update(warnings=attributes.warnings, annotations=dict(attributes.annotations))


async def test_namespaces_are_checked_and_tell_of_pods_that_are_there(serve, make_pod):
    server = serve()
    await server.namespace("t")
    for number in range(3):
        await server.create("pods", make_pod(f"x{number}", container=PRIVILEGED if number == 2 else None))
    seen = watch_warnings(server)
    await server.patch("namespaces", "t", {"metadata": {"labels": {PREFIX + "enforce": "baseline"}}}, params={"dryRun": "All"})
    assert seen["warnings"] == [
        'existing pods in namespace "t" violate the new PodSecurity enforce level "baseline:latest"',
        "x2: privileged",
    ]
    labels = {PREFIX + "enforce": "restricted", PREFIX + "enforce-version": "v1.20"}
    await server.patch("namespaces", "t", {"metadata": {"labels": labels}})
    assert seen["warnings"] == [
        'existing pods in namespace "t" violate the new PodSecurity enforce level "restricted:v1.20"',
        "x0 (and 1 other pod): allowPrivilegeEscalation != false, runAsNonRoot != true, seccompProfile",
        "x2: privileged, allowPrivilegeEscalation != false, runAsNonRoot != true, seccompProfile",
    ]
    status = await server.patch("namespaces", "t", {"metadata": {"labels": {PREFIX + "enforce": "strict"}}})
    told = f'metadata.labels[{PREFIX}enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted'
    assert (status["code"], status["message"]) == (422, f'Namespace "t" is invalid: {told}')


async def test_audit_learns_what_was_enforced_and_violated(serve, make_pod):
    server = serve()
    await server.namespace("t", {PREFIX + "audit": "baseline", PREFIX + "enforce": "privileged"})
    seen = watch_warnings(server)
    assert (await server.create("pods", make_pod(container=PRIVILEGED)))["kind"] == "Pod"
    told = 'privileged (container "c" must not set securityContext.privileged=true)'
    assert seen["annotations"] == {
        PREFIX + "enforce-policy": "privileged:latest",
        PREFIX + "audit-violations": f'would violate PodSecurity "baseline:latest": {told}',
    }


@pytest.mark.parametrize(
    ("exemptions", "reason"),
    [
        (Exemptions(usernames=frozenset(["root"])), "user"),
        (Exemptions(namespaces=frozenset(["t"])), "namespace"),
        (Exemptions(runtime_classes=frozenset(["r"])), "runtimeClass"),
    ],
)
async def test_exemptions(serve, make_pod, exemptions, reason):
    settings = PodSecuritySettings(Policy(enforce=Standard("baseline")), exemptions)
    server = serve(configuration=Configuration(pod_security=settings))
    await server.namespace("t")
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "r"}, "handler": "h"}
    await server.create("runtimeclasses", runtime, "node.k8s.io")
    seen = watch_warnings(server)
    pod = make_pod(container=PRIVILEGED, runtimeClassName="r")
    assert (await server.create("pods", pod, user=User("root", ("system:masters",))))["kind"] == "Pod"
    assert seen["annotations"] == {PREFIX + "exempt": reason}
    other = make_pod("q", "default" if reason == "namespace" else "t", container=PRIVILEGED)
    if reason == "namespace":
        await server.namespace("default")
    assert (await server.create("pods", other))["code"] == 403


async def test_only_new_images_and_containers_of_a_running_pod_are_checked(serve, make_pod):
    server = serve()
    await server.namespace("t")
    await server.create("pods", make_pod(container=PRIVILEGED))
    await server.patch("namespaces", "t", {"metadata": {"labels": {PREFIX + "enforce": "baseline"}}})
    assert (await server.patch("pods", "p", {"metadata": {"labels": {"a": "b"}}}, "t"))["kind"] == "Pod"
    patch = {"spec": {"containers": [{"name": "c", "image": "other"}]}}
    assert (await server.patch("pods", "p", patch, "t", patch_type="strategic"))["code"] == 403
