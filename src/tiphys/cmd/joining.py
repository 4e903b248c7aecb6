"""What a node that joins finds: whom it talks to (cluster-info), and the rights to ask for a certificate and to get it.

Names and rules are kubeadm's, so that its users find what they know.
"""

from collections.abc import Iterable

import yaml

from tiphys.api.bootstrap_tokens import CLUSTER_INFO, CLUSTER_INFO_NAMESPACE, DEFAULT_GROUP, KUBECONFIG_KEY
from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.kind import Kind
from tiphys.api.rbac.clusterrolebindings import CLUSTER_ROLE_BINDINGS
from tiphys.api.rbac.clusterroles import CLUSTER_ROLES
from tiphys.api.rbac.rolebindings import ROLE_BINDINGS
from tiphys.api.rbac.roles import ROLES
from tiphys.apiserver.authn.user import ANONYMOUS, NODES
from tiphys.client import kubeconfig
from tiphys.client.interface import Client
from tiphys.client.kubeconfig import Access
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj, get

TOKEN_GROUP = f"{DEFAULT_GROUP}:kubeadm:default-node-token"
"""Of whoever joins with a token that was made without further wishes."""

SYSTEM = "kube-system"
KUBELET_CONFIG = "kubelet-config"

_GROUP = "rbac.authorization.k8s.io"
_REQUESTS = "system:certificates.k8s.io:certificatesigningrequests"
_BECOME, _RENEW = f"{_REQUESTS}:nodeclient", f"{_REQUESTS}:selfnodeclient"
_SEE_CLUSTER_INFO = "kubeadm:bootstrap-signer-clusterinfo"
_GET_NODES = "kubeadm:get-nodes"
_SEE_SETTINGS = "kubeadm:kubelet-config"


def cluster_info(server: str, authority: bytes) -> Obj:
    """A kubeconfig without credentials; the bootstrap signer signs it."""
    content = kubeconfig.render(kubeconfig.cluster_only(Access(server, authority))).decode()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CLUSTER_INFO, "namespace": CLUSTER_INFO_NAMESPACE},
        "data": {KUBECONFIG_KEY: content},
    }


def kubelet_config(dns_ip: str, domain: str = "cluster.local") -> Obj:
    """A KubeletConfiguration: what all kubelets have in common."""
    told: Obj = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "clusterDomain": domain}
    if dns_ip:
        told["clusterDNS"] = [dns_ip]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": KUBELET_CONFIG, "namespace": SYSTEM},
        "data": {"kubelet": yaml.safe_dump(told)},
    }


async def publish(client: Client, config: Obj) -> None:
    """If it is not there: somebody may have changed it since."""
    try:
        await client.create(CONFIG_MAPS, config, SYSTEM)
    except ApiError as problem:
        if problem.reason != "AlreadyExists":
            raise


def rights() -> list[tuple[Kind, Obj]]:
    look = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [CLUSTER_INFO], "verbs": ["get"]}
    nodes = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}
    return [
        (ROLES, _named("Role", _SEE_CLUSTER_INFO, CLUSTER_INFO_NAMESPACE, rules=[look])),
        (ROLE_BINDINGS, _binding(_SEE_CLUSTER_INFO, "Role", _SEE_CLUSTER_INFO, "User", ANONYMOUS, CLUSTER_INFO_NAMESPACE)),
        (CLUSTER_ROLES, _named("ClusterRole", _GET_NODES, rules=[nodes])),
        (ROLES, _named("Role", _SEE_SETTINGS, SYSTEM, rules=[{**look, "resourceNames": [KUBELET_CONFIG]}])),
        (ROLE_BINDINGS, _binding(_SEE_SETTINGS, "Role", _SEE_SETTINGS, "Group", NODES, SYSTEM)),
        (CLUSTER_ROLE_BINDINGS, _of_group("kubeadm:node-autoapprove-certificate-rotation", _RENEW, NODES)),
        *rights_of(TOKEN_GROUP),
    ]


def rights_of(group: str) -> list[tuple[Kind, Obj]]:
    """What lets those who join as a group of bootstrappers become nodes."""
    own = "" if group == TOKEN_GROUP else group.removeprefix(DEFAULT_GROUP)
    see = {**_binding(_SEE_SETTINGS, "Role", _SEE_SETTINGS, "Group", group, SYSTEM)}
    see["metadata"] = {"name": f"{_SEE_SETTINGS}:bootstrappers{own}", "namespace": SYSTEM}
    return [
        (ROLE_BINDINGS, see),
    ] + [
        (CLUSTER_ROLE_BINDINGS, _of_group(f"kubeadm:{name}{own}", role, group))
        for name, role in (
            ("get-nodes", _GET_NODES),
            ("kubelet-bootstrap", "system:node-bootstrapper"),
            ("node-autoapprove-bootstrap", _BECOME),
        )
    ]


async def server_told(client: Client) -> str:
    """Where nodes are told to find the API; empty: nowhere yet."""
    try:
        present = await client.get(CONFIG_MAPS, CLUSTER_INFO, CLUSTER_INFO_NAMESPACE)
        return str(yaml.safe_load(present["data"][KUBECONFIG_KEY])["clusters"][0]["cluster"]["server"])
    except (ApiError, LookupError, TypeError, yaml.YAMLError):
        return ""


async def ensure(client: Client, server: str, authority: bytes, groups: Iterable[str] = ()) -> None:
    """Make all that, and what further `groups` need; of what is there already only the kubeconfig is brought up to date."""
    wanted = cluster_info(server, authority)
    further = [each for group in groups if group != TOKEN_GROUP for each in rights_of(group)]
    for kind, obj in ((CONFIG_MAPS, wanted), *rights(), *further):
        try:
            await client.create(kind, obj, obj["metadata"].get("namespace", ""))
        except ApiError as problem:
            if problem.reason != "AlreadyExists":
                raise
            if kind is CONFIG_MAPS:
                await _bring_up_to_date(client, wanted)


async def _bring_up_to_date(client: Client, wanted: Obj) -> None:
    present = await client.get(CONFIG_MAPS, CLUSTER_INFO, CLUSTER_INFO_NAMESPACE)
    if get(present, ("data", KUBECONFIG_KEY)) != wanted["data"][KUBECONFIG_KEY]:
        await client.patch(CONFIG_MAPS, CLUSTER_INFO, {"data": wanted["data"]}, CLUSTER_INFO_NAMESPACE)


def _of_group(name: str, role: str, group: str) -> Obj:
    return _binding(name, "ClusterRole", role, "Group", group)


def _binding(name: str, role_kind: str, role: str, subject_kind: str, subject: str, namespace: str = "") -> Obj:
    subjects = [{"apiGroup": _GROUP, "kind": subject_kind, "name": subject}]
    reference = {"apiGroup": _GROUP, "kind": role_kind, "name": role}
    return _named("RoleBinding" if namespace else "ClusterRoleBinding", name, namespace, roleRef=reference, subjects=subjects)


def _named(kind: str, name: str, namespace: str = "", **content: object) -> Obj:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": metadata, **content}
