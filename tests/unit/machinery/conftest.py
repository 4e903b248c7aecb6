import json
from importlib import resources

import pytest

from tiphys.machinery.schema import Schemas


@pytest.fixture(scope="session")
def schemas():
    """The published definitions of Kubernetes 1.36."""
    folder = resources.files("kubernetes_validate").joinpath("kubernetes-json-schema", "v1.36.0-local")
    source = json.loads(folder.joinpath("_definitions.json").read_text(encoding="utf-8"))
    return Schemas(source.get("$defs") or source["definitions"])
