"""The real program from outside: what it says and what it leaves behind when something is wrong."""

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PLAIN = ("--no-merge", "--port", "0", "--node", "none", "--disable", "scheduler,controllers,proxy,dns")


def run(*arguments: str | Path, home: Path, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [*prefix, sys.executable, "-m", "tiphys.cmd.main", *map(str, arguments)]
    environment = {**os.environ, "HOME": str(home)}
    environment.pop("KUBECONFIG", None)
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def data(tmp_path: Path, home: Path) -> Iterator[Path]:
    """A data directory; what runs from it is ended."""
    path = tmp_path / "data"
    yield path
    if (path / "tiphys.json").exists():
        run("down", "--data-dir", path, home=home)


def complaint(ran: subprocess.CompletedProcess[str]) -> str:
    """One sentence on stderr, and a code that says so."""
    assert ran.returncode == 1, ran
    assert "Traceback" not in ran.stdout + ran.stderr
    lines = [line for line in ran.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, ran.stderr
    return lines[0].removeprefix("error: ")


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    # One that nobody has waited for is dead all the same.
    return state != "Z"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in sorted(folder.rglob("*")) if each.is_file()}


def test_a_cluster_from_beginning_to_end(data, home):
    up = run("up", "--detach", *PLAIN, "--data-dir", data, home=home)
    assert up.returncode == 0, up.stderr
    assert "API server on https://127.0.0.1:" in up.stdout
    assert "Ready in" in up.stdout
    assert not (home / ".kube").exists()

    status = run("status", "-o", "json", "--data-dir", data, home=home)
    assert status.returncode == 0
    told = json.loads(status.stdout)
    assert told["running"] is True
    assert told["store"]["kind"] == "sqlite"
    assert told["store"]["bytes"] > 10_000
    server = next(each for each in told["components"] if each["name"] == "apiserver")
    assert server["state"] == "ready"
    assert lives(server["pid"])
    assert "apiserver" in run("status", "--data-dir", data, home=home).stdout

    assert "is already running" in complaint(run("up", *PLAIN, "--data-dir", data, home=home))
    assert "is already running" in complaint(run("up", "--detach", *PLAIN, "--data-dir", data, home=home))
    assert "is already running" in complaint(run("apiserver", "--secure-port", "0", "--data-dir", data, home=home))

    down = run("down", "--data-dir", data, home=home)
    assert (down.returncode, down.stdout) == (0, f"Stopped the cluster in {data}.\n")
    assert not lives(server["pid"])
    stopped = run("status", "-o", "json", "--data-dir", data, home=home)
    assert stopped.returncode == 3
    assert json.loads(stopped.stdout)["running"] is False
    assert run("down", "--data-dir", data, home=home).returncode == 0

    assert run("up", "--detach", *PLAIN, "--data-dir", data, home=home).returncode == 0
    assert run("down", "--purge", "--data-dir", data, home=home).returncode == 0
    assert not data.exists()


def test_the_context_in_the_kubeconfig(data, home):
    config = home / ".kube" / "config"
    config.parent.mkdir()
    config.write_text("apiVersion: v1\nkind: Config\ncurrent-context: mine\ncontexts: [{name: mine, context: {cluster: c}}]\n")
    plain = [each for each in PLAIN if each != "--no-merge"]
    assert run("up", "--detach", *plain, "--data-dir", data, home=home).returncode == 0
    merged = config.read_text()
    assert "name: tiphys" in merged
    assert "current-context: mine" in merged
    assert run("down", "--data-dir", data, home=home).returncode == 0
    assert config.read_text() == merged
    assert run("down", "--purge", "--data-dir", data, home=home).returncode == 0
    assert "tiphys" not in config.read_text()
    assert "name: mine" in config.read_text()


def test_another_clusters_context_stays(data, home, tmp_path):
    plain = [each for each in PLAIN if each != "--no-merge"]
    other = tmp_path / "other"
    for each in (data, other):
        assert run("up", "--detach", *plain, "--data-dir", each, home=home).returncode == 0
    assert run("down", "--purge", "--data-dir", data, home=home).returncode == 0
    assert "name: tiphys" in (home / ".kube" / "config").read_text()
    assert run("down", "--purge", "--data-dir", other, home=home).returncode == 0


def test_a_broken_kubeconfig_is_left_alone(data, home):
    config = home / ".kube" / "config"
    config.parent.mkdir()
    config.write_text("{ not: yaml: at: all")
    plain = [each for each in PLAIN if each != "--no-merge"]
    assert "--no-merge" in complaint(run("up", *plain, "--data-dir", data, home=home))
    assert config.read_text() == "{ not: yaml: at: all"


@pytest.mark.parametrize("detached", [(), ("--detach",)])
def test_a_taken_port(data, home, detached):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ran = run("up", *detached, "--no-merge", "--port", port, "--data-dir", data, home=home)
    assert f"port {port} of 127.0.0.1 is taken" in complaint(ran)
    assert run("up", "--detach", *PLAIN, "--data-dir", data, home=home).returncode == 0


def test_a_foreign_directory(tmp_path, home):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "novel.txt").write_text("chapter one")
    before = contents(tmp_path / "theirs")
    for command in (("up", *PLAIN), ("down",), ("down", "--purge"), ("status",)):
        told = complaint(run(*command, "--data-dir", tmp_path / "theirs", home=home))
        assert "was not made by tiphys" in told or "is not a data directory of tiphys" in told
    assert contents(tmp_path / "theirs") == before


