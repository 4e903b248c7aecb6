"""Pods on a real containerd: from create to Ready to gone."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.kubelet.cri.runtime import Runtime
from tiphys.kubelet.node.facts import hostname
from tiphys.kubelet.volumes.host import mounts_below
from tiphys.machinery.errors import ApiError

pytestmark = [pytest.mark.root, pytest.mark.slow]  # containers take their time

IMAGE = "busybox:test"


def pod(name, script, *, container=None, **spec):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "nodeName": hostname(),
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 30,
            "containers": [
                {
                    "name": "c",
                    "image": IMAGE,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["sh", "-c", script],
                    **(container or {}),
                }
            ],
            **spec,
        },
    }


SERVES = "trap 'exit 0' TERM; while true; do sleep 0.1; done"


async def until(client, name, holds):
    """The pod once `holds(pod)`; the watch is the API's own."""
    found = await client.get(PODS, name, "default")
    if holds(found):
        return found
    params = {"resourceVersion": found["metadata"]["resourceVersion"]}
    async with aclosing(client.watch(PODS, "default", fields=f"metadata.name={name}", params=params)) as events:
        async for event in events:
            if event.type == "DELETED" or holds(event.object):
                return event.object
    raise AssertionError("the watch ended")


def ready(found):
    return any(each["type"] == "Ready" and each["status"] == "True" for each in found["status"].get("conditions") or ())


def ended(found):
    return found["status"].get("phase") in ("Succeeded", "Failed")


async def gone(client, name, **options):
    await client.delete(PODS, name, "default", options=options or None)
    try:
        await until(client, name, lambda _: False)
    except ApiError as refused:
        # It went before the watch began.
        if refused.code != 404:
            raise


async def logs(client, name, query=""):
    return (await client.raw("GET", f"/api/v1/namespaces/default/pods/{name}/log{query}")).body.decode()


async def nothing_left(home, uid):
    """Of the pod, on this machine."""
    runtime = Runtime(Path(home.layout.socket))
    try:
        while any(each.pod_uid == uid for each in await runtime.seen()):  # noqa: ASYNC110 - the runtime tells no events
            await asyncio.sleep(0.05)
    finally:
        await runtime.close()
    await asyncio.to_thread(no_files, home, uid)


def no_files(home, uid):
    folder = home.folder / "kubelet" / "pods" / uid
    assert not folder.exists()
    assert mounts_below(folder) == []
    assert not [each for each in Path("/sys/fs/cgroup").glob(f"*{home.cgroup_root}/**/*") if uid in each.name]


def test_a_pod_from_create_to_ready_to_gone(node):
    async def scenario(client):
        made = await client.create(PODS, pod("life", SERVES), "default")
        running = await until(client, "life", ready)
        status = running["status"]
        assert status["phase"] == "Running"
        assert status["podIP"].startswith("10.238.")
        assert status["containerStatuses"][0]["restartCount"] == 0
        await gone(client, "life")
        await nothing_left(node.home, made["metadata"]["uid"])

    node.run(scenario)


