"""`--allow-privileged=false`: no container of this cluster is privileged, whoever asks for it.

Upstream looks at it while it validates a security context (v1.36.4 pkg/apis/core/validation/validation.go:8476 and 8694). Here
the checks of kinds know nothing of how a server was started, so it is the last check of the chain; no flag names it.
"""

from collections.abc import Iterator

from tiphys.api.pod_template.options import containers_at
from tiphys.apiserver.admission.chain import CREATE_UPDATE, PODS, Attributes
from tiphys.apiserver.admission.pod_security.plugin import TEMPLATES
from tiphys.machinery import errors, meta
from tiphys.machinery.fields import FieldError, forbidden
from tiphys.machinery.tree import Obj, get


class NoPrivileges:
    name = "NoPrivileges"
    operations = CREATE_UPDATE
    resources = PODS | frozenset(TEMPLATES)

    def validate(self, attributes: Attributes) -> None:
        kind, obj = attributes.kind, attributes.obj
        if obj is None or attributes.subresource not in ("", "ephemeralcontainers"):
            return
        path = (*TEMPLATES.get((kind.group, kind.plural), ()), "spec")
        problems = list(_problems(get(obj, path) or {}, ".".join(path)))
        if problems:
            raise errors.invalid(kind.group, kind.kind, meta.name(obj), problems)


def _problems(spec: Obj, at: str) -> Iterator[FieldError]:
    for container, where in containers_at(spec, at):
        if get(container, ("securityContext", "privileged")):
            yield forbidden(f"{where}.securityContext.privileged", "disallowed by cluster policy")
    contexts = [spec.get("securityContext"), *(container.get("securityContext") for container, _ in containers_at(spec, at))]
    if any(get(context or {}, ("windowsOptions", "hostProcess")) for context in contexts):
        yield forbidden(at, "hostProcess containers are disallowed by cluster policy")
