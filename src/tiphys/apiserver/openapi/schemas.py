"""Published definitions, spelled for OpenAPI v2 or v3. Core."""

from collections.abc import Iterable, Mapping
from typing import Any

from tiphys.apiserver.openapi import enums
from tiphys.machinery.tree import Obj

REFERENCE = "#/$defs/"

_QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_INT_OR_STRING = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"


class Spelling:
    """How one version of OpenAPI writes a definition."""

    def __init__(self, prefix: str, *, wrap_references: bool) -> None:
        """`wrap_references`: a $ref with a description beside it goes into allOf (v3)."""
        self._prefix = prefix
        self._wrap = wrap_references

    def reference(self, definition: str) -> Obj:
        return {"$ref": self._prefix + definition}

    def definition(self, name: str, source: Mapping[str, Any]) -> Obj:
        if name == _QUANTITY:
            spelled: Obj = {"type": "string"} if not self._wrap else {"oneOf": [{"type": "string"}, {"type": "number"}]}
            return {"description": source.get("description", ""), **spelled}
        if name == _INT_OR_STRING:
            spelled = {"type": "string"} if not self._wrap else {"oneOf": [{"type": "integer"}, {"type": "string"}]}
            return {"description": source.get("description", ""), "format": "int-or-string", **spelled}
        spelled = self.schema(source)
        for field in ("apiVersion", "kind"):
            # The source pins them to one value; the published schema leaves them open.
            if field in spelled.get("properties", {}):
                spelled["properties"][field].pop("enum", None)
        enums.add(name, spelled)
        return spelled

    def schema(self, source: Mapping[str, Any]) -> Obj:
        made: Obj = {}
        for key, value in source.items():
            if key == "$ref":
                continue
            if key == "type":
                made[key] = value if isinstance(value, str) else next(each for each in value if each != "null")
            elif key == "properties":
                made[key] = {name: self.schema(each) for name, each in value.items()}
            elif key in ("items", "additionalProperties") and isinstance(value, dict):
                made[key] = self.schema(value)
            else:
                made[key] = value
        if "$ref" in source:
            reference = self.reference(source["$ref"].removeprefix(REFERENCE))
            if self._wrap and made:
                made["allOf"] = [reference]
            else:
                made.update(reference)
        return made


def closure(definitions: Mapping[str, Any], roots: Iterable[str]) -> list[str]:
    """`roots` and every definition that they lead to, by name."""
    found: set[str] = set()
    waiting = [name for name in roots if name in definitions]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_references(definitions[name]))
    return sorted(found)


def _references(source: Any) -> Iterable[str]:
    if isinstance(source, dict):
        for key, value in source.items():
            # A schema of schemas has properties of that name as well.
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix(REFERENCE)
            else:
                yield from _references(value)
    elif isinstance(source, list):
        for each in source:
            yield from _references(each)
