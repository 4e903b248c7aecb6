"""What the server fills into a pod beyond what every pod spec gets."""

from tiphys.api import unset_times
from tiphys.api.pod_template import amounts, default_spec, totals
from tiphys.api.pod_template.defaults import drop_dead_annotations
from tiphys.api.resources import is_huge_pages, may_be_overcommitted
from tiphys.machinery.tree import Obj


def default(pod: Obj) -> None:
    spec = pod.get("spec")
    if spec is None:
        spec = pod["spec"] = {"containers": None}
    default_spec(spec)
    for group in ("initContainers", "containers"):
        for container in spec.get(group) or ():
            resources = container["resources"]
            if resources and resources.get("limits"):
                _request_what_is_limited(resources)
    if spec.get("resources") is not None:
        _default_pod_level(spec)
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    status = pod.get("status")
    if status is None:
        pod["status"] = {}
    elif status:
        _default_status(status)
    drop_dead_annotations(pod.get("metadata") or {})


def _request_what_is_limited(resources: Obj) -> None:
    requests = resources.get("requests")
    if requests is None:
        requests = resources["requests"] = {}
    for name, amount in resources["limits"].items():
        requests.setdefault(name, amount)


def _default_pod_level(spec: Obj) -> None:
    resources = spec["resources"]
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not limits and not requests:
        return
    for name, amount in totals.of_containers(spec, "limits").items():
        if is_huge_pages(name) and name not in requests:
            limits.setdefault(name, str(amount))
    if limits:
        resources["limits"] = limits
        for name, amount in totals.of_containers(spec, "requests").items():
            if amounts.is_pod_level(name) and may_be_overcommitted(name):
                requests.setdefault(name, str(amount))
        for name, text in limits.items():
            if amounts.is_pod_level(name):
                requests.setdefault(name, text)
    if requests:
        resources["requests"] = requests


def _default_host_ports(spec: Obj) -> None:
    """In the host's network a container's port is the host's."""
    for group in ("containers", "initContainers"):
        for container in spec.get(group) or ():
            for port in container.get("ports") or ():
                if not port.get("hostPort"):
                    port["hostPort"] = port.get("containerPort")


def _default_status(status: Obj) -> None:
    if "podIP" in status or "podIPs" in status:
        _sync_addresses(status)
    unset_times.show(status.get("conditions"), unset_times.PROBED)
    for group in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for container in status.get(group) or ():
            for name in ("state", "lastState"):
                _default_state(container.get(name) or {})


def _default_state(state: Obj) -> None:
    for name, times in (("running", ("startedAt",)), ("terminated", ("startedAt", "finishedAt"))):
        if state.get(name) is not None:
            unset_times.show((state[name],), times)


def _sync_addresses(status: Obj) -> None:
    """`podIP` is the first of `podIPs`; where they differ, an old client wrote it and means it."""
    first, listed = status.get("podIP"), status.get("podIPs")
    if first and (not listed or listed[0].get("ip") != first):
        status["podIPs"] = [{"ip": first}]
    elif listed and not first and listed[0].get("ip"):
        status["podIP"] = listed[0]["ip"]
