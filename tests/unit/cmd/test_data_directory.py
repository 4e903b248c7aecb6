"""The data directory knows whose it is, and who runs from it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tiphys.cmd.data_directory import DataDirectory, Unusable


def test_an_empty_directory_becomes_ours(tmp_path):
    data = DataDirectory(tmp_path / "a" / "b")
    data.prepare()
    data.require()
    assert (data.path.stat().st_mode & 0o777) == 0o700
    data.prepare()


def test_a_directory_of_somebody_else_is_refused(tmp_path):
    (tmp_path / "theirs").write_text("x")
    with pytest.raises(Unusable, match="was not made by tiphys"):
        DataDirectory(tmp_path).prepare()
    with pytest.raises(Unusable, match="is not a data directory of tiphys"):
        DataDirectory(tmp_path).require()
    assert [each.name for each in tmp_path.iterdir()] == ["theirs"]


@pytest.mark.parametrize(
    ("marker", "told"), [("{", "is damaged"), ("{}", "is damaged"), ("[1]", "is damaged"), ('{"format": 2}', "has format 2")]
)
def test_markers(tmp_path, marker, told):
    (tmp_path / "tiphys.json").write_text(marker)
    with pytest.raises(Unusable, match=told):
        DataDirectory(tmp_path).prepare()


def test_one_holder_at_a_time(tmp_path):
    data = DataDirectory(tmp_path)
    data.prepare()
    assert not data.is_locked
    with data.lock():
        assert data.is_locked
        assert data.pid == os.getpid()
        with pytest.raises(Unusable, match=rf"already running from .* \(pid {os.getpid()}\)"):
            data.lock()
    assert not data.is_locked
    data.lock().close()


def test_the_lock_ends_with_its_process(tmp_path):
    data = DataDirectory(tmp_path)
    data.prepare()
    held = (
        f"from pathlib import Path; from tiphys.cmd.data_directory import DataDirectory as D; D(Path({str(tmp_path)!r})).lock()"
    )
    source = Path(__file__).parents[3] / "src"
    environment = {**os.environ, "PYTHONPATH": str(source)}
    subprocess.run([sys.executable, "-W", "ignore", "-c", held], check=True, env=environment)
    assert data.pid
    assert not data.is_locked


def test_what_was_merged(tmp_path):
    data = DataDirectory(tmp_path)
    assert data.merged is None
    data.note_merged(Path("/home/me/.kube/config"), "tiphys")
    assert data.merged == (Path("/home/me/.kube/config"), "tiphys")
    (tmp_path / "merged.json").write_text("[]")
    assert data.merged is None
