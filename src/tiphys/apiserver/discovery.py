"""What the server serves, told in the two ways that clients ask: group by group (legacy) and all at once (aggregated). Core."""

import base64
import hashlib
from collections.abc import Iterable

from tiphys.api.kind import Kind
from tiphys.apiserver.catalogue import Catalogue
from tiphys.machinery.tree import Obj

GROUP_ORDER = (
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
)
"""kubectl prefers earlier groups when a short name is ambiguous. Groups of CRDs follow, by name."""

_PART_VERBS = ["get", "patch", "update"]
_CONNECT_VERBS = ["create", "get"]
_PROXY_VERBS = ["create", "delete", "get", "patch", "update"]

_SUBRESOURCES: dict[str, tuple[str, str, str, list[str]]] = {
    # name: (group, version, kind or "" for the parent's, verbs)
    "scale": ("autoscaling", "v1", "Scale", _PART_VERBS),
    "binding": ("", "", "Binding", ["create"]),
    "eviction": ("policy", "v1", "Eviction", ["create"]),
    "token": ("authentication.k8s.io", "v1", "TokenRequest", ["create"]),
    "log": ("", "", "", ["get"]),
    "finalize": ("", "", "", ["update"]),
    "exec": ("", "", "PodExecOptions", _CONNECT_VERBS),
    "attach": ("", "", "PodAttachOptions", _CONNECT_VERBS),
    "portforward": ("", "", "PodPortForwardOptions", _CONNECT_VERBS),
}


def _subresource(kind: Kind, name: str) -> tuple[str, str, str, list[str]]:
    if name == "proxy":
        return "", "", f"{kind.kind}ProxyOptions", _PROXY_VERBS
    group, version, responds, verbs = _SUBRESOURCES.get(name, ("", "", "", _PART_VERBS))
    return group, version, responds or kind.kind, verbs


def subresources(kind: Kind) -> list[str]:
    names = {*kind.subresources, *kind.parts}
    if kind.strategy.status:
        names.add("status")
    if kind.scale is not None:
        names.add("scale")
    if kind.custom:
        return [each for each in ("status", "scale") if each in names]
    return sorted(names)


def version_order(version: str) -> tuple[int, int, int, str]:
    """v2, v1, v1beta2, v1beta1, v1alpha1, then anything else by name: upstream's order of preference."""
    major, stage, minor = version.removeprefix("v"), 3, 0
    for rank, name in ((1, "beta"), (2, "alpha")):
        if name in major:
            major, _, tail = major.partition(name)
            stage, minor = rank, int(tail) if tail.isdecimal() else 0
            break
    else:
        stage = 0
    if not version.startswith("v") or not major.isdecimal():
        return (3, 0, 0, version)
    return (stage, -int(major), -minor, version)


class Discovery:
    """The documents, made again when the catalogue has changed."""

    def __init__(self, catalogue: Catalogue, server_address: str, *, hashes: bool = True) -> None:
        """`hashes`: say of each kind in which version it is stored."""
        self._hashes = hashes
        self._catalogue = catalogue
        self._address = server_address

    def _groups(self) -> dict[str, dict[str, list[Kind]]]:
        found: dict[str, dict[str, list[Kind]]] = {}
        for served in self._catalogue:
            kind = served.kind
            found.setdefault(kind.group, {}).setdefault(kind.version, []).append(kind)
        known = [group for group in GROUP_ORDER if group in found]
        others = sorted(group for group in found if group not in GROUP_ORDER)
        return {group: {v: found[group][v] for v in sorted(found[group], key=version_order)} for group in known + others}

    def api_versions(self) -> Obj:
        return {
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": self._address}],
        }

    def group_list(self) -> Obj:
        groups = [_group(name, versions) for name, versions in self._groups().items() if name]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}

    def group(self, name: str) -> Obj | None:
        versions = self._groups().get(name)
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if name and versions else None

    def resources(self, group: str, version: str) -> Obj | None:
        kinds = self._groups().get(group, {}).get(version)
        if kinds is None:
            return None
        listed = [entry for kind in sorted(kinds, key=lambda kind: kind.plural) for entry in _legacy(kind, self._hashes)]
        head: Obj = {"kind": "APIResourceList"}
        if group:
            head["apiVersion"] = "v1"
        return {**head, "groupVersion": f"{group}/{version}" if group else version, "resources": listed}

    def aggregated(self, core: bool) -> Obj:
        """The core group (for /api), or all others (for /apis)."""
        items = [_aggregated(name, versions) for name, versions in self._groups().items() if (name == "") == core]
        return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _group(name: str, versions: Iterable[str]) -> Obj:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _legacy(kind: Kind, hashes: bool) -> Iterable[Obj]:
    entry: Obj = {
        "name": kind.plural,
        "singularName": kind.singular or kind.kind.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _verbs(kind),
    }
    if kind.short:
        entry["shortNames"] = list(kind.short)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if hashes and not kind.ephemeral and {"list", "create"} <= set(kind.verbs):
        entry["storageVersionHash"] = storage_hash(kind.stored)
    yield entry
    for name in subresources(kind):
        group, version, responds, verbs = _subresource(kind, name)
        part: Obj = {"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced}
        if group:
            part.update(group=group, version=version)
        yield {**part, "kind": responds, "verbs": verbs}


_STORED_VERSION = {
    "customresourcedefinitions": "v1beta1",
    "mutatingadmissionpolicies": "v1beta1",
    "mutatingadmissionpolicybindings": "v1beta1",
}
"""What upstream writes to its store, where that is not the version it serves: an older server must be able to read it."""


def storage_hash(kind: Kind) -> str:
    version = _STORED_VERSION.get(kind.plural, kind.version)
    told = "/".join((kind.group, version, kind.kind))
    return base64.b64encode(hashlib.sha256(told.encode()).digest()[:8]).decode()


def _aggregated(name: str, versions: dict[str, list[Kind]]) -> Obj:
    return {
        "metadata": {"name": name} if name else {},
        "versions": [
            {
                "version": version,
                "resources": [_discovered(kind) for kind in sorted(kinds, key=lambda kind: kind.plural)],
                "freshness": "Current",
            }
            for version, kinds in versions.items()
        ],
    }


def _response_kind(kind: Kind, name: str) -> Obj:
    """Empty: the group and version of the list it stands in; custom kinds say them all the same."""
    group, version = (kind.group, kind.version) if kind.custom else ("", "")
    return {"group": group, "version": version, "kind": name}


def _verbs(kind: Kind) -> list[str]:
    verbs: list[str] = list(kind.verbs) if kind.custom else sorted(kind.verbs)
    return [each for each in verbs if each not in ("create", "patch", "update")] if kind.closing else verbs


def _discovered(kind: Kind) -> Obj:
    entry: Obj = {
        "resource": kind.plural,
        "responseKind": _response_kind(kind, kind.kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular or kind.kind.lower(),
        "verbs": _verbs(kind),
    }
    if kind.short:
        entry["shortNames"] = list(kind.short)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    parts = []
    for name in subresources(kind):
        group, version, responds, verbs = _subresource(kind, name)
        responds_with = {"group": group, "version": version, "kind": responds} if group else _response_kind(kind, responds)
        parts.append({"subresource": name, "responseKind": responds_with, "verbs": verbs})
    if parts:
        entry["subresources"] = parts
    return entry
