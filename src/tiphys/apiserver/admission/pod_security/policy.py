"""Levels and versions, and how a namespace's labels name them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tiphys.machinery.fields import FieldError, invalid

PRIVILEGED, BASELINE, RESTRICTED = "privileged", "baseline", "restricted"
LEVELS = (PRIVILEGED, BASELINE, RESTRICTED)
PREFIX = "pod-security.kubernetes.io/"
LATEST = 1 << 30
"""The minor version of `latest`: newer than any."""

_VERSION = re.compile(r"v1\.(0|[1-9][0-9]*)")
_PRIVILEGED_IF_WRONG = ("audit", "warn")


@dataclass(frozen=True, slots=True)
class Standard:
    """A level as it was in a minor version of Kubernetes."""

    level: str = PRIVILEGED
    minor: int = LATEST

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor == LATEST else f'v1.{self.minor}'}"

    def same_as(self, other: "Standard") -> bool:
        return self == other or (self.level == PRIVILEGED == other.level)


@dataclass(frozen=True, slots=True)
class Policy:
    enforce: Standard = Standard()
    audit: Standard = Standard()
    warn: Standard = Standard()

    @property
    def is_privileged(self) -> bool:
        return self.enforce.level == self.audit.level == self.warn.level == PRIVILEGED

    def same_as(self, other: "Policy") -> bool:
        return self.enforce.same_as(other.enforce) and self.audit.same_as(other.audit) and self.warn.same_as(other.warn)


def parse_level(text: str) -> str:
    if text not in LEVELS:
        raise ValueError(f"must be one of {', '.join(LEVELS)}")
    return text


def parse_minor(text: str) -> int:
    if text == "latest":
        return LATEST
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError('must be "latest" or "v1.x"')
    return int(match[1])


def of_labels(labels: Mapping[str, str] | None, defaults: Policy) -> tuple[Policy, list[FieldError]]:
    """A wrong label of `enforce` restricts, so that nothing gets in by mistake; the others then say nothing."""
    if not labels or not any(label.startswith(PREFIX) for label in labels):
        return defaults, []
    problems: list[FieldError] = []
    enforce = _standard("enforce", labels, defaults.enforce, problems)
    is_enforced = PREFIX + "enforce" in labels and labels[PREFIX + "enforce"] in LEVELS
    audit = _standard("audit", labels, defaults.audit, problems)
    warn = _standard("warn", labels, defaults.warn, problems)
    # Who enforces a level wants to be warned of it, too, where controllers make the pods.
    if is_enforced and PREFIX + "warn" not in labels and LEVELS.index(enforce.level) > LEVELS.index(warn.level):
        warn = Standard(enforce.level, warn.minor if PREFIX + "warn-version" in labels else enforce.minor)
    return Policy(enforce, audit, warn), problems


def _standard(mode: str, labels: Mapping[str, str], default: Standard, problems: list[FieldError]) -> Standard:
    found = default
    label = PREFIX + mode
    if label in labels:
        try:
            found = replace(found, level=parse_level(labels[label]))
        except ValueError as problem:
            found = replace(found, level=PRIVILEGED if mode in _PRIVILEGED_IF_WRONG else RESTRICTED)
            problems.append(invalid(f"metadata.labels[{label}]", labels[label], str(problem)))
    label += "-version"
    if label in labels:
        try:
            found = replace(found, minor=parse_minor(labels[label]))
        except ValueError as problem:
            found = replace(found, minor=LATEST)
            problems.append(invalid(f"metadata.labels[{label}]", labels[label], str(problem)))
    return found
