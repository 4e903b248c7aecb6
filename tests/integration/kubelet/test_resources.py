"""What a pod may use: changed while it runs, refused where there is too little, ended where it takes too much."""

from pathlib import Path

import pytest
from tests.integration.kubelet.conftest import IMAGE
from tests.integration.kubelet.test_pods import SERVES, gone, logs, nothing_left, pod, ready, until

from tiphys.api.core.pods import PODS
from tiphys.kubelet.cgroups import unified, weight
from tiphys.kubelet.pods.resources import shares
from tiphys.kubelet.volumes.host import mounts_below

pytestmark = [pytest.mark.root, pytest.mark.slow]  # containers take their time


def resources(**amounts):
    return {"requests": amounts, "limits": amounts}


def cgroup(home, uid, setting):
    """Of the pod: one line of the kernel's (both layouts of cgroups)."""
    (found,) = Path("/sys/fs/cgroup").glob(f"*{home.cgroup_root}/pod{uid}/{setting}")
    return found.read_text().strip()


def test_resources_change_while_the_pod_runs(node):
    # https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/
    async def scenario(client):
        given = pod("resized", SERVES, container={"resources": resources(cpu="20m", memory="32Mi")})
        made = await client.create(PODS, given, "default")
        before = await until(client, "resized", ready)
        change = {"spec": {"containers": [{"name": "c", "resources": resources(cpu="30m", memory="48Mi")}]}}
        await client.patch(PODS, "resized", change, "default", patch_type="strategic", subresource="resize")

        def settled(found):
            status = found["status"]["containerStatuses"][0]
            kinds = {each["type"] for each in found["status"]["conditions"]}
            return status["resources"]["limits"] == {"cpu": "30m", "memory": "48Mi"} and "PodResizeInProgress" not in kinds

        after = await until(client, "resized", settled)
        assert after["status"]["containerStatuses"][0]["containerID"] == before["status"]["containerStatuses"][0]["containerID"]
        uid = made["metadata"]["uid"]
        assert cgroup(node.home, uid, "memory.max" if unified() else "memory.limit_in_bytes") == str(48 << 20)
        assert cgroup(node.home, uid, "cpu.max" if unified() else "cpu.cfs_quota_us").split()[0] == "3000"
        await gone(client, "resized")
        await nothing_left(node.home, uid)

    node.run(scenario)


def test_a_class_of_quality_shares_what_its_pods_ask_for(node):
    # pkg/kubelet/cm/qos_container_manager_linux.go: the requests of burstable pods together, and never less than 2
    def share():
        (file,) = Path("/sys/fs/cgroup").glob(f"*{node.home.cgroup_root}/burstable/cpu.{'weight' if unified() else 'shares'}")
        return int(file.read_text())

    def wanted(milli):
        return weight(shares(milli)) if unified() else shares(milli)

    async def scenario(client):
        names = [f"burstable-{number}" for number in range(3)]
        for name in names:
            given = pod(name, SERVES, container={"resources": {"requests": {"cpu": "50m"}}})
            await client.create(PODS, given, "default")
        for name in names:
            await until(client, name, ready)
        assert share() == wanted(150)
        for name in names:
            await gone(client, name, gracePeriodSeconds=1)
        assert share() == wanted(0)

    node.run(scenario)


def test_a_pod_for_which_there_is_no_room_is_refused(node):
    async def scenario(client):
        given = pod("huge", SERVES, container={"resources": {"requests": {"memory": "100Ti"}}})
        await client.create(PODS, given, "default")
        found = await until(client, "huge", lambda each: each["status"].get("phase") == "Failed")
        assert found["status"]["reason"] == "OutOfmemory"
        assert found["status"]["message"].startswith("Pod was rejected: Node didn't have enough resource: memory, requested: ")
        await gone(client, "huge")

    node.run(scenario)


def test_a_part_of_a_volume(node):
    async def scenario(client):
        volumes = [{"name": "v", "emptyDir": {}}]
        mounts = [{"name": "v", "mountPath": "/part", "subPath": "a/b"}, {"name": "v", "mountPath": "/whole"}]
        script = "echo hello > /part/file; cat /whole/a/b/file; ln -s / /whole/out"
        given = pod("part", script, container={"volumeMounts": mounts}, volumes=volumes, restartPolicy="Never")
        made = await client.create(PODS, given, "default")
        await until(client, "part", lambda each: each["status"].get("phase") == "Succeeded")
        assert await logs(client, "part") == "hello\n"
        await gone(client, "part")
        await nothing_left(node.home, made["metadata"]["uid"])
        assert mounts_below(node.home.folder / "kubelet" / "pods") == []

    node.run(scenario)


def test_the_files_of_an_image_are_a_volume(node):
    # https://kubernetes.io/docs/tasks/configure-pod-container/image-volumes/
    async def scenario(client):
        volumes = [{"name": "v", "image": {"reference": IMAGE, "pullPolicy": "Never"}}]
        mounts = [{"name": "v", "mountPath": "/image"}]
        script = "test -e /image/bin/busybox && touch /image/new 2>/dev/null || echo read-only"
        given = pod("of-image", script, container={"volumeMounts": mounts}, volumes=volumes, restartPolicy="Never")
        made = await client.create(PODS, given, "default")
        await until(client, "of-image", lambda each: each["status"].get("phase") == "Succeeded")
        assert await logs(client, "of-image") == "read-only\n"
        await gone(client, "of-image")
        await nothing_left(node.home, made["metadata"]["uid"])

    node.run(scenario)
