"""What containerd is given: configuration, network, and the pause image."""

import io
import platform
import signal
import subprocess
import tarfile
import tomllib
from pathlib import Path, PurePath

import orjson
import pytest

from tiphys.kubelet.containerd import config
from tiphys.kubelet.containerd.archive import archive
from tiphys.kubelet.containerd.pause import x86_64

LAYOUT = config.Layout(PurePath("/data/containerd"), PurePath("/data/run"))


@pytest.mark.parametrize("restrict", [True, False])
def test_configuration_is_toml_and_keeps_everything_below_its_folders(restrict):
    # https://github.com/containerd/containerd/blob/v1.6.20/docs/cri/config.md
    text = config.containerd(LAYOUT, pause_image="p:1", plugins=PurePath("/cni"), restrict_oom_score=restrict)
    made = tomllib.loads(text)
    cri = made["plugins"]["io.containerd.grpc.v1.cri"]
    assert made["root"] == "/data/containerd/data"
    assert made["grpc"]["address"] == "/data/run/containerd.sock"
    assert cri["sandbox_image"] == "p:1"
    assert cri["restrict_oom_score_adj"] is restrict
    assert cri["netns_mounts_under_state_dir"] is True
    assert cri["cni"] == {"bin_dir": "/cni", "conf_dir": "/data/containerd/net.d"}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the program is of another architecture")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_pause_sleeps_until_it_is_told_to_end(tmp_path, number):
    program = tmp_path / "pause"
    program.write_bytes(x86_64())
    program.chmod(0o755)
    with subprocess.Popen([program]) as running:
        # The handlers are there once it sleeps.
        while running.poll() is None and _state(running.pid) != "S":
            pass
        running.send_signal(signal.SIGCHLD)
        running.send_signal(number)
        assert running.wait(60) == 0


def _state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def test_an_archive_names_its_image_and_holds_its_files():
    # https://github.com/moby/docker-image-spec/blob/v1.3.1/spec.md
    data = archive("example.com/x:1", {"bin/x": b"code"}, links={"bin/y": "x"}, command=["x"])
    with tarfile.open(fileobj=io.BytesIO(data)) as outer:
        manifest = orjson.loads(outer.extractfile("manifest.json").read())[0]
        told = orjson.loads(outer.extractfile(manifest["Config"]).read())
        layer = outer.extractfile(manifest["Layers"][0]).read()
    assert manifest["RepoTags"] == ["example.com/x:1"]
    assert told["config"]["Cmd"] == ["x"]
    with tarfile.open(fileobj=io.BytesIO(layer)) as inner:
        assert inner.getnames() == ["bin", "bin/x", "bin/y"]
        assert inner.extractfile("bin/y").read() == b"code"
