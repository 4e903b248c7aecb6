"""CSIDriver: what the cluster must know of a storage driver before it uses it."""

from collections.abc import Iterable, Iterator

from tiphys.api.kind import AGE, SPEC, Column, Kind, Strategy
from tiphys.machinery.fields import FieldError, child, duplicate, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import immutable

GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
MODES = ("Persistent", "Ephemeral")
SHORTEST_TOKEN = 600
LONGEST_TOKEN = 1 << 32
SHORTEST_PERIOD = 10
TOKENS_IN_ATTRIBUTES = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of "
    "tokens in volume attributes"
)


def default(driver: Obj) -> None:
    spec = driver.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    spec.setdefault("podInfoOnMount", False)
    spec.setdefault("storageCapacity", False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]
    spec.setdefault("requiresRepublish", False)
    spec.setdefault("seLinuxMount", False)


def prepare_create(driver: Obj) -> None:
    _drop_gated(driver)
    # It counts changes only: upstream creates drivers without one.
    driver["metadata"].pop("generation", None)


def prepare_update(new: Obj, old: Obj) -> None:
    if get(old, ("spec", "preventPodSchedulingIfMissing")) is None:
        _drop_gated(new)


def _drop_gated(driver: Obj) -> None:
    """Behind a gate (VolumeLimitScaling) that v1.36 ships switched off."""
    driver["spec"].pop("preventPodSchedulingIfMissing", None)


def validate(driver: Obj) -> Iterator[FieldError]:
    spec = driver["spec"]
    # "attachedRequired" is upstream's name for it here.
    told_as = {"attachRequired": "attachedRequired"}
    for name in ("attachRequired", "podInfoOnMount", "storageCapacity"):
        if spec.get(name) is None:
            yield required(child("spec", told_as.get(name, name)))
    policy = spec.get("fsGroupPolicy")
    if policy is not None and policy not in GROUP_POLICIES:
        yield not_supported("spec.fsGroupPolicy", policy, GROUP_POLICIES)
    requests = spec.get("tokenRequests") or []
    yield from _validate_token_requests(requests, "spec.tokenRequests")
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in MODES:
            yield not_supported("spec.volumeLifecycleModes", mode, MODES)
    if spec.get("seLinuxMount") is None:
        yield required("spec.seLinuxMount")
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < SHORTEST_PERIOD:
        yield invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, "must be greater than or equal to 10 seconds")
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not requests:
        told = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield invalid("spec.serviceAccountTokenInSecrets", in_secrets, told)


def _validate_token_requests(requests: list[Obj], at: str) -> Iterator[FieldError]:
    audiences = set()
    for position, request in enumerate(requests):
        where, audience = index(at, position), request.get("audience", "")
        if audience in audiences:
            yield duplicate(child(where, "audience"), audience)
            continue
        audiences.add(audience)
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < SHORTEST_TOKEN:
            yield invalid(child(where, "expirationSeconds"), seconds, "may not specify a duration less than 10 minutes")
        if seconds is not None and seconds > LONGEST_TOKEN:
            yield invalid(child(where, "expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds")


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    spec, before = new["spec"], old["spec"]
    yield from immutable(spec.get("attachRequired"), before.get("attachRequired"), "spec.attachedRequired")
    yield from immutable(spec.get("volumeLifecycleModes"), before.get("volumeLifecycleModes"), "spec.volumeLifecycleModes")


def warnings(new: Obj, old: Obj | None) -> Iterable[str]:
    requests = new["spec"].get("tokenRequests")
    changed = old is None or get(old, ("spec", "tokenRequests")) != requests
    if requests and changed and new["spec"].get("serviceAccountTokenInSecrets") is None:
        yield TOKENS_IN_ATTRIBUTES


def _token_requests(driver: Obj, _now: float) -> str:
    requests = get(driver, ("spec", "tokenRequests"))
    return "<unset>" if requests is None else ",".join(each.get("audience", "") for each in requests)


def _modes(driver: Obj, _now: float) -> str:
    return ",".join(get(driver, ("spec", "volumeLifecycleModes")) or ()) or "<none>"


CSIDRIVERS = Kind(
    group="storage.k8s.io",
    version="v1",
    kind="CSIDriver",
    plural="csidrivers",
    singular="csidriver",
    namespaced=False,
    schema="io.k8s.api.storage.v1.CSIDriver",
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    warnings=warnings,
    strategy=Strategy(generation_of=SPEC, unconditional_update=False, returns_deleted=True),
    columns=(
        Column("AttachRequired", lambda each, _now: get(each, ("spec", "attachRequired"), True), type="boolean"),
        Column("PodInfoOnMount", lambda each, _now: get(each, ("spec", "podInfoOnMount"), False), type="boolean"),
        Column("StorageCapacity", lambda each, _now: get(each, ("spec", "storageCapacity"), False), type="boolean"),
        Column("TokenRequests", _token_requests),
        Column("RequiresRepublish", lambda each, _now: get(each, ("spec", "requiresRepublish"), False), type="boolean"),
        Column("Modes", _modes),
        AGE,
    ),
)
