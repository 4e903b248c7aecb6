"""PodTolerationRestriction: a namespace gives its pods tolerations, and says which they may have at most."""

from collections.abc import Sequence

import orjson

from tiphys.api.core.pods import facts
from tiphys.apiserver.admission.chain import CREATE_UPDATE, PODS, Attributes
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery import errors
from tiphys.machinery.decode.json_syntax import syntax_problem
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

DEFAULTS = "scheduler.alpha.kubernetes.io/defaultTolerations"
ALLOWED = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
_MEMORY_PRESSURE: Obj = {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}


class PodTolerationRestriction:
    name = "PodTolerationRestriction"
    operations = CREATE_UPDATE
    resources = PODS

    def __init__(self, lookup: Lookup, default: Sequence[Obj] = (), allowed: Sequence[Obj] = ()) -> None:
        """`default` and `allowed` are the cluster's, for namespaces without annotations."""
        self._lookup = lookup
        self._default = default
        self._allowed = allowed

    async def admit(self, attributes: Attributes) -> None:
        pod = attributes.obj
        if pod is None or attributes.subresource:
            return
        more: list[Obj] = []
        if attributes.operation == "CREATE":
            annotated = await self._annotated(attributes.namespace, DEFAULTS)
            more = list(self._default if annotated is None else annotated)
        if facts.qos_class(pod) != "BestEffort":
            more.append(dict(_MEMORY_PRESSURE))
        if more:
            pod["spec"]["tolerations"] = merge([*(pod["spec"].get("tolerations") or ()), *more])
        await self.validate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        pod = attributes.obj
        if pod is None or attributes.subresource or not pod["spec"].get("tolerations"):
            return
        allowed: Sequence[Obj] | None = await self._annotated(attributes.namespace, ALLOWED)
        scope = "namespace"
        if allowed is None:
            allowed, scope = self._allowed, "cluster"
        if allowed and not all(any(covers(each, present) for each in allowed) for present in pod["spec"]["tolerations"]):
            told = f"pod tolerations (possibly merged with namespace default tolerations) conflict with its {scope} whitelist"
            raise ApiError(500, "", told)

    async def _annotated(self, name: str, key: str) -> list[Obj] | None:
        """None: the namespace says nothing."""
        namespace = self._lookup.get("namespaces", name) or await self._lookup.fresh("namespaces", name)
        if namespace is None:
            raise errors.not_found("", "namespaces", name)
        text = (namespace["metadata"].get("annotations") or {}).get(key)
        if text is None:
            return None
        try:
            found: list[Obj] = orjson.loads(text) if text else []
        except orjson.JSONDecodeError as problem:
            raise ApiError(500, "", syntax_problem(text.encode()) or str(problem)) from None
        return found


def merge(tolerations: Sequence[Obj]) -> list[Obj]:
    """Without those that others say already."""
    merged: list[Obj] = []
    for number, each in enumerate(tolerations):
        later = tolerations[number + 1 :]
        if not any(covers(one, each) for one in merged) and not any(one != each and covers(one, each) for one in later):
            merged.append(each)
    return merged


def covers(wide: Obj, narrow: Obj) -> bool:
    """Whether `wide` tolerates everything that `narrow` does."""
    if wide == narrow:
        return True
    if narrow.get("key", "") != wide.get("key", "") and (wide.get("key", "") or wide.get("operator") != "Exists"):
        return False
    if wide.get("effect", "") not in ("", narrow.get("effect", "")):
        return False
    longest, asked = wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")
    if wide.get("effect") == "NoExecute" and longest is not None and (asked is None or asked > longest):
        return False
    if wide.get("operator", "") in ("", "Equal"):
        return bool(narrow.get("operator") == "Equal" and narrow.get("value", "") == wide.get("value", ""))
    return wide.get("operator") == "Exists"
