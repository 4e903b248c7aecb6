"""StatefulSet: pods with names, an order and volumes that stay theirs."""

from collections.abc import Iterable, Iterator

from tiphys.api import pod_template, unset_times
from tiphys.api.apps import int_or_percent, workload
from tiphys.api.kind import AGE, SPEC, Column, Kind, Scale, Strategy
from tiphys.api.pod_template.internal import told
from tiphys.api.pod_template.volume_claims import validate_claim_spec
from tiphys.machinery.fields import FieldError, child, forbidden, invalid, not_supported
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import at_least_zero, dns1123_label

RETENTION = ("Retain", "Delete")
UPDATABLE = (
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
)
NOT_UPDATABLE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def default(stateful_set: Obj) -> None:
    spec = stateful_set.setdefault("spec", {})
    pod_template.default(spec.setdefault("template", {}))
    for claim in spec.get("volumeClaimTemplates") or ():
        _default_claim(claim)
    if not spec.get("podManagementPolicy"):
        spec["podManagementPolicy"] = "OrderedReady"
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for moment in ("whenDeleted", "whenScaled"):
        if not retention.get(moment):
            retention[moment] = "Retain"
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("serviceName", "")
    status = stateful_set.setdefault("status", {})
    status.setdefault("replicas", 0)
    status.setdefault("availableReplicas", 0)
    unset_times.show(status.get("conditions"), unset_times.CONDITION)


def _default_claim(claim: Obj) -> None:
    claim.setdefault("kind", "PersistentVolumeClaim")
    claim.setdefault("apiVersion", "v1")
    claim.setdefault("metadata", {})
    claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    claim.setdefault("status", {}).setdefault("phase", "Pending")


def prepare_create(stateful_set: Obj) -> None:
    stateful_set["status"] = {"replicas": 0, "availableReplicas": 0}
    _drop_max_unavailable(stateful_set)
    pod_template.prepare(stateful_set["spec"]["template"])


def prepare_update(new: Obj, old: Obj) -> None:
    if get(old, ("spec", "updateStrategy", "rollingUpdate", "maxUnavailable")) is None:
        _drop_max_unavailable(new)
    pod_template.prepare(new["spec"]["template"], old["spec"].get("template"))


def _drop_max_unavailable(stateful_set: Obj) -> None:
    """Behind a feature gate (MaxUnavailableStatefulSet) that v1.36 ships switched off."""
    rolling = stateful_set["spec"]["updateStrategy"].get("rollingUpdate")
    if rolling:
        rolling.pop("maxUnavailable", None)


def validate_create(stateful_set: Obj) -> Iterator[FieldError]:
    yield from _validate(stateful_set["spec"], None)


def _validate(spec: Obj, before: Obj | None) -> Iterator[FieldError]:
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _validate_update_strategy(spec["updateStrategy"], "spec.updateStrategy")
    for moment in ("whenDeleted", "whenScaled"):
        chosen = get(spec, ("persistentVolumeClaimRetentionPolicy", moment), "")
        if chosen not in RETENTION:
            yield not_supported(f"spec.persistentVolumeClaimRetentionPolicy.{moment}", chosen, RETENTION)
    for position, claim in enumerate((spec.get("volumeClaimTemplates") or ()) if before is None else ()):
        yield from validate_claim_spec(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{position}].spec")
    yield from at_least_zero(spec.get("replicas"), "spec.replicas")
    yield from at_least_zero(spec.get("minReadySeconds"), "spec.minReadySeconds")
    yield from at_least_zero(get(spec, ("ordinals", "start")), "spec.ordinals.start")
    service = spec.get("serviceName", "")
    for problem in dns1123_label(service) if service and before is None else ():
        yield invalid("spec.serviceName", service, problem)
    yield from workload.validate_selector(spec, "spec", "statefulset")
    yield from _validate_template(spec, before)


