"""What the server makes of a pod before it is judged: what clients may not set is dropped, what follows from it is set."""

from collections.abc import Iterator

from tiphys.api.core.pods import facts
from tiphys.api.pod_template.annotations import APP_ARMOR
from tiphys.api.pod_template.features import drop_disabled
from tiphys.api.pod_template.security import app_armor_of_annotation, app_armor_problems
from tiphys.machinery.tree import Obj


def prepare_create(pod: Obj) -> None:
    spec = pod["spec"]
    status: Obj = {"phase": "Pending", "qosClass": facts.qos_class(pod)}
    pod["status"] = status
    drop_disabled(spec, None)
    if spec.get("schedulingGates"):
        status["conditions"] = [_gated(pod["metadata"].get("creationTimestamp"))]
    labels = pod["metadata"].get("labels") or {}
    if spec.get("affinity"):
        _fold_keys_into_affinity(spec["affinity"], labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _fold_keys(constraint, labels)
    if pod["metadata"].get("annotations"):
        _copy_app_armor_annotations(pod)


def prepare_update(pod: Obj, old: Obj) -> None:
    """The status is the old one already: the strategy sees to that."""
    drop_disabled(pod["spec"], old["spec"])


def prepare_status(pod: Obj, old: Obj) -> None:
    """Old kubelets garble owner references, drop the QoS class, and do not know of observed generations."""
    owners = old["metadata"].get("ownerReferences")
    if owners:
        pod["metadata"]["ownerReferences"] = owners
    else:
        pod["metadata"].pop("ownerReferences", None)
    status = pod.get("status")
    if status is None:
        status = pod["status"] = {}
    old_status = old.get("status") or {}
    if not status.get("qosClass") and old_status.get("qosClass"):
        status["qosClass"] = old_status["qosClass"]
    _keep_observed_generations(status, old_status)
    if status.get("nodeAllocatableResourceClaimStatuses") and not old_status.get("nodeAllocatableResourceClaimStatuses"):
        del status["nodeAllocatableResourceClaimStatuses"]


def _keep_observed_generations(status: Obj, old_status: Obj) -> None:
    if not status.get("observedGeneration") and old_status.get("observedGeneration"):
        status["observedGeneration"] = old_status["observedGeneration"]
    seen: dict[str, list[int]] = {}
    for condition in old_status.get("conditions") or ():
        seen.setdefault(condition["type"], []).append(condition.get("observedGeneration") or 0)
    for condition in status.get("conditions") or ():
        generations = seen.get(condition["type"])
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def _gated(now: str | None) -> Obj:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def _fold_keys_into_affinity(affinity: Obj, labels: Obj) -> None:
    for side in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(side)
        if not terms:
            continue
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            _fold_keys(weighted.get("podAffinityTerm") or {}, labels)
        for term in terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            _fold_keys(term, labels)


def _fold_keys(term: Obj, labels: Obj) -> None:
    """`matchLabelKeys` become plain requirements, with the pod's own values."""
    matched, mismatched = term.get("matchLabelKeys"), term.get("mismatchLabelKeys")
    selector = term.get("labelSelector")
    if selector is None or not (matched or mismatched):
        return
    folded = [_requirement(key, "In", labels) for key in matched or () if key in labels]
    folded += [_requirement(key, "NotIn", labels) for key in mismatched or () if key in labels]
    if folded:
        selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), *folded]


def _requirement(key: str, operator: str, labels: Obj) -> Obj:
    return {"key": key, "operator": operator, "values": [labels[key]]}


def _copy_app_armor_annotations(pod: Obj) -> None:
    """The annotations of old move into the fields that replaced them, where a container has no profile of its own."""
    spec, annotations = pod["spec"], pod["metadata"]["annotations"]
    if (spec.get("os") or {}).get("name") == "windows":
        return
    pod_profile = (spec.get("securityContext") or {}).get("appArmorProfile")
    for container in facts.containers(spec):
        annotation = annotations.get(APP_ARMOR + (container.get("name") or ""))
        context = container.get("securityContext") or {}
        if annotation is None or context.get("appArmorProfile") is not None:
            continue
        profile = app_armor_of_annotation(annotation)
        if profile is not None and profile != pod_profile and not any(app_armor_problems(profile, "")):
            container["securityContext"] = {**context, "appArmorProfile": profile}


def app_armor_warnings(pod: Obj) -> Iterator[str]:
    """Of annotations that were moved into a field, or that could not be. Told apart from a field that says the same: no."""
    annotations = pod["metadata"].get("annotations") or {}
    if not annotations or (pod["spec"].get("os") or {}).get("name") == "windows":
        return
    pod_profile = (pod["spec"].get("securityContext") or {}).get("appArmorProfile")
    for container in facts.containers(pod["spec"]):
        name = APP_ARMOR + (container.get("name") or "")
        if name not in annotations:
            continue
        own = (container.get("securityContext") or {}).get("appArmorProfile")
        profile = app_armor_of_annotation(annotations[name])
        unsound = profile is None or any(app_armor_problems(profile, ""))
        if (own is None and unsound) or (own is not None and own == profile and own != pod_profile):
            yield f'metadata.annotations[{name}]: deprecated since v1.30; use the "appArmorProfile" field instead'
