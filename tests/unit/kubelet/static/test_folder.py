"""The folder of static pods, as it changes (pkg/kubelet/config/file.go)."""

import asyncio
import os

from tests.virtual_loop import START

from tiphys.base.clock import RealClock
from tiphys.base.log import Log, Logger
from tiphys.kubelet.static.folder import Folder

TEXT = 'apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{name: c, image: "web:1"}]}\n'


def write(path, name, image="web:1", at=START):
    path.write_text(TEXT.replace("NAME", name).replace("web:1", image))
    os.utime(path, (at, at))


def test_files_that_come_change_and_go(tmp_path):
    lines = []
    folder = Folder(tmp_path, "n1", RealClock(), Logger(Log(lines.append), "test", {}))

    def look():
        return {each["metadata"]["name"]: each for each in asyncio.run(folder.look())}

    assert look() == {}
    write(tmp_path / "a.yaml", "a")
    write(tmp_path / ".hidden", "hidden")
    (tmp_path / "folder").mkdir()
    (tmp_path / "bad.yaml").write_text("kind: Service")
    first = look()
    assert list(first) == ["a-n1"]
    look()
    assert [line for line in lines if "cannot be read" in line] == lines[:1]
    write(tmp_path / "a.yaml", "a", image="web:2", at=START + 1)
    write(tmp_path / "b.yaml", "b")
    second = look()
    assert list(second) == ["a-n1", "b-n1"]
    assert second["a-n1"]["metadata"]["uid"] != first["a-n1"]["metadata"]["uid"]
    (tmp_path / "a.yaml").unlink()
    assert list(look()) == ["b-n1"]


def test_one_file_will_do_and_one_that_is_not_there_is_none(tmp_path):
    write(tmp_path / "a.yaml", "a")
    log = Logger(Log([].append), "test", {})
    for path, names in ((tmp_path / "a.yaml", ["a-n1"]), (tmp_path / "absent.yaml", [])):
        found = asyncio.run(Folder(path, "n1", RealClock(), log).look())
        assert [each["metadata"]["name"] for each in found] == names
