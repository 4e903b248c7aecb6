"""CertificateSigningRequest: a public key that asks for a certificate, and what was decided about it.

The server fills in who asked (`asked_by`); conditions get their times from `stamp_conditions`. What the approval subresource
may change stands here too, because it is about the same fields.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tiphys.api.certificates.pem import certificate_problem, request_problem
from tiphys.api.certificates.signer_names import validate_signer_name
from tiphys.api.kind import AGE, Column, Kind, Part, Strategy
from tiphys.machinery import duration
from tiphys.machinery.fields import FieldError, child, duplicate, forbidden, index, invalid, not_supported, quote, required
from tiphys.machinery.tree import Obj, get

GROUP = "certificates.k8s.io"
USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)

_KNOWN_USAGES = frozenset(USAGES)
_CONDITIONS = "status.conditions"
_DECISIONS = ("Approved", "Denied")
_FINAL = (*_DECISIONS, "Failed")
_LEGACY_SIGNER = "kubernetes.io/legacy-unknown"


def any_name(_: str) -> list[str]:
    return []


def asked_by(request: Obj, name: str, uid: str, groups: Sequence[str], extra: Mapping[str, Sequence[str]]) -> None:
    """Writes who asks into a request that is being created."""
    spec = request["spec"]
    for field, value in (("username", name), ("uid", uid), ("groups", list(groups))):
        if value:
            spec[field] = value
    if extra:
        spec["extra"] = {key: list(values) for key, values in extra.items()}


def prepare_create(request: Obj) -> None:
    spec = request.setdefault("spec", {})
    for field in ("username", "uid", "groups", "extra"):
        spec.pop(field, None)
    request["status"] = {}


def prepare_update(new: Obj, old: Obj) -> None:
    new["spec"] = old["spec"]


def prepare_status(new: Obj, old: Obj) -> None:
    """Decisions are left as they were; where one was added or taken away, validation says so."""
    new["spec"] = old["spec"]
    conditions = get(new, ("status", "conditions"))
    if not conditions:
        return
    kept = list(conditions)
    for decision in _DECISIONS:
        was, now = _of_type(old, decision), _positions(kept, decision)
        if len(was) == len(now):
            for position, condition in zip(now, was, strict=True):
                kept[position] = condition
    new["status"]["conditions"] = kept


def prepare_approval(new: Obj, old: Obj) -> None:
    """/approval changes conditions and nothing else."""
    conditions = get(new, ("status", "conditions"))
    new["spec"] = old["spec"]
    status = dict(old.get("status") or {})
    status.pop("conditions", None)
    if conditions:
        status["conditions"] = conditions
    new["status"] = status


def stamp_conditions(new: Obj, old: Obj, now: str) -> None:
    """Gives conditions the times they lack; a condition that was there with the same status keeps its transition."""
    conditions = get(new, ("status", "conditions"))
    if not conditions:
        return
    new["status"]["conditions"] = [_stamped(each, old, now) for each in conditions]


def _stamped(condition: Obj, old: Obj, now: str) -> Obj:
    stamped = dict(condition)
    if not stamped.get("lastUpdateTime"):
        stamped["lastUpdateTime"] = now
    if not stamped.get("lastTransitionTime"):
        same = (each for each in _of_type(old, stamped.get("type", "")) if each.get("status") == stamped.get("status"))
        times = (each.get("lastTransitionTime") for each in same)
        stamped["lastTransitionTime"] = next(filter(None, times), now)
    return stamped


def validate(request: Obj) -> Iterator[FieldError]:
    spec = request.get("spec") or {}
    told = request_problem(spec.get("request") or "")
    if told:
        yield invalid("spec.request", spec.get("request"), told)
    yield from _validate_usages(spec.get("usages") or ())
    signer = spec.get("signerName", "")
    if signer == _LEGACY_SIGNER:
        yield invalid("spec.signerName", signer, "the legacy signerName is not allowed via this API version")
    else:
        yield from validate_signer_name(signer, "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < 600:
        told = "may not specify a duration less than 600 seconds (10 minutes)"
        yield invalid("spec.expirationSeconds", seconds, told)


def _validate_usages(usages: Sequence[str]) -> Iterator[FieldError]:
    if not usages:
        yield required("spec.usages")
    for position, usage in enumerate(usages):
        if usage not in _KNOWN_USAGES:
            yield not_supported(index("spec.usages", position), usage, USAGES)
    for position, usage in enumerate(usages):
        if usage in usages[:position]:
            yield duplicate(index("spec.usages", position), usage)


def validate_status(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _validate_conditions(new, old)
    certificate, before = get(new, ("status", "certificate")), get(old, ("status", "certificate"))
    if certificate != before:
        told = certificate_problem(certificate or "")
        if told:
            yield invalid("status.certificate", "<certificate data>", told)
    yield from _validate_removed(new, old)
    yield from _validate_decisions(new, old)
    if certificate != before and before:
        yield forbidden("status.certificate", "updates may not modify existing certificate content")


def validate_approval(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _validate_conditions(new, old)
    yield from _validate_removed(new, old)


def _validate_conditions(new: Obj, old: Obj) -> Iterator[FieldError]:
    before = get(old, ("status", "conditions"), ())
    types = [each.get("type", "") for each in before]
    decided = set(_DECISIONS) <= set(types)
    seen: set[str] = set()
    for position, condition in enumerate(get(new, ("status", "conditions"), ())):
        at = index(_CONDITIONS, position)
        kind = condition.get("type", "")
        if not kind and "" not in types:
            yield required(child(at, "type"))
        yield from _validate_condition_status(kind, condition.get("status", ""), at)
        if kind in _DECISIONS and not decided and seen & (set(_DECISIONS) - {kind}):
            yield invalid(_CONDITIONS, kind, "Approved and Denied conditions are mutually exclusive")
        if kind in seen and len(set(types)) == len(types):
            yield duplicate(child(at, "type"), kind)
        seen.add(kind)


def _validate_condition_status(kind: str, status: str, at: str) -> Iterator[FieldError]:
    allowed = ("True",) if kind in _FINAL else ("False", "True", "Unknown")
    if not status:
        yield required(child(at, "status"))
    elif status not in allowed:
        yield not_supported(child(at, "status"), status, allowed)


def _validate_removed(new: Obj, old: Obj) -> Iterator[FieldError]:
    for kind in _FINAL:
        if len(_of_type(new, kind)) < len(_of_type(old, kind)):
            yield forbidden(_CONDITIONS, f"updates may not remove a condition of type {quote(kind)}")


def _validate_decisions(new: Obj, old: Obj) -> Iterator[FieldError]:
    for kind in _DECISIONS:
        is_now, was = _of_type(new, kind), _of_type(old, kind)
        if len(is_now) > len(was):
            yield forbidden(_CONDITIONS, f"updates may not add a condition of type {quote(kind)}")
        elif len(is_now) == len(was) and is_now != was:
            yield forbidden(_CONDITIONS, f"updates may not modify a condition of type {quote(kind)}")


def _of_type(request: Obj, kind: str) -> list[Obj]:
    conditions = get(request, ("status", "conditions"), ())
    return [each for each in conditions if each.get("type", "") == kind]


def _positions(conditions: Sequence[Obj], kind: str) -> list[int]:
    return [position for position, each in enumerate(conditions) if each.get("type", "") == kind]


def signer_name(request: Obj, _now: float) -> str:
    return get(request, ("spec", "signerName")) or "<none>"


def requested_duration(request: Obj, _now: float) -> str:
    seconds = get(request, ("spec", "expirationSeconds"))
    return "<none>" if seconds is None else duration.human(seconds)


def decision(request: Obj, _now: float) -> str:
    types = {each.get("type") for each in get(request, ("status", "conditions"), ())}
    told = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    if "Failed" in types:
        told += ",Failed"
    if get(request, ("status", "certificate")):
        told += ",Issued"
    return told


def requestor(request: Obj, _now: float) -> Any:
    return get(request, ("spec", "username"), "")


CERTIFICATE_SIGNING_REQUESTS = Kind(
    group=GROUP,
    version="v1",
    kind="CertificateSigningRequest",
    plural="certificatesigningrequests",
    singular="certificatesigningrequest",
    schema="io.k8s.api.certificates.v1.CertificateSigningRequest",
    namespaced=False,
    short=("csr",),
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    prepare_status=prepare_status,
    validate=validate,
    validate_status=validate_status,
    name=any_name,
    strategy=Strategy(status=True),
    selectable=("spec.signerName",),
    columns=(
        AGE,
        Column("SignerName", signer_name, description="Who is asked to sign."),
        Column("Requestor", requestor, description="Who asks."),
        Column("RequestedDuration", requested_duration, description="How long the certificate should be valid."),
        Column("Condition", decision, description="What was decided, and whether it was carried out."),
    ),
    parts={"approval": Part(prepare_approval, validate_approval)},
)
