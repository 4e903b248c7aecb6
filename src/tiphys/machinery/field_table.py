"""What Go and protobuf know of a field and OpenAPI does not tell: its number on the wire, whether it is a pointer, and whether
its zero value is written. Read from a table when it is first asked for; each message is parsed when it is needed."""

from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

_ABBREVIATIONS = {
    "meta:": "apimachinery.pkg.apis.meta.v1.",
    "core:": "api.core.v1.",
    "Quantity": "apimachinery.pkg.api.resource.Quantity",
    "IntOrString": "apimachinery.pkg.util.intstr.IntOrString",
    "RawExtension": "apimachinery.pkg.runtime.RawExtension",
}
SCALARS = frozenset(("string", "int32", "int64", "bool", "bytes", "double"))


@dataclass(frozen=True, slots=True)
class Field:
    number: int
    name: str
    """In JSON; of an inline field, whose own fields stand in its place, a name that is not used."""
    type: str
    """A scalar, or the name of a message; of a list or a map, of what it holds."""
    repeated: bool
    map: bool
    pointer: bool
    omitempty: bool
    omitzero: bool
    inline: bool
    go: str
    """The name of its Go type, where that does not follow from `type`."""
    embedded: str = ""
    """Of a field that stands in the place of an inline one: what that is called in Go (`VolumeSource.`)."""

    @property
    def keeps_zero(self) -> bool:
        """A zero that was sent is still there afterwards."""
        return self.pointer or not self.omitempty

    @property
    def single(self) -> bool:
        return not self.repeated and not self.map

    @property
    def always(self) -> bool:
        """Go writes it even if nothing was sent (it never leaves out a struct, whatever the tag says)."""
        if self.pointer or self.omitzero or not self.single or self.type == "bytes":
            return False
        return self.type not in SCALARS or not self.omitempty


@cache
def _blocks() -> dict[str, str]:
    text = resources.files("tiphys.machinery").joinpath("field_table.tsv").read_text(encoding="utf-8")
    parts = (block.partition("\n") for block in text.split("\n=")[1:])
    return {name: body for name, _, body in parts}


def known(message: str) -> bool:
    return message in _blocks()


@cache
def fields(message: str) -> tuple[Field, ...]:
    """Of a message as it is on the wire, named like its definition without `io.k8s.`; none of a message that is unknown."""
    package = message.rpartition(".")[0]
    return tuple(_field(line, package) for line in _blocks().get(message, "").splitlines())


@cache
def by_name(message: str) -> dict[str, Field]:
    """The fields as they stand in JSON."""
    found: dict[str, Field] = {}
    for each in fields(message):
        if each.inline:
            prefix = each.type.rpartition(".")[2] + "."
            inner = by_name(each.type)
            found.update((name, replace(one, embedded=prefix + one.embedded)) for name, one in inner.items())
        else:
            found[each.name] = each
    return found


def _field(line: str, package: str) -> Field:
    number, name, kind, flags, go = f"{line}\t\t".split("\t")[:5]
    repeated = kind.startswith("repeated ")
    kind = kind.removeprefix("repeated ")
    is_map = kind.startswith("map<")
    if is_map:
        kind = kind[4:-1].partition(",")[2]
    return Field(
        int(number),
        name,
        _full(kind, package),
        repeated,
        is_map,
        "p" in flags,
        "o" in flags,
        "z" in flags,
        "i" in flags,
        go,
    )


def _full(kind: str, package: str) -> str:
    if kind.startswith("."):
        return package + kind
    for short, long in _ABBREVIATIONS.items():
        if kind == short or (short.endswith(":") and kind.startswith(short)):
            return long + kind[len(short) :]
    return kind
