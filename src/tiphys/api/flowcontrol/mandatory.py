"""The objects that always exist and whose specs nobody may change."""

from typing import Any

from tiphys.machinery.tree import Obj

GROUP = "flowcontrol.apiserver.k8s.io"
EXEMPT = "exempt"

EVERYTHING: Obj = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}


def groups(*names: str) -> list[Obj]:
    return [{"kind": "Group", "group": {"name": name}} for name in names]


def flow(precedence: int, level: str, rules: list[Obj], distinguish: str = "") -> Obj:
    spec: dict[str, Any] = {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        "rules": rules,
    }
    if distinguish:
        spec["distinguisherMethod"] = {"type": distinguish}
    return spec


FLOWS: dict[str, Obj] = {
    EXEMPT: flow(1, EXEMPT, [{"subjects": groups("system:masters"), **EVERYTHING}]),
    "catch-all": flow(
        10000,
        "catch-all",
        [{"subjects": groups("system:unauthenticated", "system:authenticated"), **EVERYTHING}],
        "ByUser",
    ),
}

LEVELS: dict[str, Obj] = {
    EXEMPT: {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}},
    "catch-all": {
        "type": "Limited",
        "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
    },
}
