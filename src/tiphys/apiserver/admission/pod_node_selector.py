"""PodNodeSelector: the pods of a namespace run on the nodes that its annotation (or the cluster's configuration) selects."""

from collections.abc import Mapping

from tiphys.apiserver.admission.chain import CREATE, PODS, Attributes
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery import errors
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"
DEFAULT = "clusterDefaultNodeSelector"


class PodNodeSelector:
    name = "PodNodeSelector"
    operations = CREATE
    resources = PODS

    def __init__(self, lookup: Lookup, selectors: Mapping[str, str] | None = None) -> None:
        """`selectors`: by namespace, what its pods may select at most; and the default of those that say nothing."""
        self._lookup = lookup
        self._selectors = selectors or {}

    async def admit(self, attributes: Attributes) -> None:
        pod = attributes.obj
        if pod is None or attributes.subresource:
            return
        wanted = await self._of_namespace(attributes.namespace)
        _check_conflict(wanted, pod)
        if merged := {**wanted, **(pod["spec"].get("nodeSelector") or {})}:
            pod["spec"]["nodeSelector"] = merged
        self._check_allowed(attributes.namespace, pod)

    async def validate(self, attributes: Attributes) -> None:
        pod = attributes.obj
        if pod is None or attributes.subresource:
            return
        _check_conflict(await self._of_namespace(attributes.namespace), pod)
        self._check_allowed(attributes.namespace, pod)

    async def _of_namespace(self, name: str) -> dict[str, str]:
        namespace = self._lookup.get("namespaces", name) or await self._lookup.fresh("namespaces", name)
        if namespace is None:
            raise errors.internal(f"namespace {name} does not exist")
        annotated = (namespace["metadata"].get("annotations") or {}).get(ANNOTATION)
        return to_labels(self._selectors.get(DEFAULT, "") if annotated is None else annotated)

    def _check_allowed(self, namespace: str, pod: Obj) -> None:
        allowed = to_labels(self._selectors.get(namespace, ""))
        if allowed and any(allowed.get(key) != value for key, value in (pod["spec"].get("nodeSelector") or {}).items()):
            raise _forbidden(pod, "pod node label selector labels conflict with its namespace whitelist")


def _check_conflict(wanted: Mapping[str, str], pod: Obj) -> None:
    present = pod["spec"].get("nodeSelector") or {}
    if any(present.get(key, value) != value for key, value in wanted.items()):
        raise _forbidden(pod, "pod node label selector conflicts with its namespace node label selector")


def _forbidden(pod: Obj, why: str) -> ApiError:
    return errors.forbidden("", "pods", pod["metadata"].get("name", ""), why)


def to_labels(selector: str) -> dict[str, str]:
    """`a=b,c=d` as labels."""
    found: dict[str, str] = {}
    for part in selector.split(",") if selector else ():
        pieces = part.split("=")
        if len(pieces) != 2:
            raise ApiError(500, "", f"invalid selector: [{' '.join(pieces)}]")
        found[pieces[0].strip()] = pieces[1].strip()
    return found
