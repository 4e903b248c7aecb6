"""What is asked of whom, and what the answers mean. v1.36.4 pkg/controller/podautoscaler/horizontal.go, metrics/client.go;
staging/src/k8s.io/metrics/pkg/client."""

import asyncio

import pytest

from tiphys.api.core.services import SERVICES
from tiphys.api.metrics import POD_METRICS
from tiphys.controllers.autoscaler import asking, metrics
from tiphys.controllers.autoscaler.metrics import Answer, Failed, Followed, Question
from tiphys.controllers.autoscaler.replicas import Target, Tolerance
from tiphys.controllers.autoscaler.settings import AutoscalerSettings
from tiphys.machinery import errors, times

NOW = 1_700_000_000.0
STAMP = times.rfc3339(NOW)
KINDS = {("", "Service"): SERVICES}


def pod(number):
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": times.rfc3339(NOW - 9000)}
    status = {"phase": "Running", "startTime": times.rfc3339(NOW - 9000), "conditions": [condition]}
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}, {"name": "d"}]
    return {"metadata": {"name": f"p{number}"}, "spec": {"containers": containers[:1]}, "status": status}


def target(count=2):
    return Target(count, count, [pod(number) for number in range(count)], Tolerance(0.1, 0.1), AutoscalerSettings(), NOW)


def resource(name="cpu", container="", **wanted):
    place = {"name": name, "target": wanted}
    if container:
        return {"type": "ContainerResource", "containerResource": {**place, "container": container}}
    return {"type": "Resource", "resource": place}


def pods(**wanted):
    return {"type": "Pods", "pods": {"metric": {"name": "qps"}, "target": wanted}}


def about(kind="Service", name="web", **wanted):
    described = {"apiVersion": "v1", "kind": kind, "name": name}
    return {"type": "Object", "object": {"describedObject": described, "metric": {"name": "qps"}, "target": wanted}}


def external(selector=None, **wanted):
    metric = {"name": "queue", "selector": selector} if selector else {"name": "queue"}
    return {"type": "External", "external": {"metric": metric, "target": wanted}}


def used(number, *containers):
    listed = [{"name": name, "usage": usage} for name, usage in containers]
    return {"metadata": {"name": f"p{number}"}, "timestamp": STAMP, "window": "30s", "containers": listed}


def value(amount, name="p0", **more):
    return {"describedObject": {"kind": "Pod", "name": name}, "value": amount, "timestamp": STAMP, **more}


def paths(asked):
    return [
        "/".join(filter(None, (kind.group, kind.version, asked.namespace, kind.plural, asked.name, asked.subresource)))
        for kind in asked.kinds
    ]


def test_questions():
    asked = metrics.question(resource(), "ns", "app=web", KINDS)
    assert asked == Question("resource metrics API", (POD_METRICS,), "ns", params=(("labelSelector", "app=web"),))
    asked = metrics.question(pods(), "ns", "app=web", KINDS)
    assert paths(asked) == [f"custom.metrics.k8s.io/{version}/ns/pods/*/qps" for version in ("v1beta2", "v1beta1")]
    asked = metrics.question(about(), "ns", "", KINDS)
    assert paths(asked)[0] == "custom.metrics.k8s.io/v1beta2/ns/services/web/qps"
    asked = metrics.question(about("Namespace", "other"), "ns", "", KINDS)
    assert paths(asked)[0] == "custom.metrics.k8s.io/v1beta2/ns/metrics/qps"
    asked = metrics.question(external({"matchLabels": {"a": "b"}}), "ns", "", KINDS)
    assert paths(asked) == ["external.metrics.k8s.io/v1beta1/ns/queue"]
    assert asked.params == (("labelSelector", "a=b"),)
    assert metrics.question(about("Gadget"), "ns", "", KINDS) == (
        'unable to map kind Gadget to resource: no matches for kind "Gadget"'
    )


def test_resources():
    answer = Answer([used(0, ("c", {"cpu": "600m"}), ("d", {"cpu": "200m"})), used(1, ("c", {"cpu": "800m"}))])
    found = metrics.follow(resource(type="Utilization", averageUtilization=40), answer, "ns", target())
    current = {"averageUtilization": 80, "averageValue": "800m"}
    assert found == Followed(
        4,
        "cpu resource utilization (percentage of request)",
        {"type": "Resource", "resource": {"name": "cpu", "current": current}},
    )
    found = metrics.follow(resource(container="c", type="Utilization", averageUtilization=70), answer, "ns", target())
    place = {"name": "cpu", "container": "c", "current": {"averageUtilization": 70, "averageValue": "700m"}}
    assert found.status == {"type": "ContainerResource", "containerResource": place}
    assert found.name == "cpu container resource utilization (percentage of request)"
    memory = Answer([used(number, ("c", {"memory": "512Mi"})) for number in range(2)])
    found = metrics.follow(resource("memory", type="AverageValue", averageValue="256Mi"), memory, "ns", target())
    assert (found.replicas, found.name) == (4, "memory resource")
    assert found.status["resource"]["current"] == {"averageValue": "512Mi"}


