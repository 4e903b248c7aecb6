"""A Deployment is rolled while its Service is used all the time: nobody notices.

https://kubernetes.io/docs/tutorials/services/pods-and-endpoint-termination-flow/
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.nodes import IMAGE, TIPHYS, inside, run, up

from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.core.pods import PODS
from tiphys.api.core.services import SERVICES
from tiphys.client import kubeconfig
from tiphys.client.rest import RestClient

pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,  # containers, namespaces
    pytest.mark.skipif(os.geteuid() != 0, reason="real containers need root"),
]

HERE = Path(__file__).parents[3]
LABELS = {"app": "web"}
COUNT = 3


def deployment():
    container = {
        "name": "c",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": ["sh", "-c", "echo hello > /index.html; exec httpd -f -p 8080 -h /"],
        # Whoever still goes by the old rules is answered.
        "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
        "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1},
    }
    pod = {"metadata": {"labels": LABELS}, "spec": {"terminationGracePeriodSeconds": 8, "containers": [container]}}
    spec = {"replicas": COUNT, "selector": {"matchLabels": LABELS}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


async def rolled(client):
    """All pods are of the present template and can be reached, and those of earlier ones are gone."""
    async with asyncio.timeout(240):
        while True:
            found = await client.get(DEPLOYMENTS, "web", "default")
            status = found.get("status") or {}
            counts = [status.get(each, 0) for each in ("replicas", "updatedReplicas", "availableReplicas")]
            pods = (await client.list(PODS, "default")).items
            if (
                status.get("observedGeneration") == found["metadata"]["generation"]
                and counts == [COUNT] * 3
                and len(pods) == COUNT
            ):
                return {each["metadata"]["name"] for each in pods}
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("mode", ["nftables", "iptables"])
def test_no_request_is_lost(tmp_path, mode):
    folder = tmp_path / "c"

    async def scenario(client):
        await client.create(DEPLOYMENTS, deployment(), "default")
        spec = {"selector": LABELS, "ports": [{"port": 80, "targetPort": 8080}]}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}
        address = (await client.create(SERVICES, service, "default"))["spec"]["clusterIP"]
        before = await rolled(client)
        # A machine that is busy with other things may be slow; what counts is that every request is answered.
        command = [
            *inside(folder, 1),
            sys.executable,
            "-m",
            "bench.steady",
            f"{address}:80",
            "--rate",
            "100",
            "--patience",
            "60",
        ]
        environment = {**os.environ, "PYTHONPATH": f"{HERE / 'src'}:{HERE}"}
        load = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, env=environment)
        try:
            template = {"metadata": {"annotations": {"again": "1"}}}
            await client.patch(DEPLOYMENTS, "web", {"spec": {"template": template}}, "default")
            assert not before & await rolled(client)
        finally:
            load.terminate()
            said, _ = await load.communicate()
        told = json.loads(said)
        assert told["lost"] == {}
        assert told["answered"] == told["sent"] > 100

    async def main():
        client = RestClient(kubeconfig.resolve(kubeconfig.read(folder / "admin.kubeconfig")))
        try:
            await scenario(client)
        finally:
            await client.closed()

    up(folder, "--proxy-mode", mode)
    try:
        asyncio.run(main())
    finally:
        run(*TIPHYS, "down", "--data-dir", folder)
