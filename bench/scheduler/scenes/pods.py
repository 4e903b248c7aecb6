"""Pods of a scene: those that are there, and the one for which a node is wanted."""

from bench.scheduler.scenes import between_pods
from bench.scheduler.scenes.between_pods import APPS, NAMESPACES, TRACKS
from bench.scheduler.scenes.chance import Chance
from bench.scheduler.scenes.nodes import EFFECTS, HOST, IMAGES, TAINTS, ZONE, name
from tiphys.machinery.tree import Obj

PRIORITIES = (0, 10, 10, 100, 1000)


def pod(chance: Chance, title: str) -> Obj:
    """Without a node or volumes."""
    app = chance.pick(APPS)
    labels = {"app": app, "track": chance.pick(TRACKS)}
    if chance.one_in(10):
        labels = {}
    elif chance.one_in(5):
        labels["grade"] = "a"
    spec: Obj = {"schedulerName": "default-scheduler", **_containers(chance)}
    affinity = between_pods.affinity(chance, app)
    if node_affinity := _node_affinity(chance):
        affinity["nodeAffinity"] = node_affinity
    if affinity:
        spec["affinity"] = affinity
    if constraints := between_pods.spread(chance, app):
        spec["topologySpreadConstraints"] = constraints
    if chance.has("selector"):
        spec["nodeSelector"] = {"disk": chance.pick(("ssd", "hdd", "", "tape"))}
    if chance.has("tolerations"):
        spec["tolerations"] = [_toleration(chance) for _ in range(chance.between(1, 2))]
    if chance.often("priorities"):
        spec["priority"] = chance.pick(PRIORITIES)
        if chance.one_in(8):
            spec["preemptionPolicy"] = "Never"
    if chance.has("gates"):
        spec["schedulingGates"] = [{"name": each} for each in chance.some(("example.com/a", "b"))]
    metadata: Obj = {"name": title, "namespace": _namespace(chance), "uid": f"uid-{title}", "labels": labels}
    if chance.has("owner"):
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": f"uid-{app}", "controller": True}
        metadata["ownerReferences"] = [owner]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def _namespace(chance: Chance) -> str:
    return chance.pick(tuple(NAMESPACES)) if chance.has("namespaces") else "default"


def placed(chance: Chance, made: Obj, node: str, taken: set[tuple[str, str, int]]) -> Obj:
    """As it would be if it ran there for some time. `taken`: ports of nodes, which only one pod can have."""
    made["spec"].pop("schedulingGates", None)
    for container in (*made["spec"]["containers"], *made["spec"].get("initContainers", ())):
        ports = {(node, each["protocol"], each["hostPort"]) for each in container.get("ports", ())}
        if ports & taken:
            del container["ports"]
        taken |= ports
    made["spec"]["nodeName"] = node
    # No two at the same moment: which of them matters more would be anybody's guess.
    number = int(made["metadata"]["name"].rpartition("-")[2])
    made["status"] = {"phase": "Running", "startTime": f"2026-01-01T00:{chance.between(10, 50)}:{number:02}Z"}
    if chance.one_in(25):
        made["metadata"]["deletionTimestamp"] = "2026-01-01T00:10:00Z"
        made["metadata"]["deletionGracePeriodSeconds"] = 30
        made["metadata"]["finalizers"] = ["example.com/wait"]
        if chance.one_in(2):
            made["status"]["conditions"] = [
                {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "away"}
            ]
    return made


