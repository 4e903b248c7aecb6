"""Who leads, of several processes that could: whoever holds a Lease and keeps renewing it.

A holder whose Lease has not changed for its duration, by the observer's own clock, is taken for dead; clocks of different
machines are never compared.
"""

from dataclasses import dataclass, replace

from tiphys.machinery import times
from tiphys.machinery.tree import Obj

DURATION = 15.0
RENEW_WITHIN = 10.0
RETRY = 2.0


@dataclass(frozen=True, slots=True)
class Candidate:
    name: str
    """Of the Lease."""
    namespace: str
    identity: str
    duration: float = DURATION
    renew_within: float = RENEW_WITHIN
    retry: float = RETRY


@dataclass(frozen=True, slots=True)
class Seen:
    """The Lease as it was when it last changed, and when that was by our own (monotonic) clock."""

    spec: Obj | None = None
    at: float = float("-inf")


def look(seen: Seen, lease: Obj | None, now: float) -> Seen:
    spec = lease.get("spec") or {} if lease is not None else None
    return seen if spec == seen.spec else replace(seen, spec=spec, at=now)


def leads(candidate: Candidate, seen: Seen) -> bool:
    return seen.spec is not None and seen.spec.get("holderIdentity") == candidate.identity


def claim(candidate: Candidate, lease: Obj | None, seen: Seen, wall: float, now: float) -> Obj | None:
    """The Lease to create (where there is none) or to update, so as to hold it; None: somebody else does."""
    held: Obj = {
        "holderIdentity": candidate.identity,
        "leaseDurationSeconds": int(candidate.duration),
        "renewTime": times.rfc3339_micro(wall),
    }
    if lease is None:
        metadata = {"name": candidate.name, "namespace": candidate.namespace}
        spec = {**held, "acquireTime": held["renewTime"], "leaseTransitions": 0}
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
    old = lease.get("spec") or {}
    holder = old.get("holderIdentity")
    if holder == candidate.identity:
        return {**lease, "spec": {**old, **held}}
    if holder and now - seen.at < (old.get("leaseDurationSeconds") or candidate.duration):
        return None
    transitions = (old.get("leaseTransitions") or 0) + 1
    return {**lease, "spec": {**old, **held, "acquireTime": held["renewTime"], "leaseTransitions": transitions}}


def released(candidate: Candidate, lease: Obj, wall: float) -> Obj | None:
    """So that the next one need not wait; None where it is not ours to give."""
    spec = lease.get("spec") or {}
    if spec.get("holderIdentity") != candidate.identity:
        return None
    now = times.rfc3339_micro(wall)
    return {**lease, "spec": {**spec, "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": now, "acquireTime": now}}
