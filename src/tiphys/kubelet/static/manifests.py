"""What a file or a page says becomes pods of this node, and what the API shows of them (pkg/kubelet/config/common.go). Core."""

import hashlib

import orjson

from tiphys.api.core.pods import PODS
from tiphys.machinery import times
from tiphys.machinery.decode.parsing import YAML, parse
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

SOURCE, HASH = "kubernetes.io/config.source", "kubernetes.io/config.hash"
SEEN, MIRROR = "kubernetes.io/config.seen", "kubernetes.io/config.mirror"
FILE, HTTP = "file", "http"
_SHAPE = (AttributeError, KeyError, TypeError, ValueError)


class BadManifest(Exception):
    """A sentence about what is wrong with it."""


def static_pod(text: bytes, place: str, node: str, now: float) -> Obj:
    """The pod of a file at `place`; its uid changes with what the file says. Raises BadManifest."""
    tree = _tree(text)
    uid = _digest(node.encode(), place.encode(), orjson.dumps(tree))
    pod = _made(tree, uid, FILE, node, now)
    # Whatever is wrong with the node, its own pods stay.
    pod["spec"]["tolerations"] = [*(pod["spec"].get("tolerations") or ()), {"operator": "Exists", "effect": "NoExecute"}]
    return pod


def fetched_pods(text: bytes, url: str, node: str, now: float) -> list[Obj]:
    """The pods of what was read at `url`, one or a list: all of them are right, or BadManifest is raised."""
    tree = _tree(text)
    version, kind = tree.get("apiVersion"), tree.get("kind")
    if version != "v1" or kind not in ("Pod", "PodList"):
        single, several = f"invalid pod: {version} {kind}", f"invalid pods list: {version} {kind}"
        received = text.decode(errors="replace")
        told = f"received '{received}', but couldn't parse as single ({single}) or multiple pods ({several})"
        raise BadManifest(f"{url}: {told}")
    items = (tree.get("items") or []) if kind == "PodList" else [tree]
    if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
        raise BadManifest("invalid pods list: items are no objects")
    given = [{**each, "apiVersion": "v1", "kind": "Pod"} for each in items]
    return [_made(each, _digest(url.encode(), orjson.dumps(each)), HTTP, node, now) for each in given]


def _digest(*parts: bytes) -> str:
    return hashlib.md5(b"\0".join(parts), usedforsecurity=False).hexdigest()


def _tree(text: bytes) -> Obj:
    try:
        tree = parse(text, YAML, find_duplicates=False).tree
    except ApiError as problem:
        raise BadManifest(problem.message) from None
    if not isinstance(tree, dict):
        raise BadManifest("it is not an object")
    return tree


def _made(tree: Obj, uid: str, source: str, node: str, now: float) -> Obj:
    try:
        if tree.get("kind") != "Pod" or tree.get("apiVersion") != "v1":
            raise BadManifest("it is not a v1 Pod")
        given = tree.get("metadata") or {}
        if not given.get("name"):
            raise BadManifest("invalid pod: name is needed for the pod")
        meta = {**given, "name": f"{given['name']}-{node.lower()}", "namespace": given.get("namespace") or "default"}
        marks = {SOURCE: source, HASH: uid, SEEN: times.rfc3339_micro(now)}
        meta |= {"uid": uid, "resourceVersion": "0", "creationTimestamp": times.rfc3339(now)}
        meta["annotations"] = {**(given.get("annotations") or {}), **marks}
        pod: Obj = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**tree["spec"], "nodeName": node}}
        PODS.default(pod)
        PODS.prepare_create(pod)
        problems = [*PODS.validate(pod), *PODS.validate_create(pod)]
    except ApiError as problem:
        raise BadManifest(problem.message) from None
    except _SHAPE as problem:
        raise BadManifest(f"it has not the shape of a Pod: {problem!r}") from None
    if problems:
        raise BadManifest(f"invalid pod: {'; '.join(map(str, problems))}")
    return pod


def mirror(pod: Obj, node: Obj) -> Obj:
    """What the API is shown of a static pod; `node`: the object of this node, which owns it."""
    given = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": node["metadata"]["name"], "uid": node["metadata"]["uid"]}
    meta: Obj = {name: given[name] for name in ("name", "namespace", "labels") if name in given}
    meta["annotations"] = {**given["annotations"], MIRROR: given["uid"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**meta, "ownerReferences": [{**owner, "controller": True}]},
        "spec": pod["spec"],
    }


def original(pod: Obj) -> str:
    """The uid of the static pod that it mirrors; empty where it is no mirror."""
    found: str = (pod["metadata"].get("annotations") or {}).get(MIRROR, "")
    return found


def is_static(pod: Obj) -> bool:
    return bool((pod["metadata"].get("annotations") or {}).get(SOURCE, "api") != "api")