def _containers(chance: Chance) -> Obj:
    crowded = chance.often("crowded")
    spec: Obj = {"containers": [_container(chance, f"c{at}", crowded) for at in range(1 if chance.one_in(1.5) else 2)]}
    if chance.has("starters"):
        starters = [_container(chance, f"i{at}", crowded) for at in range(chance.between(1, 3))]
        for each in starters:
            if chance.one_in(2):
                each["restartPolicy"] = "Always"
        spec["initContainers"] = starters
    if chance.has("overhead"):
        spec["overhead"] = {"cpu": "250m", "memory": "120Mi"}
    if chance.has("pod level"):
        asked = {"cpu": "2", "memory": "2Gi"}
        requests = {key: asked[key] for key in chance.some(("cpu", "memory"))}
        for each in (*spec["containers"], *spec.get("initContainers", ())):
            small = {"cpu": "100m", "memory": "64Mi"}
            kept = {key: small.get(key, value) for key, value in each["resources"]["requests"].items()}
            each["resources"]["requests"] = kept
        spec["resources"] = {"requests": requests}
    return spec


def _container(chance: Chance, title: str, crowded: bool) -> Obj:
    requests: dict[str, str] = {}
    if not chance.one_in(5):
        requests["cpu"] = chance.pick(("500m", "1", "2", "1500m") if crowded else ("50m", "100m", "250m", "1"))
    if not chance.one_in(5):
        requests["memory"] = chance.pick(("512Mi", "1Gi", "2Gi") if crowded else ("64Mi", "200Mi", "300M", "1Gi"))
    if chance.has("storage"):
        requests["ephemeral-storage"] = chance.pick(("500Mi", "2Gi"))
    limits: dict[str, str] = {}
    if chance.has("extended"):
        limits["example.com/gpu"] = chance.pick(("1", "2", "0"))
    if chance.has("extended") and requests:
        limits["hugepages-2Mi"] = chance.pick(("16Mi", "128Mi"))
    container: Obj = {
        "name": title,
        "image": f"example.com/{each}" if ":5000" not in (each := chance.pick(IMAGES)) else each,
        "resources": {"requests": {**requests, **limits}, **({"limits": limits} if limits else {})},
    }
    if chance.has("ports"):
        port: Obj = {"containerPort": 80, "hostPort": chance.pick((8000, 8001)), "protocol": chance.pick(("TCP", "TCP", "UDP"))}
        if chance.one_in(2):
            port["hostIP"] = chance.pick(("127.0.0.1", "10.0.0.1", "0.0.0.0"))
        container["ports"] = [port]
    return container


def _toleration(chance: Chance) -> Obj:
    key, value = chance.pick(TAINTS)
    shape: Obj = chance.pick(
        (
            {"key": key, "operator": "Exists"},
            {"key": key, "operator": "Equal", "value": value},
            {"key": key, "operator": "Equal", "value": "red"},
            {"operator": "Exists"},
            {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
        )
    )
    return shape if chance.one_in(3) else {**shape, "effect": chance.pick(EFFECTS)}


def _node_affinity(chance: Chance) -> Obj:
    found: Obj = {}
    if chance.has("required nodes") or chance.has("fields"):
        terms = [_node_term(chance) for _ in range(chance.between(1, 2))]
        found["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if chance.has("preferred nodes"):
        found["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": chance.between(1, 100), "preference": _node_term(chance)} for _ in range(chance.between(1, 3))
        ]
    return found


def _node_term(chance: Chance) -> Obj:
    conditions: tuple[Obj, ...] = (
        {"key": "rank", "operator": "Gt", "values": ["3"]},
        {"key": "rank", "operator": "Lt", "values": ["5"]},
        {"key": "rank", "operator": "NotIn", "values": ["1", "2"]},
        {"key": ZONE, "operator": "DoesNotExist"},
        {"key": ZONE, "operator": "Exists"},
        {"key": "disk", "operator": "In", "values": ["ssd", ""]},
        {"key": HOST, "operator": "NotIn", "values": [name(0), name(1)]},
        {"key": "absent", "operator": "NotIn", "values": ["x"]},
    )
    term: Obj = {}
    if chance.has("fields"):
        operator = chance.pick(("In", "In", "NotIn"))
        term["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [name(chance.below(8))]}]
    if not term or chance.one_in(3):
        term["matchExpressions"] = chance.some(conditions, 1, 2)
    return term
