"""How things that belong to a pod are called on this node."""

from pathlib import PurePath

from tiphys.machinery.tree import Obj


def shown(pod: Obj) -> str:
    """As upstream prints a pod in messages: name_namespace(uid)."""
    meta = pod["metadata"]
    return f"{meta['name']}_{meta['namespace']}({meta['uid']})"


def log_folder(logs: PurePath, pod: Obj) -> PurePath:
    meta = pod["metadata"]
    return logs / f"{meta['namespace']}_{meta['name']}_{meta['uid']}"


def hostname(pod: Obj, node: str) -> str:
    """What the pod believes it is called: at most 63 characters, none of them a dot or dash at the end."""
    spec = pod["spec"]
    if spec.get("hostnameOverride"):
        return str(spec["hostnameOverride"])
    if spec.get("hostNetwork"):
        return node
    name: str = spec.get("hostname") or pod["metadata"]["name"]
    return name[:63].rstrip("-.")


def domain(pod: Obj, cluster_domain: str) -> str:
    """The pod's place in DNS, where it has one."""
    sub = pod["spec"].get("subdomain")
    return f"{sub}.{pod['metadata']['namespace']}.svc.{cluster_domain}" if sub else ""


def all_containers(pod: Obj) -> list[Obj]:
    spec = pod["spec"]
    return [*(spec.get("initContainers") or ()), *spec["containers"], *(spec.get("ephemeralContainers") or ())]