def test_custom_figures():
    answer = Answer([value("20", "p0"), value("10500m", "p1", windowSeconds=30)])
    found = metrics.follow(pods(type="AverageValue", averageValue="5"), answer, "ns", target())
    assert (found.replicas, found.name) == (7, "pods metric qps")
    assert found.status == {"type": "Pods", "pods": {"metric": {"name": "qps"}, "current": {"averageValue": "15250m"}}}
    one = Answer([value("20", "web")])
    found = metrics.follow(about(type="Value", value="10"), one, "ns", target())
    assert (found.replicas, found.name) == (4, "Service metric qps")
    assert found.status["object"]["current"] == {"value": "20"}
    found = metrics.follow(about(type="AverageValue", averageValue="5"), one, "ns", target())
    assert (found.replicas, found.name) == (4, "external metric qps(nil)")
    assert found.status["object"]["current"] == {"averageValue": "10"}


def test_external_figures():
    answer = Answer([{"value": "8"}, {"value": "4"}])
    found = metrics.follow(external(type="Value", value="6"), answer, "ns", target())
    assert (found.replicas, found.status["external"]["current"]) == (4, {"value": "12"})
    selector = {"matchLabels": {"a": "b"}}
    found = metrics.follow(external(selector, type="AverageValue", averageValue="3"), answer, "ns", target())
    shown = "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}"
    assert (found.replicas, found.name) == (4, f"external metric queue({shown})")


@pytest.mark.parametrize(
    ("metric", "reason", "problem", "context"),
    [
        (
            resource(type="Utilization", averageUtilization=50),
            "FailedGetResourceMetric",
            "failed to get cpu utilization: unable to get metrics for resource cpu: "
            "unable to fetch metrics from resource metrics API: away",
            "failed to get cpu resource metric value: ",
        ),
        (
            resource(container="c", type="AverageValue", averageValue="1"),
            "FailedGetContainerResourceMetric",
            "failed to get cpu usage: unable to get metrics for resource cpu: "
            "unable to fetch metrics from resource metrics API: away",
            "failed to get c container metric value: ",
        ),
        (
            pods(averageValue="1"),
            "FailedGetPodsMetric",
            "unable to get metric qps: unable to fetch metrics from custom metrics API: away",
            "failed to get pods metric value: ",
        ),
        (
            about(type="Value", value="1"),
            "FailedGetObjectMetric",
            "unable to get metric qps: Service on ns web/unable to fetch metrics from custom metrics API: away",
            "failed to get object metric value: ",
        ),
        (
            external(type="Value", value="1"),
            "FailedGetExternalMetric",
            "failed to get external metric queue: unable to get external metric ns/queue/nil: "
            "unable to fetch metrics from external metrics API: away",
            "failed to get queue external metric value: ",
        ),
    ],
)
def test_refusals_in_upstreams_words(metric, reason, problem, context):
    found = metrics.follow(metric, Answer(problem="away"), "ns", target())
    assert found == Failed(reason, problem, context)
    assert metrics.summed([found], 2) == f"invalid metrics (1 invalid out of 2), first error is: {context}{problem}"


def test_tolerances():
    behavior = {"scaleUp": {"tolerance": "50m"}, "scaleDown": {}}
    assert metrics.tolerated(behavior, 0.1) == Tolerance(0.1, 0.05)
    assert metrics.tolerated(None, 0.2) == Tolerance(0.2, 0.2)


class Adapter:
    """An API server that serves one version of custom metrics, and refuses scales so many times."""

    def __init__(self, served="v1beta1", conflicts=0):
        self.served = served
        self.conflicts = conflicts
        self.written = []

    async def get(self, kind, name, namespace, *, subresource="", params=None):
        if subresource == "scale":
            return {"metadata": {"name": name, "namespace": namespace, "resourceVersion": str(self.conflicts)}, "spec": {}}
        if kind.version != self.served:
            raise errors.no_such_path()
        if name == "missing":
            raise errors.not_found(kind.group, kind.plural, name)
        return {"items": [value("1")]}

    async def update(self, kind, obj, *, subresource=""):
        if self.conflicts:
            self.conflicts -= 1
            raise errors.conflict("apps", "deployments", "web")
        self.written.append(obj["spec"]["replicas"])
        return obj


def ask(adapter, *questions):
    return asyncio.run(asking.measure(adapter, {"step": None, "questions": questions})).answers


def test_the_first_version_that_is_served_answers():
    asked = metrics.question(pods(), "ns", "", KINDS)
    assert ask(Adapter(), asked, "no such kind") == (Answer([value("1")]), Answer(problem="no such kind"))
    assert ask(Adapter("v1"), asked)[0].problem == "no custom metrics API (custom.metrics.k8s.io) registered"
    gone = metrics.question(about(name="missing"), "ns", "", KINDS)
    assert ask(Adapter("v1beta2"), gone)[0].problem == 'services.custom.metrics.k8s.io "missing" not found'


@pytest.mark.parametrize(("conflicts", "written"), [(0, [3]), (4, [3]), (5, [])])
def test_a_scale_that_others_write_too_is_tried_again(conflicts, written):
    adapter = Adapter(conflicts=conflicts)
    scale = {"metadata": {"name": "web", "namespace": "ns"}, "spec": {"replicas": 1}}
    done = asyncio.run(asking.rescale(adapter, {"step": None, "kind": SERVICES, "replicas": 3, "scale": scale}))
    assert adapter.written == written
    assert bool(done.problem) == (not written)