def test_before_the_first_cluster(data, home):
    told = f"No cluster is running from {data}.\n"
    for command, code in ((("status",), 3), (("down",), 0), (("down", "--purge"), 0)):
        ran = run(*command, "--data-dir", data, home=home)
        assert (ran.returncode, ran.stdout, ran.stderr) == (code, told, "")
    assert not data.exists()


def test_a_file_where_the_directory_should_be(tmp_path, home):
    (tmp_path / "file").write_text("x")
    assert "not a directory" in complaint(run("up", *PLAIN, "--data-dir", tmp_path / "file", home=home))
    assert "not a directory" in complaint(run("up", *PLAIN, "--data-dir", tmp_path / "file" / "below", home=home))


@pytest.mark.parametrize("marker", ["", "[]", "not json", '{"format": 99}'])
def test_a_marker_that_nobody_understands(data, home, marker):
    data.mkdir()
    (data / "tiphys.json").write_text(marker)
    told = complaint(run("up", *PLAIN, "--data-dir", data, home=home))
    assert "is damaged" in told or "has format 99" in told
    shutil.rmtree(data)


def write_foreign_database(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
        connection.commit()


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(b"this is no database " * 100),
        write_foreign_database,
        lambda file: (file.unlink(missing_ok=True), file.mkdir()),
    ],
    ids=["garbage", "foreign", "directory"],
)
def test_a_store_that_cannot_be_used(data, home, damage):
    data.mkdir()
    (data / "tiphys.json").write_text('{"format": 1}')
    damage(data / "store.db")
    before = contents(data).get("store.db")
    assert "store.db" in complaint(run("up", *PLAIN, "--data-dir", data, home=home))
    assert contents(data).get("store.db") == before


def test_a_damaged_store_is_told_and_kept(data, home):
    assert run("up", "--detach", *PLAIN, "--data-dir", data, home=home).returncode == 0
    assert run("down", "--data-dir", data, home=home).returncode == 0
    store = data / "store.db"
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("UPDATE version SET value = 'scrap' WHERE value IS NOT NULL")
        connection.commit()
    assert "damaged" in complaint(run("up", *PLAIN, "--data-dir", data, home=home))


