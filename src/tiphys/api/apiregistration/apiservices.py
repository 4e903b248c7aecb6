"""APIService: who serves a group and version: this server, or another one behind a Service."""

from collections.abc import Iterator

from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.machinery.fields import FieldError, child, index, invalid, not_supported, quote, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import dns1035_label, dns1123_subdomain, path_segment, port_number

LOCAL = "Local APIServices are always available"


def default(service: Obj) -> None:
    reference = get(service, ("spec", "service"))
    if reference is not None and reference.get("port") is None:
        reference["port"] = 443


def prepare_create(service: Obj) -> None:
    """What this server answers itself is available at once."""
    service["status"] = {}
    if get(service, ("spec", "service")) is None:
        condition = {"type": "Available", "status": "True", "reason": "Local", "message": LOCAL}
        created = service["metadata"].get("creationTimestamp")
        if created:
            condition["lastTransitionTime"] = created
        service["status"] = {"conditions": [condition]}


def validate(service: Obj) -> Iterator[FieldError]:
    spec = service.get("spec") or {}
    yield from _validate_names(service["metadata"].get("name", ""), spec)
    priority, version_priority = spec.get("groupPriorityMinimum", 0), spec.get("versionPriority", 0)
    if not 0 < priority <= 20000:
        yield invalid("spec.groupPriorityMinimum", priority, "must be positive and less than 20000")
    if not 0 < version_priority <= 1000:
        yield invalid("spec.versionPriority", version_priority, "must be positive and less than 1000")
    if spec.get("service") is None:
        yield from _validate_local(spec)
    else:
        yield from _validate_remote(spec)


def _validate_names(name: str, spec: Obj) -> Iterator[FieldError]:
    group, version = spec.get("group", ""), spec.get("version", "")
    wanted = f"{version}.{group}"
    if name != wanted and not path_segment(name):
        yield invalid("metadata.name", name, f'must be `spec.version+"."+spec.group`: {quote(wanted)}')
    if not group and version != "v1":
        yield required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    if group:
        for told in dns1123_subdomain(group):
            yield invalid("spec.group", group, told)
    for told in dns1035_label(version):
        yield invalid("spec.version", version, told)


def _validate_local(spec: Obj) -> Iterator[FieldError]:
    bundle = spec.get("caBundle") or ""
    if bundle:
        size = len(bundle) * 3 // 4 - bundle.count("=")
        yield invalid("spec.caBundle", f"{size} bytes", "local APIServices may not have a caBundle")
    if spec.get("insecureSkipTLSVerify"):
        yield invalid("spec.insecureSkipTLSVerify", True, "local APIServices may not have insecureSkipTLSVerify")


def _validate_remote(spec: Obj) -> Iterator[FieldError]:
    reference = spec["service"]
    for field in ("namespace", "name"):
        if not reference.get(field):
            yield required(f"spec.service.{field}")
    port = reference.get("port", 0)
    problems = port_number(port)
    if problems:
        yield invalid("spec.service.port", port, "port is not valid: " + ", ".join(problems))
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        yield invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present")


def validate_status(new: Obj, _old: Obj) -> Iterator[FieldError]:
    for position, condition in enumerate(get(new, ("status", "conditions"), ())):
        status = condition.get("status", "")
        if status not in ("True", "False", "Unknown"):
            at = child(index("status.conditions", position), "status")
            yield not_supported(at, status, ("True", "False", "Unknown"))


def service_of(service: Obj, _now: float) -> str:
    reference = get(service, ("spec", "service"))
    return "Local" if reference is None else f"{reference.get('namespace', '')}/{reference.get('name', '')}"


def available(service: Obj, _now: float) -> str:
    for condition in get(service, ("status", "conditions"), ()):
        if condition.get("type") == "Available":
            status: str = condition.get("status", "")
            reason = condition.get("reason")
            return f"{status} ({reason})" if reason and status != "True" else status
    return "Unknown"


API_SERVICES = Kind(
    group="apiregistration.k8s.io",
    version="v1",
    kind="APIService",
    plural="apiservices",
    singular="apiservice",
    schema="io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService",
    namespaced=False,
    categories=("api-extensions",),
    storage_prefix="apiregistration.k8s.io/apiservices",
    default=default,
    prepare_create=prepare_create,
    validate=validate,
    validate_status=validate_status,
    name=path_segment,
    strategy=Strategy(status=True, unconditional_update=False, status_keeps_metadata=True),
    columns=(
        Column("Service", service_of, description="The reference to the service that hosts this API endpoint."),
        Column("Available", available, description="Whether this service is available."),
        AGE,
    ),
)