def test_init_containers_volumes_and_environment(node):
    async def scenario(client):
        config = {"metadata": {"name": "settings", "namespace": "default"}, "data": {"greeting": "hello"}}
        await client.create(CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", **config}, "default")
        script = "cat /work/first /config/greeting; echo; echo $GREETING $NAME $TWICE; cat /etc/podinfo/labels; id -u"
        container = {
            "env": [
                {"name": "GREETING", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "greeting"}}},
                {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "TWICE", "value": "$(NAME)-$(NAME)"},
            ],
            "volumeMounts": [
                {"name": "work", "mountPath": "/work"},
                {"name": "config", "mountPath": "/config"},
                {"name": "info", "mountPath": "/etc/podinfo"},
            ],
        }
        first = {
            "name": "first",
            "image": IMAGE,
            "command": ["sh", "-c", "echo first > /work/first"],
            "volumeMounts": [{"name": "work", "mountPath": "/work"}],
        }
        given = pod(
            "files",
            script,
            container=container,
            restartPolicy="Never",
            initContainers=[first],
            securityContext={"runAsUser": 1234},
            volumes=[
                {"name": "work", "emptyDir": {"medium": "Memory"}},
                {"name": "config", "configMap": {"name": "settings"}},
                {"name": "info", "downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            ],
        )
        given["metadata"]["labels"] = {"app": "x"}
        made = await client.create(PODS, given, "default")
        found = await until(client, "files", ended)
        assert found["status"]["phase"] == "Succeeded"
        assert await logs(client, "files") == 'first\nhello\nhello files files-files\napp="x"1234\n'
        await gone(client, "files")
        await nothing_left(node.home, made["metadata"]["uid"])

    node.run(scenario)


def test_a_token_of_the_service_account(node):
    async def scenario(client):
        mount = "/var/run/secrets/kubernetes.io/serviceaccount"
        token = {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}
        given = pod(
            "token",
            f"cat {mount}/token",
            container={"volumeMounts": [{"name": "t", "mountPath": mount}]},
            restartPolicy="Never",
            serviceAccountName="default",
            volumes=[{"name": "t", "projected": {"sources": [token]}}],
        )
        await client.create(PODS, given, "default")
        assert (await until(client, "token", ended))["status"]["phase"] == "Succeeded"
        assert len((await logs(client, "token")).split(".")) == 3
        await gone(client, "token")

    node.run(scenario)


def test_a_failing_container_is_restarted_and_says_why(node):
    async def scenario(client):
        script = "echo trouble > /dev/termination-log; exit 3"
        await client.create(PODS, pod("crash", script), "default")

        def backs_off(found):
            statuses = found["status"].get("containerStatuses") or [{}]
            return (statuses[0].get("state") or {}).get("waiting", {}).get("reason") == "CrashLoopBackOff"

        status = (await until(client, "crash", backs_off))["status"]["containerStatuses"][0]
        assert status["restartCount"] == 1
        assert status["lastState"]["terminated"]["exitCode"] == 3
        assert status["lastState"]["terminated"]["message"] == "trouble\n"
        assert status["state"]["waiting"]["message"].startswith("back-off 10s restarting failed container=c pod=crash_default(")
        await gone(client, "crash")

    node.run(scenario)


def test_liveness_restarts_and_readiness_does_not(node):
    async def scenario(client):
        container = {
            "livenessProbe": {"exec": {"command": ["test", "!", "-e", "/dead"]}, "periodSeconds": 1, "failureThreshold": 1},
            "readinessProbe": {"httpGet": {"port": 8080, "path": "/"}, "periodSeconds": 1},
        }
        script = "echo hi > /index.html; httpd -p 8080 -h /; sleep 3; touch /dead; " + SERVES
        await client.create(PODS, pod("probed", script, container=container), "default")
        await until(client, "probed", ready)

        def restarted(found):
            return found["status"]["containerStatuses"][0]["restartCount"] >= 1

        await until(client, "probed", restarted)
        await gone(client, "probed")

    node.run(scenario)


def test_hooks_and_the_end_of_a_pod(node):
    async def scenario(client):
        lifecycle = {
            "postStart": {"exec": {"command": ["sh", "-c", "echo began > /hooks/log"]}},
            "preStop": {"exec": {"command": ["sh", "-c", "echo ending >> /hooks/log"]}},
        }
        host = node.folder / "hooks"
        host.mkdir()
        given = pod(
            "hooked",
            "trap 'echo ended >> /hooks/log; exit 0' TERM; while true; do sleep 0.1; done",
            container={"lifecycle": lifecycle, "volumeMounts": [{"name": "h", "mountPath": "/hooks"}]},
            volumes=[{"name": "h", "hostPath": {"path": str(host), "type": "Directory"}}],
        )
        await client.create(PODS, given, "default")
        await until(client, "hooked", ready)
        await gone(client, "hooked")
        assert (host / "log").read_text() == "began\nending\nended\n"

    node.run(scenario)


def test_an_image_that_is_not_there(node):
    async def scenario(client):
        given = pod("noimage", "true", container={"imagePullPolicy": "Never", "image": "nobody/nothing:1"})
        await client.create(PODS, given, "default")

        def refused(found):
            statuses = found["status"].get("containerStatuses") or [{}]
            return (statuses[0].get("state") or {}).get("waiting", {}).get("reason") == "ErrImageNeverPull"

        found = await until(client, "noimage", refused)
        assert found["status"]["phase"] == "Pending"
        await gone(client, "noimage")

    node.run(scenario)


def test_logs_by_the_api_server(node):
    async def scenario(client):
        await client.create(PODS, pod("talks", "for i in 1 2 3; do echo line $i; done", restartPolicy="Never"), "default")
        await until(client, "talks", ended)
        assert await logs(client, "talks") == "line 1\nline 2\nline 3\n"
        assert await logs(client, "talks", "?tailLines=1") == "line 3\n"
        assert await logs(client, "talks", "?limitBytes=4") == "line"
        assert await logs(client, "talks", "?follow=true") == "line 1\nline 2\nline 3\n"
        await gone(client, "talks")

    node.run(scenario)


def test_deletion_by_force_leaves_nothing(node):
    async def scenario(client):
        made = await client.create(PODS, pod("forced", "sleep 1000", terminationGracePeriodSeconds=1), "default")
        await until(client, "forced", ready)
        await gone(client, "forced", gracePeriodSeconds=0)
        await nothing_left(node.home, made["metadata"]["uid"])

    node.run(scenario)


def test_a_deletion_can_be_made_faster(node):
    async def scenario(client):
        await client.create(PODS, pod("slow", "sleep 1000", terminationGracePeriodSeconds=1000), "default")
        await until(client, "slow", ready)
        await client.delete(PODS, "slow", "default")
        await gone(client, "slow", gracePeriodSeconds=1)

    node.run(scenario)


def test_the_node_says_how_it_is(node):
    async def scenario(client):
        found = await client.get(NODES, hostname())
        conditions = {each["type"]: each for each in found["status"]["conditions"]}
        assert conditions["Ready"]["status"] == "True"
        assert found["status"]["nodeInfo"]["containerRuntimeVersion"].startswith("containerd://")

    node.run(scenario)


def test_a_pod_that_is_active_for_too_long(node):
    async def scenario(client):
        await client.create(PODS, pod("late", SERVES, activeDeadlineSeconds=1), "default")
        found = await until(client, "late", ended)
        assert (found["status"]["phase"], found["status"]["reason"]) == ("Failed", "DeadlineExceeded")
        await gone(client, "late")

    node.run(scenario)


def test_an_ephemeral_container(node):
    async def scenario(client):
        await client.create(PODS, pod("looked-into", SERVES), "default")
        await until(client, "looked-into", ready)
        added = {"name": "debug", "image": IMAGE, "command": ["echo", "hello"], "terminationMessagePolicy": "File"}
        change = {"spec": {"ephemeralContainers": [added]}}
        await client.patch(PODS, "looked-into", change, "default", patch_type="strategic", subresource="ephemeralcontainers")

        def looked(found):
            statuses = found["status"].get("ephemeralContainerStatuses") or [{}]
            return "terminated" in (statuses[0].get("state") or {})

        await until(client, "looked-into", looked)
        assert await logs(client, "looked-into", "?container=debug") == "hello\n"
        await gone(client, "looked-into")

    node.run(scenario)
