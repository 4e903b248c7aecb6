"""ConfigMap: configuration as text or bytes, for pods to read."""

from collections.abc import Iterator

from tiphys.api.core import sized_data
from tiphys.api.kind import AGE, Column, Kind
from tiphys.machinery.fields import FieldError, invalid, key, too_long
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import config_map_key


def default(config: Obj) -> None:
    # An empty map is left out of what upstream sends.
    for part in ("data", "binaryData"):
        if part in config and not config[part]:
            del config[part]


def validate(config: Obj) -> Iterator[FieldError]:
    text, binary = config.get("data") or {}, config.get("binaryData") or {}
    size = 0
    for name, value in text.items():
        for problem in config_map_key(name):
            yield invalid(key("data", name), name, problem)
        if name in binary:
            yield invalid(key("data", name), name, "duplicate of key present in binaryData")
        size += len(value) if value.isascii() else len(value.encode())
    for name, value in binary.items():
        for problem in config_map_key(name):
            yield invalid(key("binaryData", name), name, problem)
        size += sized_data.decoded_size(value)
    if size > sized_data.MAX_BYTES:
        # What upstream makes of a path of no steps.
        yield too_long("[]", sized_data.MAX_BYTES)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from sized_data.validate_immutable(new, old, ("data", "binaryData"))


def _entries(config: Obj, _: float) -> int:
    return len(config.get("data") or ()) + len(config.get("binaryData") or ())


CONFIG_MAPS = Kind(
    group="",
    version="v1",
    kind="ConfigMap",
    plural="configmaps",
    singular="configmap",
    schema="io.k8s.api.core.v1.ConfigMap",
    short=("cm",),
    default=default,
    validate=validate,
    validate_update=validate_update,
    columns=(Column("Data", _entries, description="Number of entries."), AGE),
)
