"""A kubelet alone joins a cluster with a bootstrap token. It needs no container runtime for that, and no root."""

import asyncio
import json
import ssl
import subprocess
import sys
from contextlib import contextmanager
from subprocess import PIPE

import pytest
from tests.csr_signer import sign_all

from tiphys.api.core.nodes import NODES
from tiphys.base import tls, tls_requests
from tiphys.base.clock import RealClock
from tiphys.base.http.client import HttpClient
from tiphys.base.tls_context import client_context
from tiphys.client import kubeconfig
from tiphys.client.kubeconfig import Access
from tiphys.client.rest import RestClient
from tiphys.kubelet.certificates.files import Store
from tiphys.kubelet.certificates.wish import CLIENT_SIGNER, SERVING_SIGNER

pytestmark = pytest.mark.slow  # certificates are signed and renewed in real time

COMMAND = [sys.executable, "-m", "tiphys.cmd.main"]
SIGNERS = {CLIENT_SIGNER, SERVING_SIGNER}
CONFIG = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "rotateCertificates": True,
    "serverTLSBootstrap": True,
    "maxPods": 17,
    "registerWithTaints": [{"key": "new", "effect": "NoSchedule"}],
    "healthzPort": 0,
}


def test_a_node_joins_and_its_certificates_are_renewed(control_plane, tmp_path):
    data = ["--data-dir", str(control_plane)]
    made = subprocess.run([*COMMAND, "token", "create", *data], capture_output=True, text=True, check=True)
    admin = kubeconfig.resolve(kubeconfig.read(control_plane / "admin.kubeconfig"))
    authority = tls.load(control_plane / "pki" / "ca.crt", control_plane / "pki" / "ca.key")
    bootstrap = tmp_path / "bootstrap"
    first = Access(admin.server, admin.authority, token=made.stdout.strip())
    bootstrap.write_bytes(kubeconfig.render(kubeconfig.context_of("bootstrap", first)))
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps(CONFIG))
    flags = ["--kubeconfig", tmp_path / "kubeconfig", "--bootstrap-kubeconfig", bootstrap, "--config", config, "--port", "0"]
    flags += ["--root-dir", tmp_path / "root", "--pod-logs-dir", tmp_path / "logs", "--fail-swap-on=false"]
    flags += ["--hostname-override", "joined", "--node-ip", "127.0.0.1", "--max-pods=18"]
    flags += ["--container-runtime-endpoint", f"unix://{tmp_path}/nothing.sock"]

    async def scenario():
        client, clock = RestClient(admin), RealClock()
        try:
            async with asyncio.timeout(120):
                await _joined(client, clock)
        finally:
            await client.closed()

    async def _joined(client, clock):
        # The first of each have to be renewed at once.
        signed = []
        certificates = tmp_path / "root" / "pki"
        while len(signed) < 4:
            new = await sign_all(client, authority, clock.now(), 3600.0, due=SIGNERS - set(signed))
            signed += [each["spec"]["signerName"] for each in new]
            await asyncio.sleep(0.05)
        assert signed[0] == CLIENT_SIGNER
        assert sorted(signed) == [CLIENT_SIGNER] * 2 + [SERVING_SIGNER] * 2
        kept = [Store(certificates, f"kubelet-{side}") for side in ("client", "server")]
        while not all(_lasts(each, clock) for each in kept):  # noqa: ASYNC110 - files tell no events
            await asyncio.sleep(0.05)
        node = await _registered(client)
        assert (node["status"]["capacity"]["pods"], node["spec"]["taints"][0]["key"]) == ("18", "new")
        beat = next(each for each in node["status"]["conditions"] if each["type"] == "Ready")
        assert (beat["status"], beat["reason"]) == ("False", "KubeletNotReady")
        port = node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
        shown = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))
        assert tls_requests.said_by(shown.encode()).ends > clock.now() + 60
        presented = client_context([authority.certificate], admin.pair)
        server = HttpClient("127.0.0.1", port, ssl_context=presented)
        reply = await server.request("GET", "/healthz")
        assert (reply.status, reply.body) == (200, b"ok")
        await server.closed()
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await HttpClient("127.0.0.1", port, ssl_context=client_context([_other()])).request("GET", "/healthz")
        assert b"client-certificate:" in (tmp_path / "kubeconfig").read_bytes()

    with _kubelet(flags, tmp_path / "log") as kubelet:
        asyncio.run(scenario())
        assert kubelet.poll() is None, (tmp_path / "log").read_text()
    # It comes back without the token, by what it has.
    bootstrap.unlink()
    with _kubelet(flags, tmp_path / "log") as kubelet:
        assert kubelet.stdout.readline().startswith("Node joined works for")


async def _registered(client):
    while True:
        for node in (await client.list(NODES)).items:
            if node["metadata"]["name"] == "joined" and (node.get("status") or {}).get("conditions"):
                return node
        await asyncio.sleep(0.05)


@contextmanager
def _kubelet(flags, log):
    with log.open("a") as file, subprocess.Popen([*COMMAND, "kubelet", *flags], stdout=PIPE, stderr=file, text=True) as child:
        try:
            yield child
        finally:
            child.terminate()


def _lasts(store, clock):
    pair = store.load()
    return pair is not None and tls_requests.said_by(pair.certificate).ends > clock.now() + 60


def _other():
    return tls.make_authority("somebody else", now=RealClock().now()).certificate


def test_a_token_that_is_no_good_is_told_in_one_sentence(control_plane, tmp_path):
    admin = kubeconfig.resolve(kubeconfig.read(control_plane / "admin.kubeconfig"))
    bootstrap = tmp_path / "bootstrap"
    wrong = Access(admin.server, admin.authority, token="abcdef.0123456789abcdef")
    bootstrap.write_bytes(kubeconfig.render(kubeconfig.context_of("bootstrap", wrong)))
    flags = ["--kubeconfig", tmp_path / "kubeconfig", "--bootstrap-kubeconfig", bootstrap, "--root-dir", tmp_path / "root"]
    done = subprocess.run([*COMMAND, "kubelet", *flags, "--fail-swap-on=false"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "error: this node cannot join: Unauthorized"
