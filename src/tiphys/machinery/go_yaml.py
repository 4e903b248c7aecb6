"""YAML as upstream writes it: the order of keys and the quotes are those of Go's library. Core."""

import re
from typing import Any

import yaml

from tiphys.machinery.tree import Obj

_Base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

# What YAML 1.1 reads as something else than a string; Go's library also guards what old readers take for base 60.
_AMBIGUOUS = re.compile(
    r"""(?x)
    ~|null|Null|NULL|true|True|TRUE|false|False|FALSE
    |y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF
    |<<
    |[-+]?(?:0b[0-1_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|[0-9][0-9_]*)
    |[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?
    |[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)
    |[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?
    |[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?
      (?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?)?
    """
)
_PARTS = re.compile(r"[0-9]+|[^0-9]")


class _Dumper(_Base):  # type: ignore[misc]
    """A dumper with representers of its own, which tells everything as often as it is there."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the base class asks about each value
        return True


def _string(dumper: Any, value: str) -> Any:
    style = None
    if not value or _AMBIGUOUS.fullmatch(value):
        style = '"'
    elif "\n" in value:
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _mapping(dumper: Any, value: Obj) -> Any:
    return dumper.represent_mapping("tag:yaml.org,2002:map", sorted(value.items(), key=lambda item: _natural(item[0])))


def _natural(key: str) -> list[tuple[int, int, str]]:
    """Numbers in keys are compared as numbers, and anything that is no letter comes before letters."""
    return [
        (0, int(part), "") if part[0].isdecimal() else (2 if part.isalpha() else 1, 0, part) for part in _PARTS.findall(key)
    ]


_Dumper.add_representer(str, _string)
_Dumper.add_representer(dict, _mapping)


def to_yaml(obj: Obj) -> bytes:
    text: str = yaml.dump(obj, Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True)
    return text.encode()
