"""The flatter form in which version 1 keeps metrics, behaviour and conditions in annotations.

Key order follows upstream's structs, because the annotation is a text that users compare.
"""

from typing import Any

from tiphys.machinery.tree import Obj, get


def spec_to_v2(old: Obj) -> Obj:
    """One entry of the metrics annotation."""
    new: Obj = {"type": old.get("type", "")}
    if (source := old.get("object")) is not None:
        new["object"] = _object_to_v2(source)
    if (source := old.get("pods")) is not None:
        target = {"type": "AverageValue", "averageValue": source.get("targetAverageValue", "0")}
        new["pods"] = {"metric": _identifier(source, "selector"), "target": target}
    for name in ("resource", "containerResource"):
        if (source := old.get(name)) is not None:
            new[name] = _resource_to_v2(source)
    if (source := old.get("external")) is not None:
        value = source.get("targetValue")
        target = {"type": "AverageValue" if value is None else "Value", "value": value}
        target["averageValue"] = source.get("targetAverageValue")
        new["external"] = {"metric": _identifier(source, "metricSelector"), "target": _present(target)}
    return new


def _object_to_v2(source: Obj) -> Obj:
    value, average = source.get("targetValue", "0"), source.get("averageValue")
    if average is not None and value == "0":
        value = None
    target = {"type": "Value" if average is None else "AverageValue", "value": value, "averageValue": average}
    return {
        "describedObject": source.get("target") or {},
        "target": _present(target),
        "metric": _identifier(source, "selector"),
    }


def _resource_to_v2(source: Obj) -> Obj:
    utilization, average = source.get("targetAverageUtilization"), source.get("targetAverageValue")
    target: Obj = {"type": "AverageValue" if utilization is None else "Utilization"}
    target |= {"averageValue": average, "averageUtilization": utilization}
    return _named(source) | {"target": _present(target)}


def spec_from_v2(new: Obj) -> Obj:
    old: Obj = {"type": new.get("type", "")}
    if (source := new.get("object")) is not None:
        target = source.get("target") or {}
        old["object"] = {
            "target": source.get("describedObject") or {},
            "metricName": get(source, ("metric", "name"), ""),
            "targetValue": target.get("value", "0"),
            **_present({"selector": get(source, ("metric", "selector")), "averageValue": target.get("averageValue")}),
        }
    if (source := new.get("pods")) is not None:
        old["pods"] = {
            "metricName": get(source, ("metric", "name"), ""),
            "targetAverageValue": get(source, ("target", "averageValue"), "0"),
            **_present({"selector": get(source, ("metric", "selector"))}),
        }
    for name in ("resource", "containerResource"):
        if (source := new.get(name)) is not None:
            target = source.get("target") or {}
            wanted = {
                "targetAverageUtilization": target.get("averageUtilization"),
                "targetAverageValue": target.get("averageValue"),
            }
            old[name] = {"name": source.get("name", "")} | _present(wanted) | _container(source)
    if (source := new.get("external")) is not None:
        target = source.get("target") or {}
        wanted = {
            "metricSelector": get(source, ("metric", "selector")),
            "targetValue": target.get("value"),
            "targetAverageValue": target.get("averageValue"),
        }
        old["external"] = {"metricName": get(source, ("metric", "name"), "")} | _present(wanted)
    return old


def status_to_v2(old: Obj) -> Obj:
    """One entry of the current-metrics annotation."""
    new: Obj = {"type": old.get("type", "")}
    if (source := old.get("object")) is not None:
        now = {"value": source.get("currentValue", "0"), "averageValue": source.get("averageValue")}
        described = {"describedObject": source.get("target") or {}}
        new["object"] = {"metric": _identifier(source, "selector"), "current": _present(now)} | described
    if (source := old.get("pods")) is not None:
        now = {"averageValue": source.get("currentAverageValue", "0")}
        new["pods"] = {"metric": _identifier(source, "selector"), "current": now}
    for name in ("resource", "containerResource"):
        if (source := old.get(name)) is not None:
            now = {"averageValue": source.get("currentAverageValue", "0")}
            now["averageUtilization"] = source.get("currentAverageUtilization")
            new[name] = _named(source) | {"current": _present(now)}
    if (source := old.get("external")) is not None:
        now = {"value": source.get("currentValue", "0"), "averageValue": source.get("currentAverageValue")}
        new["external"] = {"metric": _identifier(source, "metricSelector"), "current": _present(now)}
    return new


