"""What a containerd that was killed has left, as its folders show it."""

import asyncio
from pathlib import PurePath

from tiphys.kubelet.containerd import leftovers, shims
from tiphys.kubelet.containerd.config import Layout
from tiphys.kubelet.containerd.leftovers import Leftovers
from tiphys.kubelet.containerd.shims import Shims


class Runtime:
    async def sandbox_of_containers(self):
        return {"inner": "outer"}

    async def network_namespaces(self):
        return {"one": "/run/netns/cni-1", "host": ""}


def test_namespaces_and_addresses_are_found_and_nothing_else(tmp_path):
    # host-local keeps beside the addresses a lock and the last one that it gave (plugins/ipam/host-local/backend/disk).
    layout = Layout(PurePath(tmp_path / "containerd"), PurePath(tmp_path / "run"))
    given = tmp_path / "containerd" / "addresses" / "pods"
    given.mkdir(parents=True)
    (given / "10.0.0.2").write_text("one\r\neth0")
    (given / "fd00::2").write_text("two\neth0")
    (given / "last_reserved_ip.0").write_text("10.0.0.2")
    (given / "lock").touch()
    places = tmp_path / "run" / "io.containerd.grpc.v1.cri" / "netns"
    places.mkdir(parents=True)
    (places / "cni-1").touch()
    assert leftovers.look(layout) == Leftovers(frozenset([str(places / "cni-1")]), frozenset(["one", "two"]))


def test_where_nothing_ever_ran_nothing_is_left(tmp_path):
    assert not leftovers.look(Layout(PurePath(tmp_path / "containerd"), PurePath(tmp_path / "run")))


def test_only_what_the_runtime_does_not_know_is_left():
    before = Leftovers(frozenset(["/run/netns/cni-1", "/run/netns/cni-2"]), frozenset(["one", "two"]))
    left = asyncio.run(leftovers.unknown(before, Runtime(), ()))
    assert left == Leftovers(frozenset(["/run/netns/cni-2"]), frozenset(["two"]))


def test_notes_that_are_half_written_go_if_they_are_of_this_network(tmp_path):
    # libcni reads them back before it ends a sandbox, and gives up at one that it cannot (libcni/api.go, getCachedConfig).
    layout, notes = Layout(PurePath(tmp_path), PurePath(tmp_path / "run")), tmp_path / "results"
    (tmp_path / "net.d").mkdir()
    (tmp_path / "net.d" / "10-pods.conflist").write_text('{"name": "mine", "plugins": []}')
    notes.mkdir()
    for name, text in {"mine-1-eth0": "", "mine-2-eth0": "{}", "others-3-eth0": ""}.items():
        (notes / name).write_text(text)
    leftovers.remove_damaged_notes(layout, notes)
    assert sorted(each.name for each in notes.iterdir()) == ["mine-2-eth0", "others-3-eth0"]


def test_a_shim_stays_as_long_as_it_serves_a_container_even_if_its_sandbox_is_gone():
    # A shim is shared by the containers of a sandbox (containerd runtime/v2/runc/v2/service.go: groupLabels).
    before = Shims(frozenset([(7, "outer"), (8, "other")]), frozenset(["inner", "outer", "half-made"]))
    left = shims.unknown(before, ["inner"], {"inner": "outer"})
    assert left == Shims(frozenset([(8, "other")]), frozenset(["outer", "half-made"]))


def test_only_shims_of_this_containerd_are_its_own():
    words = ["/usr/bin/containerd-shim-runc-v2", "-namespace", "k8s.io", "-id", "abc", "-address", "/run/one.sock", ""]
    assert shims.named(words, "/run/one.sock") == "abc"
    assert shims.named(words, "/run/other.sock") == ""
    assert shims.named(["/bin/sh", "-id", "abc", "/run/one.sock"], "/run/one.sock") == ""
    assert shims.named([], "/run/one.sock") == ""
