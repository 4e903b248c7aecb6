"""What people do with kubectl to pods that run: one `tiphys up` with a node, real containers, the machine's kubectl."""

import json
import os
import pty
import re
import select
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from tests.e2e.conftest import Cluster, Kubectl, run_tiphys

from tiphys.cmd.node_home import NodeHome
from tiphys.kubelet.containerd.archive import archive

pytestmark = [pytest.mark.kubectl, pytest.mark.root, pytest.mark.slow]  # containers take their time

IMAGE = "docker.io/library/busybox:tour"
SERVE = """echo begun; mkdir -p /www; echo hello > /www/index.html; httpd -p 8080 -h /www
while read line; do echo got $line; done; sleep 86400"""
WAIT = "--timeout=110s"


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A cluster with a node that has an image."""
    folder = tmp_path_factory.mktemp("tour")
    data = folder / "data"
    up = run_tiphys("up", "--detach", "--no-merge", "--port", "0", "--node", "real", "--data-dir", data, home=folder)
    assert up.returncode == 0, up.stdout + up.stderr
    try:
        status = json.loads(run_tiphys("status", "-o", "json", "--data-dir", data, home=folder).stdout)
        address = next(each["address"] for each in status["components"] if each["name"] == "apiserver")
        _import_image(NodeHome(data / "node").socket)
        yield Cluster(data, address, folder)
        assert "Traceback" not in (data / "tiphys.log").read_text()
        assert "Traceback" not in (data / "node" / "node.log").read_text()
    finally:
        run_tiphys("down", "--data-dir", data, home=folder)


def _import_image(socket):
    names = subprocess.run(["/bin/busybox", "--list"], capture_output=True, text=True, check=True).stdout.split()
    links = {f"bin/{name}": "busybox" for name in names if name != "busybox"}
    files = {"bin/busybox": Path("/bin/busybox").read_bytes(), "tmp/.keep": b"", "etc/passwd": b"root:x:0:0::/:/bin/sh\n"}
    data = archive(IMAGE, files, links=links, command=["sh"])
    command = ["ctr", "--address", str(socket), "--namespace", "k8s.io", "images", "import", "-"]
    subprocess.run(command, input=data, capture_output=True, check=True)


@pytest.fixture(scope="module")
def kubectl(running):
    program = os.environ.get("TIPHYS_TEST_KUBECTL") or shutil.which("kubectl")
    assert program is not None, "kubectl is not on the PATH; ./run-tests installs it where it can"
    made = Kubectl(program, running, "default")
    eventually(lambda: made.run("get", "serviceaccount", "default").returncode == 0)
    return made


@pytest.fixture(scope="module")
def tour(kubectl):
    """A pod that serves a page, and says what it reads."""
    assert kubectl("run", "tour", f"--image={IMAGE}", "-i", "--attach=false", "--", "sh", "-c", SERVE) == "pod/tour created\n"
    kubectl("wait", "--for=condition=Ready", "pod/tour", WAIT)
    return "tour"


@pytest.fixture(scope="module")
def again(kubectl):
    """A pod that fails each time, and has done so before."""
    kubectl("run", "again", f"--image={IMAGE}", "--", "sh", "-c", "echo run of $(date +%s%N); exit 1")
    kubectl("wait", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", "pod/again", WAIT)
    return "again"


def eventually(holds):
    """Asks until it does: what is waited for has no watch."""
    until = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def start(kubectl, *arguments, **streams):
    command = [kubectl.program, "--kubeconfig", str(kubectl.cluster.kubeconfig), "--namespace", "default", *arguments]
    environment = {**os.environ, "HOME": str(kubectl.cluster.home)}
    return subprocess.Popen(command, text=True, env=environment, **streams)


def test_run_and_get(kubectl, tour):
    assert kubectl("get", "pod", tour, "--no-headers").split()[1:4] == ["1/1", "Running", "0"]
    told = kubectl.json("get", "pod", tour)
    assert kubectl("get", "pod", tour, "-o", "wide", "--no-headers").split()[5:7] == [
        told["status"]["podIP"],
        told["spec"]["nodeName"],
    ]


def test_exec_passes_input_output_and_the_exit_code(kubectl, tour):
    assert kubectl("exec", "-i", tour, "--", "cat", stdin="data\n") == "data\n"
    failed = kubectl.run("exec", tour, "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (failed.returncode, failed.stdout) == (3, "out\n")
    assert failed.stderr.startswith("err\n")


def test_exec_on_a_terminal(kubectl, tour):
    ours, theirs = pty.openpty()
    # The size of this one is what the other end sees, a moment after it has begun.
    subprocess.run(["stty", "rows", "33", "cols", "99"], stdin=theirs, check=True)
    look = 'until [ "$(stty size)" = "33 99" ]; do sleep 0.1; done; stty size; tty'
    with start(kubectl, "exec", "-it", tour, "--", "sh", "-c", look, stdin=theirs, stdout=theirs) as running:
        os.close(theirs)
        told = b""
        while select.select([ours], [], [], 30)[0]:
            try:
                told += os.read(ours, 4096)
            except OSError:  # the last one has let go of it
                break
        assert running.wait(30) == 0
    os.close(ours)
    assert b"33 99" in told
    assert b"/dev/pts/0" in told


def test_attach_and_logs(kubectl, tour):
    with start(
        kubectl, "attach", "-i", tour, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as attached:
        attached.stdin.write("one\ntwo\n")
        attached.stdin.flush()
        assert attached.stdout.readline() == "got one\n"
        attached.kill()
    eventually(lambda: kubectl("logs", tour, "--tail=1") == "got two\n")
    assert re.match(r"\d{4}-\d\d-\d\dT[0-9:.]+Z begun\n", kubectl("logs", tour, "--timestamps"))
    assert kubectl("logs", tour, "--limit-bytes=5") == "begun"
    assert "begun" in kubectl("logs", tour, "--since=10m")


def test_logs_are_followed_to_the_end(kubectl, tour):
    counting = "echo 1; until [ -e /tmp/go ]; do sleep 0.1; done; for n in 2 3; do echo $n; sleep 0.2; done"
    kubectl("run", "counting", f"--image={IMAGE}", "--restart=Never", "--", "sh", "-c", counting)
    kubectl("wait", "--for=condition=Ready", "pod/counting", WAIT)
    with start(kubectl, "logs", "--follow", "counting", stdout=subprocess.PIPE) as following:
        assert following.stdout.readline() == "1\n"
        kubectl("exec", "counting", "--", "touch", "/tmp/go")
        assert following.stdout.read() == "2\n3\n"
        assert following.wait(30) == 0
    kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/counting", WAIT)


def test_logs_of_the_run_before(kubectl, tour, again):
    before, last = kubectl("logs", "--previous", again), kubectl("logs", again)
    assert before.startswith("run of ")
    assert last.startswith("run of ")
    refused = kubectl.refused("logs", "--previous", "tour")
    assert 'previous terminated container "tour" in pod "tour" not found' in refused


def test_copying(kubectl, tour, tmp_path):
    there, back = tmp_path / "there", tmp_path / "back"
    (there / "deep").mkdir(parents=True)
    (there / "deep" / "file").write_bytes(os.urandom(200_000))
    kubectl("cp", there, f"{tour}:/tmp/there")
    kubectl("cp", f"{tour}:/tmp/there", back)
    assert (back / "deep" / "file").read_bytes() == (there / "deep" / "file").read_bytes()


def test_port_forward(kubectl, tour):
    with start(kubectl, "port-forward", f"pod/{tour}", ":8080", stdout=subprocess.PIPE) as forwarding:
        port = re.search(r"127\.0\.0\.1:(\d+) ->", forwarding.stdout.readline()).group(1)
        for _ in range(3):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
                assert answer.read() == b"hello\n"
        forwarding.kill()


def test_debugging_with_another_container(kubectl, tour):
    kubectl("debug", tour, f"--image={IMAGE}", "--target=tour", "--container=helper", "--", "sh", "-c", "ps; sleep 3600")
    kubectl("wait", "--for=jsonpath={.status.ephemeralContainerStatuses[0].state.running}", f"pod/{tour}", WAIT)
    # It shares the processes of the one that it is to look at.
    eventually(lambda: "httpd" in kubectl("logs", tour, "-c", "helper"))


def test_top(kubectl, tour):
    eventually(lambda: tour in kubectl.run("top", "pod").stdout and kubectl.run("top", "node").returncode == 0)
    lines = kubectl("top", "pod", tour, "--containers", "--no-headers").splitlines()
    assert [tour, tour] in [line.split()[:2] for line in lines]
    name, cpu, _, memory, _ = kubectl("top", "node", "--no-headers").split()
    assert name == kubectl.json("get", "nodes")["items"][0]["metadata"]["name"]
    assert (cpu[-1], memory[-2:]) == ("m", "Mi")


def test_describe_tells_what_happened(kubectl, tour):
    for reason in ("Scheduled", "Pulled", "Created", "Started"):
        # It is told a moment after it has happened.
        eventually(lambda reason=reason: re.search(rf"Normal +{reason} ", kubectl("describe", "pod", tour)))
    assert "containerd://" in kubectl("describe", "pod", tour)
    assert "KubeletReady" in kubectl("describe", "node")


def test_why_and_trace(kubectl, tour, again):
    cluster = kubectl.cluster
    access = ("--kubeconfig", cluster.kubeconfig)
    told = json.loads(run_tiphys("trace", f"pod/{tour}", "-o", "json", *access, home=cluster.home).stdout)
    assert {"apiserver", "scheduler", "kubelet"} == {each["component"] for each in told["steps"]}
    assert told["silent"] == []
    assert told["secondsToReady"] > 0
    # While it runs for a moment, nothing is wrong with it.
    kubectl("wait", "--for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=CrashLoopBackOff", f"pod/{again}", WAIT)
    told = run_tiphys("why", f"pod/{again}", *access, home=cluster.home).stdout
    assert "with exit code 1" in told
    assert "    run of " in told


def test_delete(kubectl, tour):
    kubectl("delete", "pods", "--all", "--grace-period=1")
    assert kubectl("get", "pods", "-o", "name") == ""
    eventually(lambda: not list((kubectl.cluster.data / "node" / "kubelet" / "pods").iterdir()))
