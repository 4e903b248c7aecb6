"""Whether a budget lets a pod go, and what it looks like afterwards. Core."""

from tiphys.api.core.pods import facts
from tiphys.machinery import errors, times
from tiphys.machinery.errors import ApiError, Details
from tiphys.machinery.tree import Obj

MOST_DISRUPTED = 2000
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."


def may_ignore_budgets(pod: Obj) -> bool:
    """A pod that does not serve any more, or not yet, disrupts nothing when it goes."""
    return facts.phase(pod) in ("Succeeded", "Failed", "Pending") or facts.is_deleting(pod)


def unhealthy_may_go(pod: Obj, budget: Obj) -> bool:
    """A pod that is not ready is not counted as healthy, so its going may be free."""
    if facts.is_ready(pod):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    wanted = status.get("desiredHealthy", 0)
    return bool(status.get("currentHealthy", 0) >= wanted > 0)


def too_many(name: str, why: str = "", seconds: int = 10) -> ApiError:
    why = why or f"The disruption budget {name} is still being processed by the server."
    cause = {"reason": "DisruptionBudget", "message": why}
    refusal = errors.too_many_requests(_REFUSED, seconds)
    refusal.details = Details(causes=(cause,), retry_after=seconds)
    if not seconds:
        refusal.headers.pop("Retry-After", None)
    return refusal


def spend(budget: Obj, pod_name: str, now: float) -> Obj:
    """The budget with one disruption less. Raises a refusal if there is none left."""
    metadata, status = budget["metadata"], dict(budget.get("status") or {})
    name = metadata["name"]
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        raise too_many(name)
    allowed = status.get("disruptionsAllowed", 0)
    disrupted = status.get("disruptedPods") or {}
    if allowed < 0:
        raise errors.forbidden("policy", "poddisruptionbudget", name, "pdb disruptions allowed is negative")
    if len(disrupted) > MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise errors.forbidden("policy", "poddisruptionbudget", name, why)
    if allowed == 0:
        raise too_many(name, _why_not(name, status), 0)
    status["disruptionsAllowed"] = allowed - 1
    status["disruptedPods"] = {**disrupted, pod_name: times.rfc3339(now)}
    if allowed == 1:
        status["conditions"] = _exhausted(status.get("conditions") or [], metadata.get("generation", 0), now)
    return {**budget, "status": status}


def _condition(status: Obj) -> Obj:
    found = (each for each in status.get("conditions") or () if each.get("type") == "DisruptionAllowed")
    return next(found, {})


def _why_not(name: str, status: Obj) -> str:
    condition = _condition(status)
    refused = condition.get("status") == "False" and condition.get("message")
    healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    told = f"The disruption budget {name} does not allow evicting pods currently"
    if refused and condition.get("reason") == "SyncFailed":
        return f"{told} because it failed sync: {condition['message']}"
    if healthy <= wanted:
        return f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"
    return f"{told} ({condition.get('reason', '')}): {condition['message']}" if refused else told


def _exhausted(conditions: list[Obj], generation: int, now: float) -> list[Obj]:
    kept = [each for each in conditions if each.get("type") != "DisruptionAllowed"]
    before = next((each for each in conditions if each.get("type") == "DisruptionAllowed"), {})
    since = before.get("lastTransitionTime") if before.get("status") == "False" else times.rfc3339(now)
    condition = {
        "type": "DisruptionAllowed",
        "status": "False",
        "observedGeneration": generation,
        "lastTransitionTime": since,
        "reason": "InsufficientPods",
        "message": "",
    }
    return [*kept, condition]
