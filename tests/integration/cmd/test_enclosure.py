"""Who lives in the namespaces of a node, by what was noted in its folder."""

import os
import subprocess

import pytest

from tiphys.cmd.enclosure import inhabitant

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")]


def test_a_namespace_whose_number_was_given_to_another_one_is_not_the_nodes(tmp_path):
    command = ["unshare", "--net", "--mount", "sh", "-c", "echo; exec sleep 60"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        child.stdout.readline()
        mounts, network = (os.readlink(f"/proc/{child.pid}/ns/{each}") for each in ("mnt", "net"))
        note = tmp_path / "namespace"
        assert inhabitant(tmp_path) is None
        note.write_text(f"{mounts} {network}")
        assert inhabitant(tmp_path) == child.pid
        note.write_text(f"{mounts} {network[:-1]}0]")
        assert inhabitant(tmp_path) is None
    finally:
        child.kill()
        child.communicate()
