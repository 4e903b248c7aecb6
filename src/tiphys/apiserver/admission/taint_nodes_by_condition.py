"""TaintNodesByCondition: a new node is tainted not-ready, so that no pod lands on it before it has reported."""

from tiphys.apiserver.admission.chain import CREATE, Attributes, Resources

TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition:
    name = "TaintNodesByCondition"
    operations = CREATE
    resources: Resources = frozenset((("", "nodes"),))

    def admit(self, attributes: Attributes) -> None:
        if attributes.obj is None or not attributes.concerns("", "nodes"):
            return
        spec = attributes.obj.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any(each.get("key") == TAINT["key"] and each.get("effect") == TAINT["effect"] for each in taints):
            spec["taints"] = [*taints, dict(TAINT)]
