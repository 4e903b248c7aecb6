"""IngressClass: which controller takes care of an Ingress, and its parameters."""

from collections.abc import Iterator

from tiphys.api.core.cells import NONE
from tiphys.api.kind import AGE, SPEC, Column, Kind, Strategy
from tiphys.api.networking.ingresses import validate_reference
from tiphys.machinery.fields import FieldError, forbidden, invalid, not_supported, required, too_long
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import dns1123_label, domain_prefixed_path, immutable

DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"

_LONGEST_CONTROLLER = 250
_SCOPES = ("Cluster", "Namespace")
_PARAMETERS = "spec.parameters"


def default(ingress_class: Obj) -> None:
    parameters = ingress_class.setdefault("spec", {}).get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def validate(ingress_class: Obj) -> Iterator[FieldError]:
    spec = ingress_class.get("spec") or {}
    controller = spec.get("controller") or ""
    if len(controller.encode()) > _LONGEST_CONTROLLER:
        yield too_long("spec.controller", _LONGEST_CONTROLLER)
    yield from domain_prefixed_path(controller, "spec.controller")
    if (parameters := spec.get("parameters")) is not None:
        yield from validate_reference(parameters, _PARAMETERS)
        yield from _validate_scope(parameters)


def _validate_scope(parameters: Obj) -> Iterator[FieldError]:
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        yield required(_PARAMETERS + ".scope")
    elif scope not in _SCOPES:
        yield not_supported(_PARAMETERS + ".scope", scope, _SCOPES)
    elif scope == "Namespace":
        if namespace is None:
            yield required(_PARAMETERS + ".namespace", "`parameters.scope` is set to 'Namespace'")
        else:
            for problem in dns1123_label(namespace):
                yield invalid(_PARAMETERS + ".namespace", namespace, problem)
    elif namespace is not None:
        yield forbidden(_PARAMETERS + ".namespace", "`parameters.scope` is set to 'Cluster'")


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from immutable(get(new, ("spec", "controller"), ""), get(old, ("spec", "controller"), ""), "spec.controller")


def _name(ingress_class: Obj, _: float) -> str:
    meta = ingress_class.get("metadata") or {}
    name: str = meta.get("name", "")
    return name + " (default)" if (meta.get("annotations") or {}).get(DEFAULT_CLASS) == "true" else name


def _parameters(ingress_class: Obj, _: float) -> str:
    parameters = get(ingress_class, ("spec", "parameters"))
    if parameters is None:
        return NONE
    group = parameters.get("apiGroup")
    kind = parameters.get("kind", "") if group is None else f"{parameters.get('kind', '')}.{group}"
    return f"{kind}/{parameters.get('name', '')}"


INGRESS_CLASSES = Kind(
    group="networking.k8s.io",
    version="v1",
    kind="IngressClass",
    plural="ingressclasses",
    singular="ingressclass",
    schema="io.k8s.api.networking.v1.IngressClass",
    namespaced=False,
    default=default,
    validate=validate,
    validate_update=validate_update,
    strategy=Strategy(generation_of=SPEC),
    columns=(
        Column("Name", _name, format="name"),
        Column("Controller", "spec.controller", description="Controller that is responsible for handling this class"),
        Column("Parameters", _parameters, description="A reference to a resource with additional parameters"),
        AGE,
    ),
)
