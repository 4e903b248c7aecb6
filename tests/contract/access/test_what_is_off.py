"""What --runtime-config turns off is not there: a live v1.36.4 kube-apiserver has answered so for the same paths."""

import asyncio

import pytest

from tiphys.api.registry import KINDS
from tiphys.apiserver.enablement import parse, read

NO_PAGE, NO_RESOURCE = "404 page not found\n", "the server could not find the requested resource"


@pytest.mark.parametrize(
    ("turned_off", "path", "message"),
    [
        ("apps/v1", "/apis/apps", NO_PAGE),
        ("apps/v1", "/apis/apps/v1", NO_PAGE),
        ("apps/v1", "/apis/apps/v1/deployments", NO_PAGE),
        ("apps/v1/daemonsets", "/apis/apps/v1/daemonsets", NO_RESOURCE),
        ("apps/v1/daemonsets", "/apis/apps/v1/namespaces/default/daemonsets/x", NO_RESOURCE),
        ("apps/v1/daemonsets", "/apis/apps/v1/namespaces/default/deployments/x", 'deployments.apps "x" not found'),
        ("autoscaling/v1", "/apis/autoscaling/v1/horizontalpodautoscalers", NO_RESOURCE),
    ],
)
def test_paths(opened, turned_off, path, message):
    async def whole():
        async with opened(settings={"enablement": read({turned_off: "false"}, KINDS)}) as served:
            status, answer = await served.ask(path, "root")
            assert (status, answer["message"] if isinstance(answer, dict) else answer) == (404, message)

    asyncio.run(whole())


def test_nobody_tells_of_it(opened):
    off = "apps/v1=false,autoscaling/v1=false,batch/v1/cronjobs=false,discovery.k8s.io/v1=false,scheduling.k8s.io/v1=false"

    async def whole():
        async with opened(settings={"enablement": read(parse(off), KINDS)}) as served:
            _, groups = await served.ask("/apis", "root")
            versions = {each["groupVersion"] for group in groups["groups"] for each in group["versions"]}
            assert {"autoscaling/v2", "batch/v1"} < versions
            assert not versions & {"apps/v1", "autoscaling/v1", "discovery.k8s.io/v1", "scheduling.k8s.io/v1"}
            _, services = await served.ask("/apis/apiregistration.k8s.io/v1/apiservices", "root")
            names = {each["metadata"]["name"] for each in services["items"]}
            assert "v1.batch" in names
            assert not names & {"v1.apps", "v1.autoscaling", "v1.scheduling.k8s.io"}
            _, resources = await served.ask("/apis/batch/v1", "root")
            assert {each["name"] for each in resources["resources"]} == {"jobs", "jobs/status"}
            _, described = await served.ask("/openapi/v2", "root")
            assert "/apis/batch/v1/jobs" in described["paths"]
            assert not any(path.startswith(("/apis/apps", "/apis/batch/v1/cronjobs")) for path in described["paths"])
            _, roots = await served.ask("/openapi/v3", "root")
            assert "apis/apps/v1" not in roots["paths"]

    asyncio.run(whole())
