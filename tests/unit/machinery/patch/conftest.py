"""The schemas of the built-in kinds, as the API server compiles them."""

import importlib.util
import pathlib

import orjson
import pytest

from tiphys.machinery.schema import Schemas


@pytest.fixture(scope="session")
def schemas() -> Schemas:
    spec = importlib.util.find_spec("kubernetes_validate")
    root = pathlib.Path(spec.submodule_search_locations[0])
    data = (root / "kubernetes-json-schema" / "v1.36.0-local" / "_definitions.json").read_bytes()
    return Schemas(orjson.loads(data)["$defs"])
