"""Ingress: which HTTP requests from outside go to which Service."""

from collections.abc import Iterator

from tiphys.api import ip
from tiphys.api.core import cells
from tiphys.api.core.services.columns import balancer_addresses
from tiphys.api.core.services.validation import validate_ingress_hostname
from tiphys.api.kind import AGE, SPEC, Column, Kind, Strategy
from tiphys.machinery.fields import FieldError, child, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import (
    dns1123_label,
    dns1123_subdomain,
    path_segment,
    port_name,
    port_number,
    wildcard_dns1123_subdomain,
)

CLASS_ANNOTATION = "kubernetes.io/ingress.class"

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_NOT_IN_PATHS = ("//", "/./", "/../", "%2f", "%2F")
_NOT_AT_THE_END = ("/..", "/.")
_SHOWN_HOSTS = 3


def default(ingress: Obj) -> None:
    ingress.setdefault("spec", {})
    ingress.setdefault("status", {}).setdefault("loadBalancer", {})
    for backend in _backends(ingress["spec"]):
        if (resource := (backend or {}).get("resource")) is not None:
            resource.setdefault("apiGroup", None)


def _backends(spec: Obj) -> Iterator[Obj | None]:
    yield spec.get("defaultBackend")
    for rule in spec.get("rules") or ():
        for each in (rule.get("http") or {}).get("paths") or ():
            yield each.get("backend")


def prepare_create(ingress: Obj) -> None:
    ingress["status"] = {"loadBalancer": {}}


def validate(ingress: Obj) -> Iterator[FieldError]:
    spec = ingress.get("spec") or {}
    rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
    if not rules and backend is None:
        yield invalid("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified")
    if backend is not None:
        yield from _validate_backend(backend, "spec.defaultBackend")
    for position, rule in enumerate(rules):
        yield from _validate_rule(rule, index("spec.rules", position))
    for position, secured in enumerate(spec.get("tls") or ()):
        yield from _validate_tls(secured, index("spec.tls", position))
    name = spec.get("ingressClassName")
    if name is not None:
        for problem in dns1123_subdomain(name):
            yield invalid("spec.ingressClassName", name, problem)


def validate_create(ingress: Obj) -> Iterator[FieldError]:
    annotation, name = _annotations(ingress).get(CLASS_ANNOTATION), get(ingress, ("spec", "ingressClassName"))
    if annotation is not None and name is not None and annotation != name:
        told = "must match `ingressClassName` when both are specified"
        yield invalid(child("annotations", CLASS_ANNOTATION), annotation, told)


def _annotations(ingress: Obj) -> dict[str, str]:
    return ingress.get("metadata", {}).get("annotations") or {}


def _host_problems(host: str) -> list[str]:
    return wildcard_dns1123_subdomain(host) if "*" in host else dns1123_subdomain(host)


def _validate_rule(rule: Obj, at: str) -> Iterator[FieldError]:
    if host := rule.get("host"):
        if ip.parse(host) is not None:
            yield invalid(child(at, "host"), host, "must be a DNS name, not an IP address")
        for problem in _host_problems(host):
            yield invalid(child(at, "host"), host, problem)
    http = rule.get("http")
    if http is None:
        return
    paths = http.get("paths") or []
    at = child(at, "http", "paths")
    if not paths:
        yield required(at)
    for position, path in enumerate(paths):
        yield from _validate_path(path, index(at, position))


