"""What the plugins about pods fill in and refuse, through the verbs. The refusals were compared with a v1.36.4 server."""

import pytest

ANTI_AFFINITY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}},
        ]
    }
}
NVIDIA = {"resources": {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}}


def toleration(key, effect="NoExecute", **more):
    return {"key": key, "operator": "Exists", "effect": effect, **more}


# plugin/pkg/admission/{serviceaccount,priority,defaulttolerationseconds}/admission.go
async def test_a_plain_pod_gets_an_account_a_priority_and_five_minutes_on_a_lost_node(serve, make_pod):
    server = serve()
    await server.namespace("t")
    spec = (await server.create("pods", make_pod()))["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert spec["tolerations"] == [
        toleration("node.kubernetes.io/not-ready", tolerationSeconds=300),
        toleration("node.kubernetes.io/unreachable", tolerationSeconds=300),
    ]
    (volume,) = spec["volumes"]
    assert volume["name"].startswith("kube-api-access-")
    assert [next(iter(source)) for source in volume["projected"]["sources"]] == [
        "serviceAccountToken",
        "configMap",
        "downwardAPI",
    ]
    mount = {"name": volume["name"], "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    assert spec["containers"][0]["volumeMounts"] == [mount]


async def test_no_token_where_pod_or_account_say_so(serve, make_pod):
    server = serve()
    await server.namespace("t")
    assert "volumes" not in (await server.create("pods", make_pod(automountServiceAccountToken=False)))["spec"]
    quiet = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "quiet", "namespace": "t"}}
    await server.create("serviceaccounts", {**quiet, "automountServiceAccountToken": False})
    assert "volumes" not in (await server.create("pods", make_pod("q", serviceAccountName="quiet")))["spec"]


PODS_REFUSED = [
    ({"serviceAccountName": "x"}, 'error looking up service account t/x: serviceaccount "x" not found'),
    ({"priorityClassName": "x"}, "no PriorityClass with name x was found"),
    (
        {"priority": 5},
        "the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the "
        "given PriorityClass name",
    ),
    (
        {"preemptionPolicy": "Never"},
        "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed "
        "PreemptLowerPriority from the given PriorityClass name",
    ),
    ({"runtimeClassName": "x"}, 'pod rejected: RuntimeClass "x" not found'),
    ({"overhead": {"cpu": "1"}}, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"),
    (
        {"affinity": ANTI_AFFINITY},
        "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed",
    ),
    (
        {"metadata": {"annotations": {"kubernetes.io/config.mirror": "1"}}, "serviceAccountName": "default"},
        "a mirror pod may not reference service accounts",
    ),
    (
        {"metadata": {"annotations": {"kubernetes.io/config.mirror": "1"}}, "imagePullSecrets": [{"name": "a"}]},
        "a mirror pod may not reference secrets",
    ),
]


@pytest.mark.parametrize(("spec", "why"), PODS_REFUSED, ids=[why[:30] for _, why in PODS_REFUSED])
async def test_pods_are_refused_in_upstreams_words(serve, make_pod, spec, why):
    server = serve(enabled=("LimitPodHardAntiAffinityTopology",))
    await server.namespace("t")
    status = await server.create("pods", make_pod(**spec))
    assert (status["code"], status["message"]) == (403, f'pods "p" is forbidden: {why}')


async def test_one_priority_class_is_the_default_and_pods_get_its_number(serve, make_pod):
    server = serve()
    await server.namespace("t")

    def priority_class(name):
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        return {**kind, "value": 7, "globalDefault": True}

    await server.create("priorityclasses", priority_class("high"), "scheduling.k8s.io")
    refused = await server.create("priorityclasses", priority_class("higher"), "scheduling.k8s.io")
    told = 'priorityclasses.scheduling.k8s.io "higher" is forbidden: PriorityClass high is already marked as default.'
    assert refused["message"] == f"{told} Only one default can exist"
    spec = (await server.create("pods", make_pod()))["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("high", 7)


# plugin/pkg/admission/runtimeclass/admission.go
async def test_a_runtime_class_brings_overhead_selector_and_tolerations(serve, make_pod):
    server = serve()
    await server.namespace("t")
    scheduling = {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "k", "operator": "Exists"}]}
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "r"}, "handler": "h"}
    runtime |= {"overhead": {"podFixed": {"cpu": "100m"}}, "scheduling": scheduling}
    await server.create("runtimeclasses", runtime, "node.k8s.io")
    spec = (await server.create("pods", make_pod(runtimeClassName="r")))["spec"]
    assert spec["overhead"] == {"cpu": "100m"}
    assert spec["nodeSelector"] == {"disk": "ssd"}
    assert {"key": "k", "operator": "Exists"} in spec["tolerations"]
    status = await server.create("pods", make_pod("q", runtimeClassName="r", nodeSelector={"disk": "tape"}))
    told = "conflict: runtimeClass.scheduling.nodeSelector[disk] = ssd; pod.spec.nodeSelector[disk] = tape"
    assert status["message"] == f'pods "q" is forbidden: {told}'
    status = await server.create("pods", make_pod("q", runtimeClassName="r", overhead={"cpu": "1"}))
    assert status["message"].endswith("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")