@pytest.mark.parametrize("name", ["ca.crt", "apiserver.key", "service-account.key"])
def test_damaged_certificates(data, home, name):
    assert run("up", "--detach", *PLAIN, "--data-dir", data, home=home).returncode == 0
    assert run("down", "--data-dir", data, home=home).returncode == 0
    (data / "pki" / name).write_text("scrap")
    assert "damaged" in complaint(run("up", *PLAIN, "--data-dir", data, home=home))
    assert (data / "pki" / name).read_text() == "scrap"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="becomes another user, which only root can")
def test_no_permission(tmp_path, home):
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    for parent in (tmp_path, *tmp_path.parents):
        # Other users must be able to come this far.
        if parent != Path("/") and parent.stat().st_uid == os.geteuid() and parent != Path("/tmp"):
            parent.chmod(parent.stat().st_mode | 0o055)
    probe = subprocess.run([*nobody, sys.executable, "-c", "import tiphys"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("this Python is closed to other users")
    for command in ("up", "status", "down"):
        told = complaint(run(command, "--data-dir", closed, home=home, prefix=nobody))
        assert "permission" in told or "not a data directory" in told
    assert list(closed.iterdir()) == []


def test_an_etcd_that_is_not_there(data, home):
    told = complaint(run("up", *PLAIN, "--store", "http://127.0.0.1:1", "--data-dir", data, home=home))
    assert "etcd at 127.0.0.1:1 does not answer" in told


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--disable", "everything"), "--disable does not know everything"),
        (("--node", "imaginary"), "--node is auto, real, sim, sim:N or none"),
        (("--node", "sim:many"), "--node is auto, real, sim, sim:N or none"),
        (("--store", "paper"), "--store is sqlite, memory or the URL of an etcd"),
        (("--bind-address", "nowhere"), "does not appear to be an IPv4 or IPv6 address"),
        (("--service-cluster-ip-range", "10.0.0.1/8"), "has host bits set"),
        (("--token-auth-file", "/does/not/exist"), "there is no token file"),
        (("--port", "99999"), "--port is a number from 0 to 65535"),
        (("--service-cluster-ip-range", "10.0.0.0/31"), "must be at least 16 IP addresses"),
        (("--container-runtime-endpoint", "unix:///does/not/exist"), "no container runtime listens at /does/not/exist"),
        (("--cluster-cidr", "10.1.0.0/16,10.2.0.0/16"), "must be of different IP family"),
    ],
)
def test_flags_that_make_no_sense(data, home, arguments, words):
    assert words in complaint(run("up", *PLAIN, *arguments, "--data-dir", data, home=home))
    assert not data.exists()


@contextmanager
def in_foreground(data: Path, home: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tiphys.cmd.main", "up", *PLAIN, "--data-dir", str(data)]
    environment = {**os.environ, "HOME": str(home)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("Ready"):
                break
        yield process
        process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it(data, home, number):
    with in_foreground(data, home) as process:
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0
        assert out.endswith("Stopped.\n")
        assert err == ""
    assert json.loads(run("status", "-o", "json", "--data-dir", data, home=home).stdout)["running"] is False
    assert not (data / "run.json").exists()


def test_who_waits_for_a_detached_cluster_may_think_better_of_it(data, home):
    # An etcd that takes connections and says nothing: it does not come up by itself.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        store = f"http://127.0.0.1:{silent.getsockname()[1]}"
        command = [sys.executable, "-m", "tiphys.cmd.main", "up", *PLAIN, "--detach", "--store", store, "--data-dir", str(data)]
        environment = {**os.environ, "HOME": str(home)}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
            silent.accept()[0].close()
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGINT
    assert "Traceback" not in err
    assert run("status", "--data-dir", data, home=home).returncode == 3


@pytest.mark.parametrize("name", ["version", "--version", "-V"])
def test_the_version(home, name):
    assert run(name, home=home).stdout.startswith("Tiphys ")


def test_a_command_that_is_not_there(home):
    ran = run("stauts", home=home)
    assert ran.returncode == 2
    assert ran.stderr.startswith("error: unknown command 'stauts'; did you mean 'status'?\n")


def test_a_directory_that_cannot_be_made(home):
    told = complaint(run("up", *PLAIN, "--data-dir", "/proc/nowhere", home=home))
    assert told == "cannot make /proc/nowhere: No such file or directory; choose another directory with --data-dir"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--scheduler-plugin", "nowhere:Nothing"), "cannot load the plugin nowhere:Nothing"),
        (("--scheduler-config", "{file}"), 'no kind "X" is registered for version ""'),
    ],
)
def test_a_scheduler_that_cannot_be_made(data, home, tmp_path, arguments, words):
    """Nothing starts, rather than a cluster that says that it is ready and ends."""
    (tmp_path / "config.yaml").write_text("kind: X\n")
    given = [each.format(file=tmp_path / "config.yaml") for each in arguments]
    told = complaint(run("up", "--detach", *PLAIN, "--disable", "", *given, "--data-dir", data, home=home))
    assert words in told
    assert not (data / "pki").exists()


