"""DefaultIngressClass: an Ingress that names no class gets the default one."""

from tiphys.apiserver.admission.chain import CREATE, Attributes, Resources
from tiphys.apiserver.admission.default_classes import default_class
from tiphys.apiserver.lookup import Lookup

MARKS = ("ingressclass.kubernetes.io/is-default-class",)
OLD_ANNOTATION = "kubernetes.io/ingress.class"


class DefaultIngressClass:
    name = "DefaultIngressClass"
    operations = CREATE
    resources: Resources = frozenset((("networking.k8s.io", "ingresses"),))

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def admit(self, attributes: Attributes) -> None:
        ingress = attributes.obj
        if ingress is None or attributes.subresource:
            return
        spec = ingress.setdefault("spec", {})
        if spec.get("ingressClassName") is None and OLD_ANNOTATION not in (ingress["metadata"].get("annotations") or ()):
            name = default_class(await self._lookup.all("ingressclasses"), MARKS)
            if name:
                spec["ingressClassName"] = name
