"""What makes a pod number `n` of its set: name, labels, host name, the claims that it mounts."""

from collections.abc import Iterator

from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.controllers.history import HASH_LABEL
from tiphys.controllers.pods import pod_from
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, get

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
_MOST = 2**31 - 1


def ordinal(stateful_set: Obj, pod: Obj) -> int | None:
    """None: the pod does not have the name of a member."""
    parent, _, digits = meta.name(pod).rpartition("-")
    if parent != meta.name(stateful_set) or not (digits.isascii() and digits.isdecimal()):
        return None
    number = int(digits)
    return number if str(number) == digits and number <= _MOST else None


def start(stateful_set: Obj) -> int:
    found: int = get(stateful_set, ("spec", "ordinals", "start"), 0)
    return found


def replicas(stateful_set: Obj) -> int:
    found: int = stateful_set["spec"].get("replicas", 1)
    return found


def ordinals(stateful_set: Obj) -> range:
    """Those that should be there."""
    first = start(stateful_set)
    return range(first, first + replicas(stateful_set))


def claim_templates(stateful_set: Obj) -> list[Obj]:
    found: list[Obj] = stateful_set["spec"].get("volumeClaimTemplates") or []
    return found


def claim_name(stateful_set: Obj, template: Obj, number: int) -> str:
    return f"{meta.name(template)}-{meta.name(stateful_set)}-{number}"


def claim_names(stateful_set: Obj, number: int) -> Iterator[str]:
    for template in claim_templates(stateful_set):
        yield claim_name(stateful_set, template, number)


def claims(stateful_set: Obj, number: int) -> Iterator[Obj]:
    """The claims of pod `number`, as they are made."""
    selected = stateful_set["spec"]["selector"].get("matchLabels") or {}
    for template in claim_templates(stateful_set):
        metadata = {
            **template["metadata"],
            "name": claim_name(stateful_set, template, number),
            "namespace": meta.namespace(stateful_set),
            "labels": {**meta.labels(template), **selected},
        }
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": template["spec"]}


def new_pod(stateful_set: Obj, template: Obj, revision: str, number: int) -> Obj:
    made = pod_from(template, STATEFULSETS, stateful_set)
    name = f"{meta.name(stateful_set)}-{number}"
    made["metadata"]["name"] = name
    made["metadata"]["labels"] = {**meta.labels(made), HASH_LABEL: revision}
    spec = {**made["spec"], "hostname": name}
    if stateful_set["spec"].get("serviceName"):
        spec["subdomain"] = stateful_set["spec"]["serviceName"]
    else:
        spec.pop("subdomain", None)
    return with_storage(stateful_set, with_identity({**made, "spec": spec}, number), number)


def has_identity(pod: Obj) -> bool:
    return meta.labels(pod).get(POD_NAME) == meta.name(pod)


def with_identity(pod: Obj, number: int) -> Obj:
    labels = {**meta.labels(pod), POD_NAME: meta.name(pod), POD_INDEX: str(number)}
    return {**pod, "metadata": {**pod["metadata"], "labels": labels}}


def has_storage(stateful_set: Obj, pod: Obj, number: int) -> bool:
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    return all(
        get(volumes.get(meta.name(template)), ("persistentVolumeClaim", "claimName"))
        == claim_name(stateful_set, template, number)
        for template in claim_templates(stateful_set)
    )


def with_storage(stateful_set: Obj, pod: Obj, number: int) -> Obj:
    """Volumes of the names of claim templates give way to the claims."""
    mounted = [
        {"name": meta.name(template), "persistentVolumeClaim": {"claimName": claim_name(stateful_set, template, number)}}
        for template in claim_templates(stateful_set)
    ]
    if not mounted:
        return pod
    names = {volume["name"] for volume in mounted}
    own = [volume for volume in pod["spec"].get("volumes") or () if volume["name"] not in names]
    return {**pod, "spec": {**pod["spec"], "volumes": [*mounted, *own]}}


def revision_of(pod: Obj) -> str:
    return meta.labels(pod).get(HASH_LABEL, "")
