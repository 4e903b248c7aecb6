"""kubeconfig files: read and merged as kubectl does, resolved to what a connection needs, and given new contexts.

https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
"""

import os
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tiphys.base.tls import Pair, write_private
from tiphys.machinery.tree import Obj

IN_CLUSTER = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_LISTS = ("clusters", "users", "contexts")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_FILES = {"cluster": ("certificate-authority",), "user": ("client-certificate", "client-key", "tokenFile")}


class BadConfig(ValueError):
    """The configuration does not say where to connect, or cannot be read."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where the API is and who asks."""

    server: str
    authority: bytes = b""
    pair: Pair | None = None
    token: str = ""
    token_file: str = ""
    basic: tuple[str, str] | None = None
    insecure: bool = False
    server_name: str = ""
    namespace: str = "default"
    impersonate: tuple[tuple[str, str], ...] = ()
    """Headers."""


def default_paths(environment: Mapping[str, str] = os.environ) -> list[Path]:
    listed = environment.get("KUBECONFIG", "")
    if listed:
        return [Path(each) for each in listed.split(os.pathsep) if each]
    return [Path(environment.get("HOME", "~")).expanduser() / ".kube" / "config"]


def load(paths: Sequence[Path]) -> Obj:
    """One configuration of all files that exist: of entries with one name, and of values, the first file's counts."""
    merged: Obj = {"apiVersion": "v1", "kind": "Config", **{each: [] for each in _LISTS}, "current-context": ""}
    for path in paths:
        if path.exists():
            _merge(merged, read(path))
    return merged


def read(path: Path) -> Obj:
    """One file, with paths in it made absolute."""
    try:
        tree = yaml.load(path.read_bytes(), _LOADER) or {}
    except OSError as error:
        raise BadConfig(f'error loading config file "{path}": {error.strerror}') from error
    except yaml.YAMLError as error:
        raise BadConfig(f'error loading config file "{path}": {error}') from error
    if not isinstance(tree, dict):
        raise BadConfig(f'error loading config file "{path}": it is not a mapping')
    for kind, names in _FILES.items():
        for entry in tree.get(kind + "s") or ():
            values = entry.get(kind) or {}
            for name in names:
                if values.get(name):
                    values[name] = str(path.parent.resolve() / values[name])
    return tree


def _merge(into: Obj, tree: Obj) -> None:
    for each in _LISTS:
        known = {entry["name"] for entry in into[each]}
        into[each] += [entry for entry in tree.get(each) or () if entry.get("name") not in known]
    into["current-context"] = into["current-context"] or tree.get("current-context") or ""


def resolve(config: Obj, context: str = "") -> Access:
    """What the named context, or the current one, says. Reads the certificate files that it names."""
    name = context or config.get("current-context") or ""
    if not name:
        raise BadConfig("no configuration has been provided: there is no current context")
    chosen = _entry(config, "context", name)
    if chosen is None:
        raise BadConfig(f'context "{name}" does not exist')
    cluster = _entry(config, "cluster", chosen.get("cluster", ""))
    if cluster is None or not cluster.get("server"):
        raise BadConfig(f'context "{name}" names no cluster with a server')
    user = _entry(config, "user", chosen.get("user", "")) or {}
    certificate, key = _data(user, "client-certificate"), _data(user, "client-key")
    return Access(
        server=cluster["server"].rstrip("/"),
        authority=_data(cluster, "certificate-authority"),
        pair=Pair(certificate, key) if certificate and key else None,
        token=user.get("token", ""),
        token_file="" if user.get("token") else user.get("tokenFile", ""),
        basic=(user["username"], user.get("password", "")) if user.get("username") else None,
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        server_name=cluster.get("tls-server-name", ""),
        namespace=chosen.get("namespace") or "default",
        impersonate=tuple(_impersonation(user)),
    )