def test_how_to_end_what_runs_already(data, home):
    assert run("up", "--detach", *PLAIN, "--data-dir", data, home=home).returncode == 0
    assert f"`tiphys down --data-dir {data}` ends it" in complaint(run("up", *PLAIN, "--data-dir", data, home=home))


def test_a_killed_cluster_is_not_running(data, home):
    with in_foreground(data, home) as process:
        process.kill()
        process.wait()
    assert run("status", "--data-dir", data, home=home).returncode == 3
    assert run("up", "--detach", *PLAIN, "--data-dir", data, home=home).returncode == 0


def test_the_api_server_alone(data, home, tmp_path):
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('t,admin,1,"system:masters"\n')
    command = [sys.executable, "-m", "tiphys.cmd.main", "apiserver", "--secure-port", "0", "--bind-address", "127.0.0.1"]
    command += [
        "--data-dir",
        str(data),
        "--token-auth-file",
        str(tokens),
        "--authorization-mode",
        "Node,RBAC",
        "--store",
        "memory",
    ]
    command += ["--service-account-issuer", "https://one.example.com", "--service-account-issuer", "https://two.example.com"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        server = process.stdout.readline().split()[-1]
        answer = fetch(server, data, "/.well-known/openid-configuration")
        assert answer["issuer"] == "https://one.example.com"
        assert fetch(server, data, "/api/v1/namespaces")["kind"] == "NamespaceList"
        # It leaves no kubeconfig, but whoever has its data directory may make one.
        made = run("kubeconfig", "--user", "me", "--server", server, "--data-dir", data, home=home)
        assert f"server: {server}" in made.stdout, made
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def fetch(server: str, data: Path, path: str) -> dict:
    import ssl
    import urllib.request

    context = ssl.create_default_context(cafile=str(data / "pki" / "ca.crt"))
    request = urllib.request.Request(server + path, headers={"Authorization": "Bearer t"})
    with urllib.request.urlopen(request, context=context, timeout=10) as answer:
        return json.loads(answer.read())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        # v1.36 pkg/kubeapiserver/options/authorization.go, BuiltInAuthorizationOptions.Validate
        (("--authorization-mode", "Nobody"), 'authorization-mode "Nobody" is not a valid mode'),
        (("--authorization-mode", "ABAC"), "authorization-mode ABAC's authorization policy file not passed"),
        (("--authorization-mode", "RBAC,RBAC"), "has mode specified more than once"),
        (("--authorization-policy-file", "p"), "cannot specify --authorization-policy-file without mode ABAC"),
        (("--tls-cert-file", "c"), "--tls-cert-file and --tls-private-key-file go together"),
        (("--etcd-servers", "127.0.0.1:2379"), "--etcd-servers are URLs"),
        (("--client-ca-file", "/does/not/exist"), "cannot read /does/not/exist"),
    ],
)
def test_flags_of_the_api_server(data, home, arguments, words):
    assert words in complaint(run("apiserver", "--secure-port", "0", *arguments, "--data-dir", data, home=home))
