"""What the creator of a pod is warned of. Updates are not looked at: people do not make them."""

from collections.abc import Iterator

from tiphys.api.core.pods.prepare import app_armor_warnings
from tiphys.api.pod_template.warnings import warnings
from tiphys.machinery import validators
from tiphys.machinery.tree import Obj


def create_warnings(pod: Obj, old: Obj | None) -> Iterator[str]:
    if old is not None:
        return
    metadata = pod["metadata"]
    yield from app_armor_warnings(pod)
    problems = validators.dns1123_label(metadata.get("name") or "")
    if problems:
        told = "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: "
        yield f"metadata.name: {told}[{' '.join(problems)}]"
    yield from warnings(pod["spec"], metadata)
