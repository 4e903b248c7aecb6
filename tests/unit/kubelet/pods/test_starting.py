"""Starting a sandbox where the machine refuses (v1.36.4 pkg/kubelet/kubelet.go, SyncPod)."""

import asyncio
from types import SimpleNamespace

import pytest

from tiphys.kubelet.pods.starting import Starter
from tiphys.kubelet.pods.timeline import Timeline

POD = {"kind": "Pod", "metadata": {"name": "p", "namespace": "default", "uid": "u"}, "spec": {"containers": []}}


class Volumes:
    async def prepare(self, *_arguments):
        """There are none."""


def test_folders_that_cannot_be_made_are_an_event(tmp_path):
    told = []
    (tmp_path / "file").write_text("")
    context = SimpleNamespace(
        folder=lambda _: SimpleNamespace(path=tmp_path / "file" / "u"),
        volumes=Volumes(),
        values=lambda _: None,
        tell=lambda _, *event: told.append(event),
    )
    starter = Starter(context, "u", None, Timeline(lambda: 0.0))
    with pytest.raises(NotADirectoryError):
        asyncio.run(starter.sandbox(POD, 0))
    assert [event[:2] for event in told] == [("Warning", "FailedToMakePodDataDirectories")]
    assert told[0][2].startswith("error making pod data directories: [Errno 20] Not a directory")
