"""Priority: a pod's class name becomes its number; and only one class may be the default."""

from tiphys.apiserver.admission.chain import CREATE_UPDATE, Attributes, Resources
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery.tree import Obj

_BUCKET = "priorityclasses"
_NO_CLASS: Obj = {"value": 0, "preemptionPolicy": "PreemptLowerPriority"}


class Priority:
    name = "Priority"
    operations = CREATE_UPDATE
    resources: Resources = frozenset((("", "pods"), ("scheduling.k8s.io", "priorityclasses")))

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def admit(self, attributes: Attributes) -> None:
        pod = attributes.obj
        if pod is None or not attributes.concerns("", "pods"):
            return
        spec = pod["spec"]
        if attributes.operation == "UPDATE":
            _keep(spec, attributes.old)
            return
        found = await self._class_of(attributes, spec.get("priorityClassName", ""))
        if found is not _NO_CLASS:
            spec["priorityClassName"] = found["metadata"]["name"]
        value = found.get("value", 0)
        if spec.get("priority") not in (None, value):
            raise attributes.forbidden(
                f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
                f"priority admission controller computed {value} from the given PriorityClass name"
            )
        spec["priority"] = value
        policy = found.get("preemptionPolicy")
        if policy is None:
            return
        if spec.get("preemptionPolicy") not in (None, policy):
            raise attributes.forbidden(
                f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
                f"priority admission controller computed {policy} from the given PriorityClass name"
            )
        spec["preemptionPolicy"] = policy

    async def _class_of(self, attributes: Attributes, name: str) -> Obj:
        if not name:
            return await self._default() or _NO_CLASS
        found = self._lookup.get(_BUCKET, name) or await self._lookup.fresh(_BUCKET, name)
        if found is None:
            raise attributes.forbidden(f"no PriorityClass with name {name} was found")
        return found

    async def _default(self) -> Obj | None:
        """The lowest, should there be several."""
        defaults = [each for each in await self._lookup.all(_BUCKET) if each.get("globalDefault")]
        return min(defaults, key=lambda each: each.get("value", 0), default=None)

    async def validate(self, attributes: Attributes) -> None:
        new = attributes.obj
        if new is None or not attributes.concerns("scheduling.k8s.io", _BUCKET) or not new.get("globalDefault"):
            return
        present = await self._default()
        if present is None:
            return
        name = present["metadata"]["name"]
        if attributes.operation == "CREATE" or name != new["metadata"]["name"]:
            raise attributes.forbidden(f"PriorityClass {name} is already marked as default. Only one default can exist")


def _keep(spec: Obj, old: Obj | None) -> None:
    """A client that leaves the numbers out does not mean to remove them."""
    for field in ("priority", "preemptionPolicy"):
        if old is not None and spec.get(field) is None and old["spec"].get(field) is not None:
            spec[field] = old["spec"][field]
