"""The ephemeralcontainers subresource: containers for debugging, added to a pod that runs."""

from collections.abc import Iterator

from tiphys.api.core.pods import facts
from tiphys.api.core.pods.resize import reset_metadata
from tiphys.api.core.pods.update import tolerance, validate_metadata_and_spec
from tiphys.api.pod_template.features import drop_disabled
from tiphys.api.pod_template.internal import differ, same
from tiphys.machinery.fields import FieldError, Problem, forbidden, quote
from tiphys.machinery.tree import Obj

_AT = "spec.ephemeralContainers"


def prepare_ephemeral_containers(pod: Obj, old: Obj) -> None:
    """Keeps nothing of the request but the ephemeral containers."""
    containers = pod["spec"].get("ephemeralContainers")
    pod["spec"] = dict(old["spec"])
    if containers:
        pod["spec"]["ephemeralContainers"] = containers
    else:
        pod["spec"].pop("ephemeralContainers", None)
    pod["status"] = old.get("status") or {}
    reset_metadata(pod, old)
    drop_disabled(pod["spec"], old["spec"])


def validate_ephemeral_containers(pod: Obj, old: Obj) -> Iterator[FieldError]:
    if facts.is_mirror(old):
        yield FieldError(Problem.FORBIDDEN, "", "", "static pods do not support ephemeral containers")
        return
    yield from validate_metadata_and_spec(pod, old, tolerance(old))
    new = {container.get("name") or "": container for container in pod["spec"].get("ephemeralContainers") or ()}
    for container in old["spec"].get("ephemeralContainers") or ():
        name = container.get("name") or ""
        if name not in new:
            yield forbidden(_AT, f"existing ephemeral containers {quote(name)} may not be removed\n")
        elif not same(container, new[name], "EphemeralContainer"):
            told = differ(container, new[name], "EphemeralContainer")
            yield forbidden(_AT, f"existing ephemeral containers {quote(name)} may not be changed\n{told}")
