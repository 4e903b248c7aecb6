"""The OpenAPI definitions of all kinds: the published ones, as the `kubernetes-validate` package carries them, and metrics."""

import functools
import importlib.util
from pathlib import Path
from typing import Any

import orjson

from tiphys import KUBERNETES_VERSION
from tiphys.api import metrics

_PACKAGE = "kubernetes_validate"


@functools.cache
def definitions() -> dict[str, Any]:
    """Found without importing the package, which would pull in a validator that is not needed; 3 ms."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError(f"the package {_PACKAGE} is not installed")
    minor = ".".join(KUBERNETES_VERSION.removeprefix("v").split(".")[:2])
    file = Path(spec.submodule_search_locations[0]) / "kubernetes-json-schema" / f"v{minor}.0-local" / "_definitions.json"
    found: dict[str, Any] = orjson.loads(file.read_bytes())["$defs"]
    return found | metrics.DEFINITIONS
