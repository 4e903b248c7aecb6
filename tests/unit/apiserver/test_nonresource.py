"""Discovery, health and the other documents, as clients see them.

Recorded from kube-apiserver v1.36.4; the code is apiserver/pkg/endpoints/discovery/aggregated, apiserver/pkg/server/healthz and
kube-openapi pkg/handler3.
"""

import pytest
from tests.cluster import NOBODY_TOKEN
from tests.wire import Wire, converse

from tiphys.base.http.messages import Response

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
BETA = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"


def test_discovery_is_told_as_asked():
    async def scenario(wire: Wire) -> None:
        for path, accept, status, kind in (
            ("/apis", "", 200, "APIGroupList"),
            ("/apis", AGGREGATED, 200, "APIGroupDiscoveryList"),
            ("/apis", AGGREGATED + ";profile=nopeer,application/json", 200, "APIGroupDiscoveryList"),
            ("/apis", "application/vnd.kubernetes.protobuf;as=X," + AGGREGATED + ";q=0.5", 200, "APIGroupDiscoveryList"),
            ("/apis", BETA, 406, "Status"),
            ("/apis", BETA + ",application/json;q=0.9", 200, "APIGroupList"),
            ("/apis", "application/xml", 406, "Status"),
            ("/apis/apps/v1", AGGREGATED, 406, "Status"),
            ("/api", "*/*", 200, "APIVersions"),
            ("/apis/apps/v2", "", 404, "Status"),
        ):
            answered = await wire("GET", path, accept=accept)
            assert (answered.status, answered.tree["kind"]) == (status, kind), (path, accept)
        assert (await wire("GET", "/apis/foo")).text == "404 page not found\n"
        assert (await wire("HEAD", "/api")).status == 405
        assert (await wire("GET", "/apis/apps", accept="application/yaml")).text == (
            "apiVersion: v1\nkind: APIGroup\nname: apps\npreferredVersion:\n  groupVersion: apps/v1\n  version: v1\n"
            "versions:\n- groupVersion: apps/v1\n  version: v1\n"
        )

    converse(scenario)


def test_documents_that_are_kept_by_clients():
    async def scenario(wire: Wire) -> None:
        for path, accept in (("/apis", AGGREGATED), ("/openapi/v3/apis/apps/v1", "")):
            first = await wire("GET", path, accept=accept)
            tag = first.header("ETag")[0]
            again = await wire("GET", path, accept=accept, headers={"if-none-match": tag})
            assert (again.status, again.body, again.media) == (304, b"", "")
        assert first.header("ETag") == again.header("ETag")
        assert (await wire("GET", "/apis")).header("ETag") == []
        url = (await wire("GET", "/openapi/v3")).tree["paths"]["api/v1"]["serverRelativeURL"]
        assert (await wire("GET", url)).header("Cache-Control") == ["public, immutable"]
        moved = await wire("GET", "/openapi/v3/api/v1?hash=x")
        assert (moved.status, moved.header("Location")) == (301, [url])

    converse(scenario)


def test_fields_say_what_they_can_hold():
    # The enum markers of the types; kubectl explain shows them.
    async def scenario(wire: Wire) -> None:
        schemas = (await wire("GET", "/openapi/v3/api/v1")).tree["components"]["schemas"]
        container = schemas["io.k8s.api.core.v1.Container"]["properties"]
        assert container["imagePullPolicy"]["enum"] == ["Always", "IfNotPresent", "Never"]
        assert schemas["io.k8s.api.core.v1.ServiceSpec"]["properties"]["ipFamilies"]["items"]["enum"] == ["", "IPv4", "IPv6"]
        assert {"io.k8s.api.autoscaling.v1.Scale", "io.k8s.api.policy.v1.Eviction"} <= schemas.keys()

    converse(scenario)


def test_health():
    async def scenario(wire: Wire) -> None:
        # Nobody has told this server that its first objects are there.
        late = "exclude=poststarthook/rbac/bootstrap-roles&exclude=poststarthook/scheduling/bootstrap-system-priority-classes"
        assert (await wire("GET", "/livez")).status == 500
        assert (await wire("GET", f"/livez?{late}")).text == "ok"
        assert (await wire("GET", "/livez/ping?verbose")).text == "ok"
        assert (await wire("POST", f"/livez?{late}")).status == 200
        assert (await wire("GET", "/livez/nope")).text == "404 page not found\n"
        told = (await wire("GET", f"/livez?verbose&exclude=ping&exclude=nope&{late}")).text
        assert told.startswith("[+]ping excluded: ok\n[+]log ok\n")
        assert told.endswith('warn: some health checks cannot be excluded: no matches for "nope"\nlivez check passed\n')

    converse(scenario)


@pytest.mark.differs(
    "has no path `/explain`.",
    "parts of the cluster say below it why they decided as they did: `tiphys why` asks there.",
)
def test_explanations_are_for_those_who_may_read_them():

    async def explain(path: str, query: str) -> Response:
        return Response(200, f"{path}?{query}".encode())

    async def scenario(wire: Wire) -> None:
        path = "/explain/scheduling/default/web?nodes=3"
        assert (await wire("GET", path)).text == "404 page not found\n"
        wire.cluster.server.explainers["scheduling"] = explain
        assert (await wire("GET", path)).text == "default/web?nodes=3"
        assert (await wire("POST", path)).status == 405
        assert (await wire("GET", "/explain/other/default/web")).status == 404
        assert "/explain/scheduling" in (await wire("GET", "/")).tree["paths"]
        assert (await wire("GET", path, token=NOBODY_TOKEN)).status == 403
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "tiphys:explainer"}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}
        binding = {"metadata": {"name": "alice"}, "roleRef": reference, "subjects": [subject]}
        assert (await wire("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)).status == 201
        await wire.cluster.settle()
        assert (await wire("GET", path, token=NOBODY_TOKEN)).status == 200

    converse(scenario)
