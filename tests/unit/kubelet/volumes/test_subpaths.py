"""Parts of volumes do not lead out of them (v1.36.4 pkg/volume/util/subpath/subpath_linux_test.go)."""

import os
import stat

import pytest

from tiphys.kubelet.pods.environment import CannotMake
from tiphys.kubelet.volumes.plan import SubPath
from tiphys.kubelet.volumes.subpaths import open_inside, read_part


@pytest.fixture
def volume(tmp_path):
    made = tmp_path / "v"
    made.mkdir(mode=0o777)
    made.chmod(0o2777)
    return made


def opened(volume, part, *, create=True):
    handle = open_inside(SubPath(volume, part), create=create)
    try:
        return os.readlink(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)


def test_what_is_missing_is_made_like_the_volume(volume):
    assert opened(volume, "a/b") == str(volume / "a" / "b")
    assert stat.S_IMODE((volume / "a").stat().st_mode) == 0o2777


def test_links_may_lead_about_in_the_volume(volume):
    (volume / "there").mkdir()
    (volume / "here").symlink_to("there")
    assert opened(volume, "here/x") == str(volume / "there" / "x")


@pytest.mark.parametrize("target", ["/etc", "..", "../other", "/proc/self/root"])
def test_but_not_out_of_it(volume, target):
    (volume / "out").symlink_to(target)
    for part in ("out", "out/x", "../other", "a/../../other"):
        with pytest.raises(CannotMake, match="leads out of its volume"):
            opened(volume, part)
    assert not (volume.parent / "other").exists()


def test_files_are_read_in_the_same_way(volume):
    (volume / "f").write_bytes(b"123")
    (volume / "g").symlink_to("/etc/passwd")
    assert read_part(SubPath(volume, "f"), 2) == b"12"
    assert read_part(SubPath(volume, "none"), 2) == b""
    with pytest.raises(CannotMake):
        read_part(SubPath(volume, "g"), 2)


def test_a_file_has_no_parts(volume):
    (volume / "f").write_bytes(b"123")
    with pytest.raises(OSError, match="Not a directory"):
        opened(volume, "f/x")
    with pytest.raises(CannotMake):
        opened(volume / "f", "x")
