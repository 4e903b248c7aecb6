"""Volumes in the file system (v1.36.4 pkg/volume/util/atomic_writer_test.go; pkg/volume/hostpath)."""

import os

import pytest

from tiphys.kubelet.pods.environment import CannotMake
from tiphys.kubelet.volumes import host
from tiphys.kubelet.volumes.payload import File


def read(folder):
    return {name: (folder / name).read_bytes() for name in os.listdir(folder) if not name.startswith("..")}


def test_files_change_together_and_by_one_link(tmp_path):
    host.write_payload(tmp_path, {"a": File(b"1", 0o644), "b": File(b"2", 0o400)}, None, "first")
    assert read(tmp_path) == {"a": b"1", "b": b"2"}
    assert os.readlink(tmp_path / "a") == "..data/a"
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o400
    host.write_payload(tmp_path, {"a": File(b"3", 0o644), "c": File(b"4", 0o644)}, None, "second")
    assert read(tmp_path) == {"a": b"3", "c": b"4"}
    assert os.readlink(tmp_path / "..data") == "..second"
    assert not (tmp_path / "..first").exists()


def test_what_is_the_same_is_not_written_again(tmp_path):
    host.write_payload(tmp_path, {"d/e": File(b"1", 0o644)}, None, "first")
    host.write_payload(tmp_path, {"d/e": File(b"1", 0o644)}, None, "second")
    assert os.readlink(tmp_path / "..data") == "..first"
    assert (tmp_path / "d" / "e").read_bytes() == b"1"


def test_a_volume_may_be_empty(tmp_path):
    host.write_payload(tmp_path, {}, None, "first")
    assert read(tmp_path) == {}


@pytest.mark.parametrize(
    ("kind", "there", "fits"),
    [
        ("Directory", "folder", True),
        ("Directory", "file", False),
        ("Directory", "", False),
        ("File", "file", True),
        ("File", "", False),
        ("DirectoryOrCreate", "", True),
        ("FileOrCreate", "", True),
        ("Socket", "file", False),
        ("", "", True),
    ],
)
def test_host_path_types(tmp_path, kind, there, fits):
    # https://kubernetes.io/docs/concepts/storage/volumes/#hostpath-volume-types
    path = tmp_path / "x"
    if there == "folder":
        path.mkdir()
    elif there == "file":
        path.touch()
    if fits:
        host.make_host_path({"path": str(path), "type": kind})
        assert path.exists() == bool(there or "Create" in kind)
    else:
        with pytest.raises(CannotMake, match="hostPath type check failed"):
            host.make_host_path({"path": str(path), "type": kind})


def test_tails(tmp_path):
    file = tmp_path / "f"
    file.write_bytes(b"0123456789")
    assert host.read_tail(file, 4) == b"6789"
    assert host.read_start(file, 4) == b"0123"
    assert host.read_start(tmp_path / "none", 4) == b""
