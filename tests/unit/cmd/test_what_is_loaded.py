"""A control plane without nodes loads nothing that only others need: each of these costs more memory than all its objects."""

import subprocess
import sys

import pytest

HEAVY = ("numpy", "grpc", "pyroute2", "jsonschema", "rich")


@pytest.mark.parametrize("module", ["tiphys.cmd.cluster", "tiphys.cmd.apiserver_command"])
def test_only_what_is_needed(module):
    program = f"import sys, {module}; print(*(each for each in {HEAVY} if each in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "\n"
