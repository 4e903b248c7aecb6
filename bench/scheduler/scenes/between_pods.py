"""What a pod of a scene asks of the pods around it."""

from bench.scheduler.scenes.chance import Chance
from bench.scheduler.scenes.nodes import HOST, REGION, ZONE
from tiphys.machinery.tree import Obj

APPS = ("red", "green", "blue")
TRACKS = ("stable", "new")
NAMESPACES = {"default": {}, "north": {"team": "a"}, "south": {"team": "b", "open": ""}}
_REQUIRED, _PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"


def affinity(chance: Chance, app: str) -> Obj:
    """Towards and away from other pods."""
    found: Obj = {}
    kinds = (("podAffinity", "required pods", "preferred pods"), ("podAntiAffinity", "apart from pods", "preferably apart"))
    for kind, required, preferred in kinds:
        terms: Obj = {}
        if chance.has(required):
            terms[_REQUIRED] = [_term(chance, app) for _ in range(1 if chance.one_in(1.3) else 2)]
        if chance.has(preferred):
            terms[_PREFERRED] = [
                {"weight": chance.between(1, 100), "podAffinityTerm": _term(chance, app)} for _ in range(chance.between(1, 2))
            ]
        if terms:
            found[kind] = terms
    return found


def _term(chance: Chance, app: str) -> Obj:
    term: Obj = {"topologyKey": chance.pick((ZONE, ZONE, HOST, REGION, "disk"))}
    if not chance.one_in(15):
        term["labelSelector"] = selector(chance, app)
    if chance.has("namespaces"):
        term["namespaces"] = chance.some(tuple(NAMESPACES), 1, 2)
    if chance.has("namespaces"):
        term["namespaceSelector"] = chance.pick(
            ({}, {"matchLabels": {"team": "a"}}, {"matchExpressions": [{"key": "open", "operator": "DoesNotExist"}]})
        )
    if "labelSelector" in term and chance.has("other terms"):
        term[chance.pick(("matchLabelKeys", "mismatchLabelKeys"))] = ["track"]
    return term


def selector(chance: Chance, app: str) -> Obj:
    other = chance.pick((app, app, *APPS))
    shapes: tuple[Obj, ...] = (
        {"matchLabels": {"app": other}},
        {"matchLabels": {"app": other}},
        {"matchExpressions": [{"key": "app", "operator": "In", "values": sorted({other, "red"})}]},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [other]}]},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "grade", "operator": "DoesNotExist"}], "matchLabels": {"app": other}},
    )
    return chance.pick(shapes) if not chance.one_in(20) else {}


def spread(chance: Chance, app: str) -> list[Obj]:
    found, used = [], set()
    for feature, action in (("hard spread", "DoNotSchedule"), ("soft spread", "ScheduleAnyway")):
        for _ in range(chance.between(1, 2) if chance.has(feature) else 0):
            key = chance.pick((ZONE, ZONE, HOST, REGION, "disk"))
            if (key, action) not in used:
                used.add((key, action))
                found.append(_constraint(chance, app, key, action))
    return found


def _constraint(chance: Chance, app: str, key: str, action: str) -> Obj:
    constraint: Obj = {"maxSkew": chance.between(1, 3), "topologyKey": key, "whenUnsatisfiable": action}
    if not chance.one_in(12):
        constraint["labelSelector"] = selector(chance, app)
    if chance.has("spread policies"):
        constraint["nodeAffinityPolicy"] = chance.pick(("Honor", "Ignore"))
    if chance.has("spread policies"):
        constraint["nodeTaintsPolicy"] = chance.pick(("Honor", "Ignore"))
    if action == "DoNotSchedule" and chance.has("spread policies"):
        constraint["minDomains"] = chance.between(1, 4)
    if "labelSelector" in constraint and chance.has("spread policies"):
        constraint["matchLabelKeys"] = ["track"]
    return constraint
