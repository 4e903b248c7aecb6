"""What two clusters have made, without what can only differ: names that were made up, times, uids, versions, addresses."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tiphys.api.core.events import EVENTS
from tiphys.api.core.namespaces import NAMESPACES
from tiphys.api.core.nodes import NODES
from tiphys.api.registry import KINDS
from tiphys.client.rest import RestClient
from tiphys.machinery.tree import Obj

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_ADDRESS = re.compile(r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b")
_SUFFIX = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_HASH = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{7,10}\b")
"""Of a template that is no more, in events."""
_TOKENS = re.compile(r"kube-api-access-[a-z0-9]{5}\b")
_UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_MINUTE = re.compile(r"-2\d{7}\b")
_DROPPED = ("uid", "resourceVersion", "managedFields", "generation", "selfLink")
_SETS = ("conditions", "endpoints", "addresses", "active", "ownerReferences", "taints")
"""Lists of which the order says nothing."""
_HASHES = ("pod-template-hash", "controller-revision-hash")
_LEFT_OUT = frozenset(
    (("", "events"), ("events.k8s.io", "events"), ("coordination.k8s.io", "leases"), ("", "componentstatuses"))
)

Key = tuple[str, str]
"""Kind and namespace."""


@dataclass(frozen=True, slots=True)
class Found:
    objects: dict[Key, list[Obj]]
    told: dict[str, Counter[str]]
    """By namespace: what events say."""


async def collect(client: RestClient, stories: Iterable[str]) -> Found:
    spaces = [story.replace("_", "-") for story in stories]
    kinds = [
        kind
        for kind in KINDS
        if kind.namespaced and kind.stored_as is None and not kind.ephemeral and (kind.group, kind.plural) not in _LEFT_OUT
    ]
    objects: dict[Key, list[Obj]] = {}
    told: dict[str, Counter[str]] = {}
    everything: dict[str, dict[str, list[Obj]]] = {space: {} for space in spaces}
    for kind in kinds:
        for each in (await client.list(kind)).items:
            space = each["metadata"]["namespace"]
            if space in everything:
                everything[space].setdefault(kind.kind, []).append(each)
    events: dict[str, list[Obj]] = {}
    for each in (await client.list(EVENTS)).items:
        events.setdefault(each["metadata"]["namespace"], []).append(each)
    for space, by_kind in everything.items():
        plain = Plain(each for listed in by_kind.values() for each in listed)
        for kind_name, listed in by_kind.items():
            objects[kind_name, space] = sorted((plain.of(each) for each in listed), key=_order)
        told[space] = Counter(plain.event(each) for each in events.get(space, ()))
    whole = Plain(())
    listed_spaces = [each for each in (await client.list(NAMESPACES)).items if each["metadata"]["name"] in spaces]
    objects["Namespace", ""] = sorted((whole.of(each) for each in listed_spaces), key=_order)
    nodes = [each for each in (await client.list(NODES)).items if each["metadata"]["name"].startswith("story-")]
    objects["Node", ""] = sorted((whole.of(each) for each in nodes), key=_order)
    return Found(objects, told)


def _order(obj: Any) -> str:
    return json.dumps(obj, sort_keys=True)


class Plain:
    """Takes out of the objects of a namespace what can only differ."""

    def __init__(self, objects: Iterable[Obj]) -> None:
        self._aliases: dict[str, str] = {}
        for each in objects:
            metadata = each["metadata"]
            labels = metadata.get("labels") or {}
            revision = each.get("revision") or (metadata.get("annotations") or {}).get("deployment.kubernetes.io/revision")
            for label in _HASHES if revision is not None else ():
                if label in labels:
                    self._aliases[labels[label]] = f"<hash {revision}>"
            # A StatefulSet's pods have both a name of their own and a base for one.
            base, name = metadata.get("generateName", ""), metadata["name"]
            if base and name.startswith(base) and not name.removeprefix(base).isdecimal():
                self._aliases[name] = f"{base}*"
        self._longest_first = sorted(self._aliases, key=len, reverse=True)

    def of(self, obj: Obj) -> Obj:
        found: Obj = self._value(obj, "")
        generation = obj["metadata"].get("generation")
        if generation is not None and "observedGeneration" in (obj.get("status") or {}):
            found["status"]["observedGeneration"] = "now" if obj["status"]["observedGeneration"] == generation else "before"
        if obj.get("kind") == "ConfigMap" and obj["metadata"]["name"] == "kube-root-ca.crt":
            found["data"] = "<certificate>"
        if not any(each.get("kind") == "DaemonSet" for each in obj["metadata"].get("ownerReferences") or ()):
            (found.get("spec") or {}).pop("nodeName", None)
        return found

    def event(self, event: Obj) -> str:
        about = event["involvedObject"]
        text = f"{about.get('kind')} {about.get('name')}: {event['type']} {event['reason']}: {event.get('message', '')}"
        return _HASH.sub("-<hash>", self._text(text))

    def _value(self, value: Any, name: str) -> Any:
        if isinstance(value, dict):
            # Where a pod of a Service runs is the choice of whoever scheduled it.
            is_endpoint = "targetRef" in value
            kept = {key: each for key, each in value.items() if key not in _DROPPED and not (is_endpoint and key == "nodeName")}
            return {key: self._value(each, key) for key, each in sorted(kept.items())}
        if isinstance(value, list):
            made = [self._value(each, "") for each in value]
            return sorted(made, key=_order) if name in _SETS else made
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        for name in self._longest_first:
            if name in text:
                text = text.replace(name, self._aliases[name])
        text = _UID.sub("<uid>", _TOKENS.sub("kube-api-access-*", text))
        text = _SUFFIX.sub("-*", text)
        return _ADDRESS.sub("<address>", _MINUTE.sub("-<minute>", _TIME.sub("<time>", text)))


def differences(one: Found, other: Found) -> list[str]:
    found = []
    for kind, space in sorted({*one.objects, *other.objects}):
        ours, theirs = one.objects.get((kind, space), []), other.objects.get((kind, space), [])
        left = [each for each in ours if each not in theirs]
        right = [each for each in theirs if each not in ours]
        left, right = _surplus(ours, theirs, left), _surplus(theirs, ours, right)
        for name in sorted({_name(each) for each in (*left, *right)}):
            mine = [each for each in left if _name(each) == name]
            yours = [each for each in right if _name(each) == name]
            place = f"{space}/{kind} {name}"
            for a, b in zip(mine, yours, strict=False):
                found += [f"{place}: {line}" for line in fields(a, b, "")]
            if len(mine) != len(yours):
                found.append(f"{place}: {len(mine)} of these against {len(yours)}")
    return found


def _surplus(ours: list[Obj], theirs: list[Obj], least: list[Obj]) -> list[Obj]:
    """Equal objects count, too: three pods of one sort are not two."""
    counts = Counter(map(_order, theirs))
    rest = []
    for each in ours:
        if counts[_order(each)]:
            counts[_order(each)] -= 1
        else:
            rest.append(each)
    return rest or least


def _name(obj: Obj) -> str:
    return str(obj["metadata"]["name"])


def fields(one: Any, other: Any, at: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            yield from fields(one.get(key, "-"), other.get(key, "-"), f"{at}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for position, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from fields(a, b, f"{at}[{position}]")
    elif one != other:
        yield f"{at}: {json.dumps(one)} against {json.dumps(other)}"


def events(one: Found, other: Found) -> Iterator[str]:
    for space in sorted({*one.told, *other.told}):
        ours, theirs = one.told.get(space, Counter()), other.told.get(space, Counter())
        for text in sorted({*ours} - {*theirs}):
            yield f"only first   {space}: {text}"
        for text in sorted({*theirs} - {*ours}):
            yield f"only second  {space}: {text}"
