"""The default roles and bindings. What they grant stands in `roles.tsv` and `bindings.tsv`, one rule or binding a line."""

from collections.abc import Iterator
from functools import cache
from importlib import resources

from tiphys.machinery.tree import Obj

GROUP = "rbac.authorization.k8s.io"
API_VERSION = f"{GROUP}/v1"
AUTOUPDATE = "rbac.authorization.kubernetes.io/autoupdate"

_AGGREGATE_TO = "rbac.authorization.k8s.io/aggregate-to-"
# Aggregated role: the role whose rules it also becomes part of.
_AGGREGATED = {"admin": "", "edit": "admin", "view": "edit"}
_CONTRIBUTING = {
    "system:aggregate-to-admin": "admin",
    "system:aggregate-to-edit": "edit",
    "system:aggregate-to-view": "view",
}


def cluster_roles() -> list[Obj]:
    named = [_role("ClusterRole", "", name, rules) for name, rules in _rules().items() if "/" not in name]
    aggregated = [_aggregated(name) for name in _AGGREGATED]
    return sorted([*named, *aggregated], key=_name)


def roles() -> list[Obj]:
    split = ((name.partition("/"), rules) for name, rules in _rules().items() if "/" in name)
    return [_role("Role", namespace, name, rules) for (namespace, _, name), rules in split]


def cluster_role_bindings() -> list[Obj]:
    return [_binding(*line) for line in _lines("bindings.tsv") if "/" not in line[0]]


def role_bindings() -> list[Obj]:
    return [_binding(*line) for line in _lines("bindings.tsv") if "/" in line[0]]


def node_rules() -> list[Obj]:
    """What the role system:node grants: the node authorizer gives it to every node, without a binding."""
    return _rules()["system:node"]


def _name(obj: Obj) -> str:
    name: str = obj["metadata"]["name"]
    return name


def _lines(name: str) -> Iterator[list[str]]:
    text = resources.files(__package__).joinpath(name).read_text()
    return (line.split("\t") for line in text.splitlines() if not line.startswith("#"))


@cache
def _rules() -> dict[str, list[Obj]]:
    rules: dict[str, list[Obj]] = {}
    for role, verbs, groups, what, *names in _lines("roles.tsv"):
        rule: Obj = {"verbs": verbs.split(",")}
        if groups == "-":
            rule["nonResourceURLs"] = what.split(",")
        else:
            rule["apiGroups"] = ["" if group == "core" else group for group in groups.split(",")]
            rule["resources"] = what.split(",")
        if names:
            rule["resourceNames"] = names[0].split(",")
        rules.setdefault(role, []).append(rule)
    return rules


def _metadata(namespace: str, name: str, labels: dict[str, str]) -> Obj:
    metadata: Obj = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    metadata["labels"] = {"kubernetes.io/bootstrapping": "rbac-defaults", **labels}
    metadata["annotations"] = {AUTOUPDATE: "true"}
    return metadata


def _role(kind: str, namespace: str, name: str, rules: list[Obj]) -> Obj:
    target = _CONTRIBUTING.get(name)
    labels = {_AGGREGATE_TO + target: "true"} if target else {}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": _metadata(namespace, name, labels), "rules": rules}


def _aggregated(name: str) -> Obj:
    outer = _AGGREGATED[name]
    labels = {_AGGREGATE_TO + outer: "true"} if outer else {}
    selector = {"matchLabels": {_AGGREGATE_TO + name: "true"}}
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterRole",
        "metadata": _metadata("", name, labels),
        "aggregationRule": {"clusterRoleSelectors": [selector]},
        "rules": None,
    }


def _binding(key: str, role: str, subjects: str) -> Obj:
    namespace, _, name = key.rpartition("/")
    kind, _, role_name = role.partition("=")
    binding: Obj = {
        "apiVersion": API_VERSION,
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": _metadata(namespace, name, {}),
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role_name},
    }
    if subjects:
        binding["subjects"] = [_subject(each) for each in subjects.split(",")]
    return binding


def _subject(told: str) -> Obj:
    kind, _, name = told.partition("=")
    if kind == "ServiceAccount":
        namespace, _, account = name.partition("/")
        return {"kind": kind, "name": account, "namespace": namespace}
    return {"kind": kind, "apiGroup": GROUP, "name": name}
