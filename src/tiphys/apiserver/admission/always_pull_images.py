"""AlwaysPullImages: every start of a container asks the registry, so that nobody uses an image by knowing its name."""

from collections.abc import Iterator

from tiphys.api.pod_template.options import containers
from tiphys.apiserver.admission.chain import CREATE_UPDATE, PODS, Attributes
from tiphys.machinery.errors import ApiError
from tiphys.machinery.fields import not_supported
from tiphys.machinery.tree import Obj

ALWAYS = "Always"


class AlwaysPullImages:
    name = "AlwaysPullImages"
    operations = CREATE_UPDATE
    resources = PODS

    def admit(self, attributes: Attributes) -> None:
        if attributes.obj is None or _is_ignored(attributes):
            return
        spec = attributes.obj["spec"]
        for container in containers(spec):
            container["imagePullPolicy"] = ALWAYS
        for volume in spec.get("volumes") or ():
            if volume.get("image") is not None:
                volume["image"]["pullPolicy"] = ALWAYS

    def validate(self, attributes: Attributes) -> None:
        if attributes.obj is None or _is_ignored(attributes):
            return
        problems = [str(attributes.forbidden(problem)) for problem in _problems(attributes.obj["spec"])]
        if problems:
            # Several refusals at once are no longer a Status upstream, hence not a 403.
            told = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            raise ApiError(500, "", told)


def _is_ignored(attributes: Attributes) -> bool:
    if attributes.subresource:
        return True
    if attributes.operation != "UPDATE" or attributes.obj is None or attributes.old is None:
        return False
    known = {each.get("image") for each in containers(attributes.old["spec"])}
    return all(each.get("image") in known for each in containers(attributes.obj["spec"]))


def _problems(spec: Obj) -> Iterator[str]:
    for part in ("initContainers", "containers", "ephemeralContainers"):
        for number, container in enumerate(spec.get(part) or ()):
            policy = container.get("imagePullPolicy", "")
            if policy != ALWAYS:
                yield str(not_supported(f"spec.{part}[{number}].imagePullPolicy", policy, (ALWAYS,)))
    for number, volume in enumerate(spec.get("volumes") or ()):
        image = volume.get("image")
        if image is not None and image.get("pullPolicy", "") != ALWAYS:
            yield str(not_supported(f"spec.volumes[{number}].image.pullPolicy", image.get("pullPolicy", ""), (ALWAYS,)))
