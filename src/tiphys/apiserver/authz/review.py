"""A request as a SubjectAccessReview tells it to somebody else. Core."""

from tiphys.apiserver.authz.attributes import Attributes
from tiphys.machinery import selectors
from tiphys.machinery.tree import Obj

_OPERATORS = {"=": "In", "==": "In", "in": "In", "!=": "NotIn", "notin": "NotIn", "exists": "Exists", "!": "DoesNotExist"}


def spec_of(asked: Attributes, version: str = "v1") -> Obj:
    user = asked.user
    spec: Obj = {"user": user.name}
    if user.uid:
        spec["uid"] = user.uid
    if user.groups:
        spec["groups" if version == "v1" else "group"] = list(user.groups)
    if user.extra:
        spec["extra"] = user.extras()
    if not asked.path:
        spec["resourceAttributes"] = _resource(asked)
    else:
        spec["nonResourceAttributes"] = {"path": asked.path, "verb": asked.verb}
    return spec


def _resource(asked: Attributes) -> Obj:
    parts = {
        "namespace": asked.namespace,
        "verb": asked.verb,
        "group": asked.group,
        "version": asked.version,
        "resource": asked.resource,
        "subresource": asked.subresource,
        "name": asked.name,
    }
    attributes: Obj = {name: value for name, value in parts.items() if value}
    for name, text, read in (
        ("fieldSelector", asked.field_selector, _fields),
        ("labelSelector", asked.label_selector, _labels),
    ):
        requirements = read(text) if text else []
        if requirements:
            attributes[name] = {"requirements": requirements}
    return attributes


def _fields(text: str) -> list[Obj]:
    """What is understood of it: selectors only narrow, so that a part of one may be granted too."""
    try:
        terms = selectors.parse_fields(text).terms
    except ValueError:
        return []
    return [{"key": name, "operator": "In" if equal else "NotIn", "values": [value]} for name, equal, value in terms]


def _labels(text: str) -> list[Obj]:
    try:
        requirements = selectors.parse_labels(text).requirements
    except ValueError:
        return []
    found: list[Obj] = []
    for each in requirements:
        operator = _OPERATORS.get(each.operator)
        if operator is not None:
            values: Obj = {"values": sorted(each.values)} if each.values else {}
            found.append({"key": each.key, "operator": operator, **values})
    return found