# plugin/pkg/admission/alwayspullimages/admission.go
async def test_images_are_always_pulled_where_that_is_wanted(serve, make_pod):
    server = serve(enabled=("AlwaysPullImages",))
    await server.namespace("t")
    init = [{"name": "i", "image": "x", "imagePullPolicy": "Never"}]
    volume = {"name": "v", "image": {"reference": "y", "pullPolicy": "IfNotPresent"}}
    spec = (await server.create("pods", make_pod(initContainers=init, volumes=[volume])))["spec"]
    assert {each["imagePullPolicy"] for each in (*spec["containers"], *spec["initContainers"])} == {"Always"}
    assert spec["volumes"][0]["image"]["pullPolicy"] == "Always"


# plugin/pkg/admission/extendedresourcetoleration/admission.go
async def test_who_asks_for_a_device_tolerates_its_taint(serve, make_pod):
    server = serve(enabled=("ExtendedResourceToleration",))
    await server.namespace("t")
    spec = (await server.create("pods", make_pod(container=NVIDIA)))["spec"]
    assert toleration("nvidia.com/gpu", "NoSchedule") in spec["tolerations"]


# plugin/pkg/admission/podnodeselector/admission.go
async def test_a_namespace_selects_the_nodes_of_its_pods(serve, make_pod):
    server = serve(enabled=("PodNodeSelector",))
    annotation = "scheduler.alpha.kubernetes.io/node-selector"
    await server.namespace("t", annotations={annotation: "env=a"})
    await server.namespace("wrong", annotations={annotation: "env"})
    assert (await server.create("pods", make_pod()))["spec"]["nodeSelector"] == {"env": "a"}
    status = await server.create("pods", make_pod("q", nodeSelector={"env": "b"}))
    told = "pod node label selector conflicts with its namespace node label selector"
    assert status["message"] == f'pods "q" is forbidden: {told}'
    status = await server.create("pods", make_pod(namespace="wrong"))
    assert (status["code"], status["message"]) == (500, "invalid selector: [env]")


# plugin/pkg/admission/podtolerationrestriction/admission.go
async def test_a_namespace_gives_tolerations_and_says_which_may_be(serve, make_pod):
    server = serve(enabled=("PodTolerationRestriction",), disabled=("DefaultTolerationSeconds",))
    default = '[{"key":"a","operator":"Exists","effect":"NoSchedule"}]'
    await server.namespace("t", annotations={"scheduler.alpha.kubernetes.io/defaultTolerations": default})
    narrow = {"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"}
    spec = (await server.create("pods", make_pod(tolerations=[narrow])))["spec"]
    assert spec["tolerations"] == [toleration("a", "NoSchedule")]
    await server.namespace("strict", annotations={"scheduler.alpha.kubernetes.io/tolerationsWhitelist": default})
    status = await server.create("pods", make_pod(namespace="strict", tolerations=[toleration("b")]))
    told = "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist"
    assert (status["code"], status["message"]) == (500, told)
    await server.namespace("odd", annotations={"scheduler.alpha.kubernetes.io/defaultTolerations": "xx"})
    status = await server.create("pods", make_pod(namespace="odd"))
    assert status["message"] == "invalid character 'x' looking for beginning of value"


# plugin/pkg/admission/podtopologylabels/admission.go
async def test_a_pod_learns_the_zone_of_its_node(serve, make_pod):
    server = serve()
    await server.namespace("t")
    zone = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {**zone, "other": "x"}}}
    await server.create("nodes", node)
    assert (await server.create("pods", make_pod(nodeName="n")))["metadata"]["labels"] == zone
    await server.create("pods", make_pod("q"))
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "q", "namespace": "t"}, "target": {"name": "n"}}
    binding["target"]["kind"] = "Node"
    await server.create("pods", binding, name="q", subresource="binding")
    assert (await server.get("pods", "q", "t"))["metadata"]["labels"] == zone


# plugin/pkg/admission/nodetaint/admission.go
async def test_a_new_node_is_not_ready(serve):
    server = serve()
    node = await server.create("nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


# plugin/pkg/admission/podresize/admission.go
async def test_a_pod_does_not_outgrow_its_node(serve, make_pod):
    server = serve()
    await server.namespace("t")
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "status": {"allocatable": {"cpu": "2", "memory": "2Gi"}},
    }
    await server.create("nodes", node)
    resources = {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    await server.create("pods", make_pod(nodeName="n", container=resources))
    await server.create("pods", make_pod("lost", nodeName="gone", container=resources))

    async def resize(name, cpu, memory):
        container = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
        patch = {"spec": {"containers": [container]}}
        return await server.patch("pods", name, patch, "t", patch_type="strategic", subresource="resize")

    status = await resize("p", "3", "5Gi")
    told = "cpu, requested: 3000, allocatable: 2000; memory, requested: 5368709120, allocatable: 2147483648"
    assert status["message"] == f'pods "p" is forbidden: node didn\'t have enough allocatable resources: {told}'
    assert status["details"]["causes"] == [{"reason": "NodeCapacity"}]
    assert (await resize("lost", "2", "1Gi"))["message"] == 'pods "lost" is forbidden: node "gone" not found'
    assert (await resize("p", "2", "2Gi"))["kind"] == "Pod"
