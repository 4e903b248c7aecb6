"""What a kubelet tells, and whom (v1.36.4 pkg/kubelet/server/server.go, auth.go)."""

import asyncio

import orjson
import pytest

from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.api.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from tiphys.api.rbac.clusterroles import CLUSTER_ROLES
from tiphys.base import metrics_text
from tiphys.base.http.client import HttpClient
from tiphys.base.tls_context import client_context
from tiphys.kubelet.node.facts import hostname

pytestmark = [pytest.mark.root, pytest.mark.slow]  # containers take their time

WORK = "i=0; while [ $i -lt 4000 ]; do echo line $i; i=$((i+1)); done; while true; do echo more; sleep 0.2; done"


def pod():
    container = {"name": "c", "image": "busybox:test", "imagePullPolicy": "IfNotPresent", "command": ["sh", "-c", WORK]}
    container |= {"volumeMounts": [{"name": "v", "mountPath": "/v"}], "resources": {"limits": {"memory": "64Mi"}}}
    spec = {"nodeName": hostname(), "containers": [container], "terminationGracePeriodSeconds": 0}
    spec |= {"automountServiceAccountToken": False, "volumes": [{"name": "v", "emptyDir": {}}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "told", "namespace": "default"}, "spec": spec}


class Server:
    """The kubelet's, as one user sees it."""

    def __init__(self, port, pair=None, token=""):
        self._http = HttpClient("127.0.0.1", port, ssl_context=client_context((), pair, insecure=True))
        self._headers = (("Authorization", f"Bearer {token}"),) if token else ()

    async def get(self, path):
        reply = await self._http.request("GET", path, self._headers)
        return reply.status, reply.body

    async def text(self, path):
        status, body = await self.get(path)
        assert status == 200, body
        return body.decode()

    async def tree(self, path):
        return orjson.loads(await self.text(path))

    async def closed(self):
        await self._http.closed()


async def until(look):
    while not (found := await look()):  # noqa: ASYNC110 - a server is asked, which tells no events
        await asyncio.sleep(0.1)
    return found


@pytest.fixture(scope="module")
def small_logs(cluster):
    with cluster.node("--container-log-max-size=16Ki", "--container-log-max-files=3", "--config", _config(cluster)):
        cluster.import_image()
        yield cluster


def _config(cluster):
    file = cluster.folder / "kubelet.json"
    settings = {"containerLogMonitorInterval": "200ms", "authorization": {"webhook": {"cacheUnauthorizedTTL": "1ms"}}}
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    file.write_bytes(orjson.dumps(head | settings))
    return str(file)


def test_what_a_kubelet_tells_and_whom(small_logs):
    async def scenario(client):
        node = await client.get(NODES, hostname())
        port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
        made = await client.create(PODS, pod(), "default")
        server = Server(port, small_logs.access.pair)

        async def counted():
            pods = (await server.tree("/stats/summary"))["pods"]
            mine = [each for each in pods if each["podRef"]["name"] == "told"]
            return mine[0] if mine and all(mine[0].get(each) for each in ("containers", "network", "volume")) else None

        found = await until(counted)
        container = found["containers"][0]
        assert found["podRef"]["uid"] == made["metadata"]["uid"]
        assert 0 < container["memory"]["workingSetBytes"] < 64 << 20
        assert container["memory"]["availableBytes"] + container["memory"]["workingSetBytes"] == 64 << 20
        assert container["cpu"]["usageCoreNanoSeconds"] > 0
        assert found["network"]["interfaces"][0]["name"] == "eth0"
        assert found["volume"][0]["name"] == "v"
        await figures(server)
        await nobody_else(client, port)
        await logs_begin_anew(server, made)
        await client.delete(PODS, "told", "default")
        await server.closed()

    async def counted_as_told(server):
        """Beside what other tests have left on the node."""
        told = list(metrics_text.samples(await server.text("/metrics")))
        running = [each["metadata"]["name"] for each in (await server.tree("/runningpods/"))["items"]]
        return "told" in running and [each.value for each in told if each.name == "kubelet_running_pods"] == [len(running)]

    async def figures(server):
        labels = {"container": "c", "pod": "told", "namespace": "default"}
        told = list(metrics_text.samples(await server.text("/metrics/resource")))
        assert [each.value > 0 for each in told if each.name == "container_memory_working_set_bytes" and each.labels == labels]
        assert [each.value for each in told if each.name == "scrape_error"] == [0]
        told = list(metrics_text.samples(await server.text("/metrics/cadvisor")))
        assert [each for each in told if each.name == "container_fs_usage_bytes" and each.labels["pod"] == "told"]
        told = list(metrics_text.samples(await server.text("/metrics")))
        called = {each.labels["operation_type"] for each in told if each.name == "kubelet_runtime_operations_total"}
        assert {"run_podsandbox", "create_container", "list_podsandbox"} <= called
        config = (await server.tree("/configz"))["kubeletconfig"]
        assert (config["containerLogMaxSize"], config["maxPods"]) == ("16Ki", 110)
        assert "\nkubelet statusz\n" in await server.text("/statusz")
        assert "\nhostname-override" in await server.text("/flagz")
        await until(lambda: counted_as_told(server))
        assert (await server.get("/healthz/syncloop"))[0] == 200
        assert (await server.get("/nothing"))[0] == 404
        assert b"CRIU" in (await server.get("/checkpoint/default/told/c"))[1]

    async def nobody_else(client, port):
        nobody = Server(port)
        assert await nobody.get("/pods") == (401, b"Unauthorized")
        await nobody.closed()
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader", "namespace": "default"}}
        await client.create(SERVICE_ACCOUNTS, account, "default")
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = await client.create(SERVICE_ACCOUNTS, asked, "default", name="reader", subresource="token")
        reader = Server(port, token=token["status"]["token"])
        name = "system:serviceaccount:default:reader"
        told = f"Forbidden (user={name}, verb=get, resource=nodes, subresource(s)=[pods proxy])\n"
        assert await reader.get("/pods") == (403, told.encode())
        # The fine-grained right is enough: https://kubernetes.io/docs/reference/access-authn-authz/kubelet-authn-authz/
        rules = [{"apiGroups": [""], "resources": ["nodes/pods"], "verbs": ["get"]}]
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reader"}}
        await client.create(CLUSTER_ROLES, {**role, "rules": rules})
        subject = {"kind": "ServiceAccount", "name": "reader", "namespace": "default"}
        bound = {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"}}
        await client.create(CLUSTER_ROLE_BINDINGS, {**role, "kind": "ClusterRoleBinding", **bound, "subjects": [subject]})

        async def allowed():
            return (await reader.get("/pods"))[0] == 200

        await until(allowed)
        assert (await reader.get("/stats/summary"))[0] == 403
        await reader.closed()

    async def logs_begin_anew(server, made):
        meta = made["metadata"]
        folder = small_logs.folder / "node" / "logs" / f"default_told_{meta['uid']}" / "c"

        async def several():
            return len(list(folder.iterdir())) > 1

        async def written():
            return "more" in await server.text("/containerLogs/default/told/c?tailLines=1")

        await until(several)
        # What is written from now on is in the new file.
        await until(written)
        assert any(each.name.startswith("0.log.") for each in folder.iterdir())

    small_logs.run(scenario)
