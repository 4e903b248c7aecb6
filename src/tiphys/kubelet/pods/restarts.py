"""Whether a container that has ended is started again, and when."""

from dataclasses import dataclass, replace

from tiphys.machinery.tree import Obj

FIRST_DELAY = 10.0
LONGEST_DELAY = 300.0
"""Upstream's MaxCrashLoopBackOff (pkg/kubelet/kubelet.go)."""


@dataclass(frozen=True, slots=True)
class BackOff:
    """Of one container: how long it waits, and since when that has been so."""

    delay: float = 0.0
    updated: float = 0.0
    longest: float = LONGEST_DELAY

    def waits(self, ended: float, now: float) -> float:
        """Seconds until it may start again, given when its last run ended; 0 is now."""
        if not self.delay or self._expired(ended):
            return 0.0
        return max(0.0, ended + self.delay - now)

    def next(self, ended: float, now: float) -> "BackOff":
        """After a start: the wait before the one after. A run that was long enough is forgiven."""
        if not self.delay or self._expired(ended):
            return replace(self, delay=min(FIRST_DELAY, self.longest), updated=now)
        return replace(self, delay=min(self.delay * 2, self.longest), updated=now)

    def _expired(self, ended: float) -> bool:
        """It ran for twice the longest delay (client-go util/flowcontrol/backoff.go, hasExpired)."""
        return ended - self.updated > 2 * self.longest


def is_sidecar(container: Obj) -> bool:
    """Of an init container: it stays beside the others."""
    return container.get("restartPolicy") == "Always"


RESTART_ALL = "RestartAllContainers"


def rule_action(container: Obj, exit_code: int) -> str | None:
    """What the first of its rules that fits says: `Restart` or `RestartAllContainers`; None where none does."""
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        if (exit_code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
            return str(rule.get("action"))
    return None


def restarts(pod: Obj, container: Obj, exit_code: int) -> bool:
    """Whether a container that ended with `exit_code` is started again, by its own rules, its own policy, or the pod's."""
    action = rule_action(container, exit_code)
    if action is not None:
        return True
    policy = container.get("restartPolicy") or pod["spec"].get("restartPolicy", "Always")
    return bool(policy == "Always" or (policy == "OnFailure" and exit_code != 0))


def restarts_init(pod: Obj, container: Obj) -> bool:
    """Whether an init container that failed is tried again: a pod whose containers always run counts as OnFailure here."""
    policy = container.get("restartPolicy") or pod["spec"].get("restartPolicy", "Always")
    return bool(policy != "Never")
