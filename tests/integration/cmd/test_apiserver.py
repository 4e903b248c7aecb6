"""`tiphys apiserver` with everything given by flags, as an installer of clusters gives it, on a real etcd."""

import http.client
import json
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.etcd import Etcd

from tiphys.base import tls
from tiphys.base.clock import RealClock
from tiphys.base.tls import Subject

pytestmark = [
    pytest.mark.slow,
    pytest.mark.etcd,
    pytest.mark.skipif(shutil.which("etcd") is None, reason="there is no etcd on this machine"),
]


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    running = Etcd(tmp_path_factory.mktemp("etcd"))
    running.start()
    yield running.client
    running.stop()


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Authorities, certificates and keys as files, each made for one purpose."""
    folder, now = tmp_path_factory.mktemp("pki"), RealClock().now()
    authority = tls.make_authority("cluster", now=now)
    proxies = tls.make_authority("proxies", now=now)
    (folder / "ca.crt").write_bytes(authority.certificate)
    (folder / "proxy-ca.crt").write_bytes(proxies.certificate)
    (folder / "sa.key").write_bytes(tls.make_signing_key("RS256"))
    (folder / "old-sa.key").write_bytes(tls.make_signing_key("ES256"))
    issued = {
        "server": tls.issue(authority, Subject("kube-apiserver"), ["server"], now=now, names=["127.0.0.1", "localhost"]),
        "admin": tls.issue(authority, Subject("boss", ("system:masters",)), ["client"], now=now, names=[]),
        "reader": tls.issue(authority, Subject("reader"), ["client"], now=now, names=[]),
        "proxy": tls.issue(proxies, Subject("front"), ["client"], now=now, names=[]),
    }
    for name, pair in issued.items():
        tls.save(pair, folder / f"{name}.crt", folder / f"{name}.key")
    return folder


@contextmanager
def apiserver(pki: Path, etcd: str, *more: str, ending: Callable[[int], None] | None = None) -> Iterator[int]:
    """The port of one that runs without any data directory. `ending`: what to do while it has been told to stop."""
    command = [sys.executable, "-m", "tiphys.cmd.main", "apiserver", f"--etcd-servers={etcd}", "--secure-port=0"]
    command += ["--bind-address=127.0.0.1", "--data-dir=/does/not/exist", f"--client-ca-file={pki / 'ca.crt'}"]
    command += [f"--tls-cert-file={pki / 'server.crt'}", f"--tls-private-key-file={pki / 'server.key'}"]
    command += ["--service-account-issuer=https://issuer.example.com", f"--service-account-signing-key-file={pki / 'sa.key'}"]
    command += [f"--service-account-key-file={pki / 'sa.key'}", f"--service-account-key-file={pki / 'old-sa.key'}"]
    command += ["--service-cluster-ip-range=10.3.0.0/24", "--api-audiences=here", *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        serving = process.stdout.readline()
        assert serving.startswith("Serving on https://127.0.0.1:"), serving
        yield int(serving.rpartition(":")[2])
        process.send_signal(signal.SIGTERM)
        if ending is not None:
            ending(int(serving.rpartition(":")[2]))
            assert process.poll() is None
            process.kill()
        assert process.wait(60) == (0 if ending is None else -signal.SIGKILL)


def page(pki: Path, port: int, path: str) -> tuple[int, str]:
    context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=20)
    connection.request("GET", path)
    answer = connection.getresponse()
    read = answer.read().decode()
    connection.close()
    return answer.status, read


def ask(pki: Path, port: int, who: str, path: str, method: str = "GET", tree: dict | None = None, **headers: str):
    context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    if who:
        context.load_cert_chain(pki / f"{who}.crt", pki / f"{who}.key")
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
    body = json.dumps(tree) if tree is not None else None
    connection.request(method, path, body, {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    read = json.loads(answer.read())
    connection.close()
    return answer.status, read


WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


def test_flags_of_an_installer(pki, etcd):
    flags = ["--authorization-mode=Node,RBAC", f"--requestheader-client-ca-file={pki / 'proxy-ca.crt'}"]
    flags += ["--requestheader-allowed-names=front", "--requestheader-username-headers=X-Remote-User"]
    with apiserver(pki, etcd, *flags) as port:
        assert ask(pki, port, "admin", "/api/v1/namespaces")[0] == 200
        refused, told = ask(pki, port, "reader", "/api/v1/secrets")
        assert (refused, told["reason"]) == (403, "Forbidden")
        assert ask(pki, port, "", "/api/v1/secrets")[0] == 403

        code, review = ask(pki, port, "proxy", WHO, "POST", REVIEW, **{"X-Remote-User": "visitor", "X-Remote-Group": "guests"})
        assert (code, review["status"]["userInfo"]["username"]) == (201, "visitor")
        assert "guests" in review["status"]["userInfo"]["groups"]
        # Only the proxy's own authority vouches for it.
        code, review = ask(pki, port, "reader", WHO, "POST", REVIEW, **{"X-Remote-User": "visitor"})
        assert (code, review["status"]["userInfo"]["username"]) == (201, "reader")

        _, keys = ask(pki, port, "admin", "/openid/v1/jwks")
        assert sorted(each["kty"] for each in keys["keys"]) == ["EC", "RSA"]
        _, document = ask(pki, port, "admin", "/.well-known/openid-configuration")
        assert document["issuer"] == "https://issuer.example.com"

        _, service = ask(pki, port, "admin", "/api/v1/namespaces/default/services/kubernetes")
        assert service["spec"]["clusterIP"] == "10.3.0.1"
        _, known = ask(pki, port, "admin", "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")
        assert known["data"]["requestheader-client-ca-file"] == (pki / "proxy-ca.crt").read_text()
        assert json.loads(known["data"]["requestheader-allowed-names"]) == ["front"]


def test_two_servers_on_one_etcd(pki, etcd):
    collection = "/api/v1/namespaces/default/configmaps"
    with apiserver(pki, etcd, "--authorization-mode=RBAC") as one, apiserver(pki, etcd, "--authorization-mode=RBAC") as two:
        made, told = ask(pki, one, "admin", collection, "POST", {"metadata": {"name": "shared"}})
        assert made == 201, told
        code, read = ask(pki, two, "admin", f"{collection}/shared")
        assert (code, read["metadata"]["uid"]) == (200, told["metadata"]["uid"])
        assert ask(pki, two, "admin", f"{collection}/shared", "DELETE")[0] == 200
        assert ask(pki, one, "admin", f"{collection}/shared")[0] == 404


def test_always_allow_knows_nobody_without_a_credential(pki, etcd):
    # v1.36 pkg/kubeapiserver/options/authentication.go: AnonymousAuth is not allowed with the AlwaysAllow authorizer.
    with apiserver(pki, etcd) as port:
        assert ask(pki, port, "", "/api/v1/secrets")[0] == 401
        assert ask(pki, port, "reader", "/api/v1/secrets")[0] == 200


def test_abac(pki, etcd, tmp_path):
    policy = {"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy"}
    spec = {"user": "reader", "namespace": "*", "resource": "pods", "apiGroup": "*", "readonly": True}
    file = tmp_path / "policies"
    file.write_text(json.dumps({**policy, "spec": spec}) + "\n")
    with apiserver(pki, etcd, "--authorization-mode=ABAC", f"--authorization-policy-file={file}") as port:
        assert ask(pki, port, "reader", "/api/v1/pods")[0] == 200
        assert ask(pki, port, "reader", "/api/v1/secrets")[0] == 403
        assert ask(pki, port, "admin", "/api/v1/secrets")[0] == 200


def test_servers_of_two_clusters_share_an_etcd_by_their_prefix(pki, etcd):
    collection = "/api/v1/namespaces/default/configmaps"
    with apiserver(pki, etcd, "--etcd-prefix=/one") as one, apiserver(pki, etcd, "--etcd-prefix=/two") as two:
        assert ask(pki, one, "admin", collection, "POST", {"metadata": {"name": "alone"}})[0] == 201
        assert ask(pki, one, "admin", f"{collection}/alone")[0] == 200
        assert ask(pki, two, "admin", f"{collection}/alone")[0] == 404


# v1.36 staging/src/k8s.io/apiserver/pkg/server/genericapiserver.go: preparedGenericAPIServer.RunWithContext
def test_a_server_that_is_told_to_stop_still_serves_for_a_while(pki, etcd):
    def ending(port: int) -> None:
        while page(pki, port, "/readyz")[0] == 200:
            pass
        status, told = page(pki, port, "/readyz?verbose=")
        assert (status, "[-]shutdown failed" in told) == (500, True)
        assert ask(pki, port, "admin", "/api/v1/namespaces")[0] == 200

    with apiserver(pki, etcd, "--shutdown-delay-duration=10m", ending=ending) as port:
        assert page(pki, port, "/readyz")[0] == 200


def test_the_oldest_tls_that_is_spoken(pki, etcd):
    with apiserver(pki, etcd, "--tls-min-version=VersionTLS13") as port:
        assert ask(pki, port, "admin", "/version")[0] == 200
        old = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises(ssl.SSLError):
            http.client.HTTPSConnection("127.0.0.1", port, context=old).request("GET", "/version")
