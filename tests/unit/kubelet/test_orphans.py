"""What lies around of pods that nobody knows."""

from tiphys.kubelet import orphans


def test_volumes_and_logs_are_found_by_uid_and_removed_with_it(tmp_path):
    root, logs = tmp_path / "kubelet", tmp_path / "logs"
    for folder in (root / "pods" / "one" / "volumes", root / "pods" / "two", logs / "default_p_one", logs / "default_q_three"):
        folder.mkdir(parents=True)
    (logs / "README").touch()
    assert orphans.uids(root, logs, "/no-such-cgroup") == {"one", "two", "three"}
    orphans.remove("one", root, logs, "/no-such-cgroup")
    assert orphans.uids(root, logs, "/no-such-cgroup") == {"two", "three"}
    assert (logs / "README").exists()


def test_a_node_that_never_ran_anything_has_none(tmp_path):
    assert orphans.uids(tmp_path / "a", tmp_path / "b", "/no-such-cgroup") == set()