def _validate_update_strategy(strategy: Obj, at: str) -> Iterator[FieldError]:
    rolling, where = strategy.get("rollingUpdate"), child(at, "rollingUpdate")
    match strategy.get("type"):
        case "OnDelete":
            if rolling is not None:
                yield invalid(
                    where, told(rolling, "RollingUpdateStatefulSetStrategy"), "only allowed for updateStrategy 'RollingUpdate'"
                )
        case "RollingUpdate":
            if rolling is not None:
                yield from _validate_rolling_update(rolling, where)
        case _:
            yield invalid(at, told(strategy, "StatefulSetUpdateStrategy"), "must be 'RollingUpdate' or 'OnDelete'")


def _validate_rolling_update(rolling: Obj, at: str) -> Iterator[FieldError]:
    yield from at_least_zero(rolling.get("partition"), child(at, "partition"))
    unavailable, where = rolling.get("maxUnavailable"), child(at, "maxUnavailable")
    if unavailable is not None:
        yield from int_or_percent.validate(unavailable, where)
        if int_or_percent.amount(unavailable) == 0:
            yield invalid(where, unavailable, "cannot be 0")
        yield from int_or_percent.at_most_all(unavailable, where)


def _validate_template(spec: Obj, before: Obj | None) -> Iterator[FieldError]:
    selector, template = spec.get("selector"), spec["template"]
    picks = workload.compiled(selector)
    if picks is None:
        yield invalid("spec.selector", told(selector, "Selector"), "")
    else:
        if not picks.empty:
            yield from workload.validate_match(picks, template, "spec.template")
        template_before = _as_it_will_run(before) if before else None
        yield from pod_template.validate(_as_it_will_run(spec), at="spec.template", old=template_before)
    yield from workload.validate_runs_forever(template, "spec.template", "StatefulSet")


def _as_it_will_run(spec: Obj) -> Obj:
    """The template with what the controller sets itself: no host name, no subdomain, a volume for each claim."""
    template: Obj = spec["template"]
    pod = template.get("spec") or {}
    claims = [get(claim, ("metadata", "name"), "") for claim in spec.get("volumeClaimTemplates") or ()]
    if not claims and not pod.get("subdomain") and not pod.get("hostname"):
        return template
    pod = {key: value for key, value in pod.items() if key not in ("subdomain", "hostname")}
    if claims:
        own = [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
        pod["volumes"] = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(claims)] + own
    return template | {"spec": pod}


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _validate(new["spec"], old["spec"])
    fixed = {key: value for key, value in new["spec"].items() if key not in UPDATABLE}
    before = {key: value for key, value in old["spec"].items() if key not in UPDATABLE}
    if fixed != before:
        yield forbidden("spec", NOT_UPDATABLE)


COUNTERS = (
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
)


def validate_status(new: Obj, old: Obj) -> Iterator[FieldError]:
    status = new.get("status") or {}
    yield from workload.validate_counters(status, COUNTERS)
    bounded = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    yield from workload.validate_not_above_replicas(status, bounded, "status.readyReplicas")
    yield from workload.validate_collision_count(new, old)


def warnings(new: Obj, old: Obj | None) -> Iterable[str]:
    if old is None or new["spec"] != old["spec"]:
        yield from workload.template_warnings(new["spec"]["template"], "spec.template")
    if new["spec"].get("revisionHistoryLimit", 0) < 0:
        yield ("spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")


def _ready(stateful_set: Obj, _now: float) -> str:
    return f"{get(stateful_set, ('status', 'readyReplicas'), 0)}/{get(stateful_set, ('spec', 'replicas'), 0)}"


STATEFULSETS = Kind(
    group="apps",
    version="v1",
    kind="StatefulSet",
    plural="statefulsets",
    singular="statefulset",
    short=("sts",),
    categories=("all",),
    schema="io.k8s.api.apps.v1.StatefulSet",
    name=dns1123_label,
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate_create=validate_create,
    validate_update=validate_update,
    validate_status=validate_status,
    warnings=warnings,
    strategy=Strategy(status=True, generation_of=SPEC),
    scale=Scale(),
    columns=(
        Column("Ready", _ready, description="Number of the pod with ready state"),
        AGE,
        *pod_template.COLUMNS,
    ),
)
