"""Binding: the scheduler's word that a pod goes to a node. Creating one here is the old spelling of pods/binding."""

from collections.abc import Iterator

from tiphys.api.kind import Kind
from tiphys.machinery.fields import FieldError, not_supported, required
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import path_segment


def validate(binding: Obj) -> Iterator[FieldError]:
    if (kind := get(binding, ("target", "kind"), "")) not in ("", "Node"):
        # Upstream lists the empty value with the names it goes by in its source.
        yield not_supported("target.kind", kind, ("Node", "<empty>"))
    if not get(binding, ("target", "name")):
        yield required("target.name")


BINDINGS = Kind(
    group="",
    version="v1",
    kind="Binding",
    plural="bindings",
    singular="binding",
    schema="io.k8s.api.core.v1.Binding",
    verbs=("create",),
    validate=validate,
    name=path_segment,
    ephemeral=True,
)