def _validate_path(path: Obj, at: str) -> Iterator[FieldError]:
    kind, text = path.get("pathType"), path.get("path") or ""
    if kind is None:
        yield required(child(at, "pathType"), "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield not_supported(child(at, "pathType"), kind, _PATH_TYPES)
    else:
        strict = kind != "ImplementationSpecific"
        if (strict or text) and not text.startswith("/"):
            yield invalid(child(at, "path"), text, "must be an absolute path")
        for part in _NOT_IN_PATHS if strict else ():
            if part in text:
                yield invalid(child(at, "path"), text, f"must not contain '{part}'")
        for part in _NOT_AT_THE_END if strict else ():
            if text.endswith(part):
                yield invalid(child(at, "path"), text, f"cannot end with '{part}'")
    yield from _validate_backend(path.get("backend") or {}, child(at, "backend"))


def _validate_backend(backend: Obj, at: str) -> Iterator[FieldError]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        yield invalid(at, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from validate_reference(resource, child(at, "resource"))
    elif service is not None:
        yield from _validate_service(service, at)
    else:
        yield invalid(at, "", "resource or service backend is required")


def _validate_service(service: Obj, at: str) -> Iterator[FieldError]:
    name, port = service.get("name") or "", service.get("port") or {}
    if not name:
        yield required(child(at, "service", "name"))
    else:
        for problem in dns1123_label(name):
            yield invalid(child(at, "service", "name"), name, problem)
    label, number = port.get("name") or "", port.get("number") or 0
    if label and number:
        yield invalid(at, "", "cannot set both port name & port number")
    elif label:
        for problem in port_name(label):
            yield invalid(child(at, "service", "port", "name"), label, problem)
    elif number:
        for problem in port_number(number):
            yield invalid(child(at, "service", "port", "number"), number, problem)
    else:
        yield required(at, "port name or number is required")


def validate_reference(reference: Obj, at: str) -> Iterator[FieldError]:
    """To an object of any kind, by group, kind and name."""
    group = reference.get("apiGroup")
    if group is not None:
        for problem in dns1123_subdomain(group):
            yield invalid(child(at, "apiGroup"), group, problem)
    for part in ("kind", "name"):
        yield from validate_segment(reference.get(part) or "", child(at, part))


def validate_segment(value: str, at: str) -> Iterator[FieldError]:
    if not value:
        yield required(at)
    for problem in path_segment(value):
        yield invalid(at, value, problem)


def _validate_tls(secured: Obj, at: str) -> Iterator[FieldError]:
    for position, host in enumerate(secured.get("hosts") or ()):
        for problem in _host_problems(host):
            yield invalid(index(child(at, "hosts"), position), host, problem)
    if name := secured.get("secretName"):
        for problem in dns1123_subdomain(name):
            yield invalid(child(at, "secretName"), name, problem)


def validate_status(new: Obj, _: Obj) -> Iterator[FieldError]:
    for position, ingress in enumerate(get(new, ("status", "loadBalancer", "ingress"), ())):
        at = index("status.loadBalancer.ingress", position)
        if address := ingress.get("ip"):
            yield from ip.validate_legacy(address, child(at, "ip"))
        yield from validate_ingress_hostname(ingress, at)


def warnings(new: Obj, old: Obj | None) -> Iterator[str]:
    if old is None and CLASS_ANNOTATION in _annotations(new) and get(new, ("spec", "ingressClassName")) is None:
        yield f"annotation \"{CLASS_ANNOTATION}\" is deprecated, please use 'spec.ingressClassName' instead"


def _class(ingress: Obj, _: float) -> str:
    name = get(ingress, ("spec", "ingressClassName"))
    return cells.NONE if name is None else name


def _hosts(ingress: Obj, _: float) -> str:
    """Rules without a host count among those that are not shown, once three hosts are."""
    rules: list[Obj] = get(ingress, ("spec", "rules"), [])
    shown: list[str] = []
    more = False
    for rule in rules:
        more = more or len(shown) == _SHOWN_HOSTS
        if not more and rule.get("host"):
            shown.append(rule["host"])
    if not shown:
        return "*"
    told = ",".join(shown)
    return f"{told} + {len(rules) - _SHOWN_HOSTS} more..." if more else told


def _address(ingress: Obj, _: float) -> str:
    return ",".join(balancer_addresses(ingress))


def _ports(ingress: Obj, _: float) -> str:
    return "80, 443" if get(ingress, ("spec", "tls")) else "80"


INGRESSES = Kind(
    group="networking.k8s.io",
    version="v1",
    kind="Ingress",
    plural="ingresses",
    singular="ingress",
    schema="io.k8s.api.networking.v1.Ingress",
    short=("ing",),
    storage_prefix="ingress",
    default=default,
    prepare_create=prepare_create,
    validate=validate,
    validate_create=validate_create,
    validate_status=validate_status,
    warnings=warnings,
    strategy=Strategy(status=True, generation_of=SPEC),
    columns=(
        Column("Class", _class, description="Name of the IngressClass that takes care of it."),
        Column("Hosts", _hosts, description="Hosts that its rules match."),
        Column("Address", _address, description="Where the load balancer answers."),
        Column("Ports", _ports, description="Ports that are open."),
        AGE,
    ),
)
