"""One real cluster for each test process: `tiphys up --detach` on a free port, `tiphys down` at the end.

What a test does to it, it does in a namespace of its own; the server must not have had a bug by the end.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

MANIFESTS = Path(__file__).parent / "manifests"
TOKENS = 'admin-token,admin,1,"system:masters"\ntourist-token,tourist,2\n'


def run_tiphys(*arguments: str | Path, home: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tiphys.cmd.main", *map(str, arguments)]
    environment = {**os.environ, "HOME": str(home)}
    environment.pop("KUBECONFIG", None)
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=timeout, check=False)


@dataclass(frozen=True)
class Cluster:
    data: Path
    server: str
    home: Path

    @property
    def kubeconfig(self) -> Path:
        return self.data / "admin.kubeconfig"

    @property
    def authority(self) -> Path:
        return self.data / "pki" / "ca.crt"

    @property
    def port(self) -> int:
        return int(self.server.rpartition(":")[2])

    @property
    def token(self) -> str:
        return "admin-token"

    @property
    def log(self) -> str:
        return (self.data / "tiphys.log").read_text()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    data, tokens = folder / "data", folder / "tokens.csv"
    tokens.write_text(TOKENS)
    common = ("--data-dir", data)
    up = run_tiphys(
        *("up", "--detach", "--no-merge", "--port", "0", "--node", "none"),
        *("--disable", "scheduler,controllers,proxy,dns", "--token-auth-file", tokens, *common),
        home=folder,
    )
    assert up.returncode == 0, up.stdout + up.stderr
    status = json.loads(run_tiphys("status", "-o", "json", *common, home=folder).stdout)
    address = next(each["address"] for each in status["components"] if each["name"] == "apiserver")
    running = Cluster(data, address, folder)
    yield running
    down = run_tiphys("down", *common, home=folder)
    assert down.returncode == 0, down.stdout + down.stderr
    # The one place where the server contains its own bugs tells of them here.
    assert "request failed" not in running.log, running.log[-4000:]
    assert "Traceback" not in running.log, running.log[-4000:]


@dataclass(frozen=True)
class Kubectl:
    program: str
    cluster: Cluster
    namespace: str = ""

    def run(
        self, *arguments: str | Path, stdin: str = "", editor: str = "", timeout: float = 120
    ) -> subprocess.CompletedProcess[str]:
        command = [self.program, "--kubeconfig", str(self.cluster.kubeconfig)]
        if self.namespace:
            command += ["--namespace", self.namespace]
        environment = {**os.environ, "HOME": str(self.cluster.home)}
        if editor:
            environment["KUBE_EDITOR"] = editor
        return subprocess.run(
            [*command, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            env=environment,
            timeout=timeout,
            check=False,
        )

    def __call__(self, *arguments: str | Path, stdin: str = "", editor: str = "") -> str:
        """What it prints. It must succeed."""
        ran = self.run(*arguments, stdin=stdin, editor=editor)
        assert ran.returncode == 0, f"kubectl {' '.join(map(str, arguments))}\n{ran.stdout}{ran.stderr}"
        return ran.stdout

    def refused(self, *arguments: str | Path, stdin: str = "") -> str:
        """What it complains about. It must fail."""
        ran = self.run(*arguments, stdin=stdin)
        assert ran.returncode != 0, f"kubectl {' '.join(map(str, arguments))}\n{ran.stdout}"
        return ran.stderr

    def json(self, *arguments: str | Path) -> dict:
        return json.loads(self(*arguments, "-o", "json"))

    @property
    def minor(self) -> int:
        told = subprocess.run([self.program, "version", "--client", "-o", "json"], capture_output=True, text=True, check=True)
        return int(json.loads(told.stdout)["clientVersion"]["minor"].rstrip("+"))


_numbers = count(1)


@pytest.fixture
def namespace(cluster: Cluster, admin) -> str:
    """A fresh one, with the service account that pods run as: no controller makes it here."""
    name = f"test-{next(_numbers)}"
    admin("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    admin("POST", f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})
    return name


@pytest.fixture(scope="session")
def admin(cluster: Cluster):
    """`admin(method, path, tree)`: one request, of which nothing but the answer matters. Returns the decoded body."""
    import ssl
    import urllib.request

    context = ssl.create_default_context(cafile=str(cluster.authority))

    def send(method: str, path: str, tree: dict | None = None, content_type: str = "application/json") -> dict:
        headers = {"Authorization": f"Bearer {cluster.token}", "Content-Type": content_type}
        body = json.dumps(tree).encode() if tree is not None else None
        request = urllib.request.Request(cluster.server + path, data=body, headers=headers, method=method)
        with urllib.request.urlopen(request, context=context, timeout=60) as answer:
            return json.loads(answer.read())

    return send


@pytest.fixture
def kubectl(cluster: Cluster, namespace: str) -> Kubectl:
    program = shutil.which("kubectl")
    assert program is not None, "kubectl is not on the PATH; ./run-tests installs it where it can"
    return Kubectl(program, cluster, namespace)


@pytest.fixture
def tiphys(tmp_path: Path):
    """`tiphys("status", "--data-dir", d)`: the real program, with a home of its own."""

    def run(*arguments: str | Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return run_tiphys(*arguments, home=tmp_path, timeout=timeout)

    return run