def in_cluster(environment: Mapping[str, str] = os.environ, folder: Path = IN_CLUSTER) -> Access:
    """Of a pod, by its service account."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise BadConfig(
            "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
        )
    shown = f"[{host}]" if ":" in host else host
    namespace = folder / "namespace"
    return Access(
        f"https://{shown}:{port}",
        (folder / "ca.crt").read_bytes(),
        token_file=str(folder / "token"),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
    )


def _entry(config: Obj, kind: str, name: str) -> Obj | None:
    for entry in config.get(kind + "s") or ():
        if entry.get("name") == name:
            return entry.get(kind) or {}
    return None


def _data(values: Obj, name: str) -> bytes:
    """Embedded data goes before a file."""
    embedded = values.get(name + "-data")
    if embedded:
        return b64decode(embedded)
    if values.get(name):
        try:
            return Path(values[name]).read_bytes()
        except OSError as error:
            raise BadConfig(f"unable to read {name} {values[name]}: {error.strerror}") from error
    return b""


def _impersonation(user: Obj) -> Iterable[tuple[str, str]]:
    if user.get("as"):
        yield "Impersonate-User", user["as"]
    if user.get("as-uid"):
        yield "Impersonate-Uid", user["as-uid"]
    for group in user.get("as-groups") or ():
        yield "Impersonate-Group", group
    for key, values in (user.get("as-user-extra") or {}).items():
        for value in values:
            yield f"Impersonate-Extra-{key}", value


def render(config: Obj) -> bytes:
    data: bytes = yaml.dump(config, Dumper=_DUMPER, encoding="utf-8", sort_keys=False)
    return data


def cluster_only(access: Access) -> Obj:
    """A configuration that says where a cluster is and how to know it, but not who asks."""
    nobody: Obj = {"contexts": [], "current-context": "", "users": []}
    return {"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "", "cluster": _cluster(access)}], **nobody}


def _cluster(access: Access) -> Obj:
    cluster: Obj = {"server": access.server}
    if access.authority:
        cluster["certificate-authority-data"] = b64encode(access.authority).decode()
    if access.insecure:
        cluster["insecure-skip-tls-verify"] = True
    if access.server_name:
        cluster["tls-server-name"] = access.server_name
    return cluster


def context_of(name: str, access: Access) -> Obj:
    """A whole configuration with one context, its data embedded."""
    user: Obj = {}
    if access.pair is not None:
        user["client-certificate-data"] = b64encode(access.pair.certificate).decode()
        user["client-key-data"] = b64encode(access.pair.key).decode()
    if access.token:
        user["token"] = access.token
    if access.token_file:
        user["tokenFile"] = access.token_file
    context: Obj = {"cluster": name, "user": name}
    if access.namespace != "default":
        context["namespace"] = access.namespace
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": _cluster(access)}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }


def merge_context(path: Path, name: str, access: Access, *, use: bool = True) -> None:
    """Add the context to the file, or replace it; everything else in the file stays. `use`: make it the current one."""
    config = _for_change(path)
    new = context_of(name, access)
    for each in _LISTS:
        config[each] = [entry for entry in config.get(each) or () if entry.get("name") != name] + new[each]
    if use or not config.get("current-context"):
        config["current-context"] = name
    write_private(path, render(config))


def remove_context(path: Path, name: str) -> None:
    """Take away what `merge_context` added."""
    if not path.exists():
        return
    config = _for_change(path)
    for each in _LISTS:
        config[each] = [entry for entry in config.get(each) or () if entry.get("name") != name]
    if config.get("current-context") == name:
        config["current-context"] = ""
    write_private(path, render(config))


def _for_change(path: Path) -> Obj:
    """As it stands in the file: relative paths stay relative."""
    if not path.exists():
        return {"apiVersion": "v1", "kind": "Config", "preferences": {}}
    try:
        tree = yaml.load(path.read_bytes(), _LOADER) or {}
    except yaml.YAMLError as error:
        raise BadConfig(f'error loading config file "{path}": {error}') from error
    if not isinstance(tree, dict):
        raise BadConfig(f'error loading config file "{path}": it is not a mapping')
    return {"apiVersion": "v1", "kind": "Config", **tree}
