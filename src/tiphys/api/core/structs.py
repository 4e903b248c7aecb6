"""Bad values that upstream shows as the structs of its source: with Go's names, in Go's order."""

import json
from typing import Any

from tiphys.machinery.fields import Verbatim


def spelled(value: Any) -> Verbatim:
    return Verbatim(json.dumps(value, separators=(",", ":"), ensure_ascii=False))
