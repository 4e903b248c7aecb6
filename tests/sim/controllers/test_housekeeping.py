"""Quotas, aggregated roles, pods of lost nodes, Jobs that are out of date."""

from typing import Any

import pytest
from tests.cluster import Cluster, simulate
from tests.virtual_loop import START

from tiphys.api.batch.jobs import JOBS
from tiphys.api.core.nodes import NODES
from tiphys.api.core.pods import PODS
from tiphys.api.core.resourcequotas import RESOURCE_QUOTAS
from tiphys.api.rbac.clusterroles import CLUSTER_ROLES
from tiphys.controllers.registry import Settings, controllers
from tiphys.machinery import meta, times
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj


def every() -> list[Any]:
    return controllers(Settings(root_ca="certificate"))


def pod(name: str, **metadata: Any) -> Obj:
    requests = {"cpu": "100m", "memory": "1Mi"}
    container = {"name": "c", "image": "x", "resources": {"requests": requests}}
    meta_data = {"name": name, "namespace": "default", **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta_data, "spec": {"containers": [container]}}


def test_a_quota_is_charged_by_writes_and_given_back_by_deletions():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(PODS, pod("before"))
        hard = {"pods": "3", "requests.cpu": "1", "count/configmaps": "5", "services": "2"}
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
        await cluster.create(RESOURCE_QUOTAS, {**quota, "spec": {"hard": hard}})
        await cluster.settle()
        status = (await cluster.get(RESOURCE_QUOTAS, "default/q"))["status"]
        assert status["hard"] == hard
        assert status["used"] == {"pods": "1", "requests.cpu": "100m", "count/configmaps": "1", "services": "0"}
        await cluster.create(PODS, pod("a"))
        await cluster.create(PODS, pod("b"))
        with pytest.raises(ApiError, match="exceeded quota"):
            await cluster.create(PODS, pod("c"))
        await cluster.delete(PODS, "default/a")
        await cluster.settle()
        status = (await cluster.get(RESOURCE_QUOTAS, "default/q"))["status"]
        assert (status["used"]["pods"], status["used"]["requests.cpu"]) == ("2", "200m")

    simulate(scenario, every)


def test_limits_that_somebody_else_reported_are_reported_anew():
    """test/e2e/apimachinery/resource_quota.go, "should apply changes to a resourcequota status"."""

    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
        await cluster.create(RESOURCE_QUOTAS, {**quota, "spec": {"hard": {"cpu": "1", "memory": "1Gi"}}})
        await cluster.settle()
        told = await cluster.patch(RESOURCE_QUOTAS, "default/q", {"status": {"hard": {"cpu": "2"}}}, "status")
        assert told["status"]["hard"] == {"cpu": "2", "memory": "1Gi"}
        await cluster.settle()
        status = (await cluster.get(RESOURCE_QUOTAS, "default/q"))["status"]
        assert status["hard"] == {"cpu": "1", "memory": "1Gi"}

    simulate(scenario, every)


def test_aggregated_roles_have_the_rules_of_their_parts():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        admin = await cluster.get(CLUSTER_ROLES, "admin")
        assert len(admin["rules"]) > 10
        part = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "mine", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
            "rules": [{"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get"]}],
        }
        await cluster.create(CLUSTER_ROLES, part)
        await cluster.settle()
        view = await cluster.get(CLUSTER_ROLES, "view")
        assert part["rules"][0] in view["rules"]
        # View is a part of edit, and edit of admin.
        assert part["rules"][0] in (await cluster.get(CLUSTER_ROLES, "admin"))["rules"]
        assert "clusterrole-aggregation-controller" in [each["manager"] for each in view["metadata"]["managedFields"]]

    simulate(scenario, every)


def test_pods_of_a_node_that_is_gone_go_after_a_quarantine():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        await cluster.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}})
        await cluster.create(PODS, pod("a", finalizers=["example.com/look"]))
        target = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}}
        await cluster.admin.create(PODS, target, "default", name="a", subresource="binding")
        await cluster.delete(NODES, "n1")
        await cluster.settle(30)
        assert not meta.is_deleting(await cluster.get(PODS, "default/a"))
        await cluster.settle(15)
        lost = await cluster.get(PODS, "default/a")
        assert meta.is_deleting(lost)
        assert lost["status"]["phase"] == "Failed"
        assert [each["reason"] for each in lost["status"]["conditions"] if each["type"] == "DisruptionTarget"] == [
            "DeletionByPodGC"
        ]

    simulate(scenario, every)


def test_a_job_goes_when_its_time_is_over():
    async def scenario(cluster: Cluster) -> None:
        await cluster.settle()
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}
        metadata = {"name": "j", "namespace": "default"}
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
        await cluster.create(JOBS, {**job, "spec": {"ttlSecondsAfterFinished": 100, "template": template}})
        now = times.rfc3339(START + 1)
        told = {"status": "True", "lastTransitionTime": now, "lastProbeTime": now, "reason": "r", "message": "m"}
        both = [{**told, "type": "SuccessCriteriaMet"}, {**told, "type": "Complete"}]
        status = {"startTime": now, "completionTime": now, "succeeded": 1, "conditions": both}
        await cluster.patch(JOBS, "default/j", {"status": status}, "status")
        await cluster.settle(90)
        await cluster.get(JOBS, "default/j")
        await cluster.settle(20)
        with pytest.raises(ApiError, match="not found"):
            await cluster.get(JOBS, "default/j")

    simulate(scenario, every)