def status_from_v2(new: Obj) -> Obj:
    old: Obj = {"type": new.get("type", "")}
    if (source := new.get("object")) is not None:
        now = source.get("current") or {}
        old["object"] = {
            "target": source.get("describedObject") or {},
            "metricName": get(source, ("metric", "name"), ""),
            "currentValue": now.get("value", "0"),
            **_present({"selector": get(source, ("metric", "selector")), "averageValue": now.get("averageValue")}),
        }
    if (source := new.get("pods")) is not None:
        old["pods"] = {
            "metricName": get(source, ("metric", "name"), ""),
            "currentAverageValue": get(source, ("current", "averageValue"), "0"),
            **_present({"selector": get(source, ("metric", "selector"))}),
        }
    for name in ("resource", "containerResource"):
        if (source := new.get(name)) is not None:
            now = source.get("current") or {}
            told = _present({"currentAverageUtilization": now.get("averageUtilization")})
            told["currentAverageValue"] = now.get("averageValue", "0")
            old[name] = {"name": source.get("name", "")} | told | _container(source)
    if (source := new.get("external")) is not None:
        now = source.get("current") or {}
        old["external"] = {
            "metricName": get(source, ("metric", "name"), ""),
            **_present({"metricSelector": get(source, ("metric", "selector"))}),
            "currentValue": now.get("value", "0"),
            **_present({"currentAverageValue": now.get("averageValue")}),
        }
    return old


def condition_from_v2(condition: Obj) -> Obj:
    told = {"type": condition.get("type", ""), "status": condition.get("status", "")}
    told["lastTransitionTime"] = condition.get("lastTransitionTime")
    rest = {name: condition[name] for name in ("reason", "message") if condition.get(name)}
    return told | rest


_RULES = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
_POLICY = ("type", "value", "periodSeconds")


def behavior_to_internal(behavior: Obj | None) -> Obj | None:
    """Upstream writes its internal type into the annotation, whose fields have no JSON names."""
    if behavior is None:
        return None
    return {_capital(name): _rules_to_internal(behavior.get(name)) for name in ("scaleUp", "scaleDown")}


def _rules_to_internal(rules: Obj | None) -> Obj | None:
    if rules is None:
        return None
    told: dict[str, Any] = {_capital(name): rules.get(name) for name in _RULES}
    if rules.get("policies") is not None:
        told["Policies"] = [{_capital(name): each.get(name) for name in _POLICY} for each in rules["policies"]]
    return told


def behavior_from_internal(told: Obj | None) -> Obj | None:
    """Go reads the names whatever their case."""
    return _lowered(told, ("scaleUp", "scaleDown"), _rules_from_internal) if told else None


def _rules_from_internal(told: Obj) -> Obj:
    rules = _lowered(told, _RULES)
    if rules.get("policies") is not None:
        rules["policies"] = [_lowered(each, _POLICY) for each in rules["policies"]]
    return rules


def _lowered(told: Obj, names: tuple[str, ...], change: Any = None) -> Obj:
    given = {name.lower(): value for name, value in told.items()}
    found = {name: given[name.lower()] for name in names if given.get(name.lower()) is not None}
    return {name: change(value) for name, value in found.items()} if change else found


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


def _identifier(source: Obj, selector: str) -> Obj:
    return {"name": source.get("metricName", "")} | _present({"selector": source.get(selector)})


def _named(source: Obj) -> Obj:
    return {"name": source.get("name", "")} | _container(source)


def _container(source: Obj) -> Obj:
    return {"container": source["container"]} if "container" in source else {}


def _present(values: Obj) -> Obj:
    return {name: value for name, value in values.items() if value is not None}
