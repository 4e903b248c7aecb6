"""`tiphys version`."""

import platform

from tiphys import KUBERNETES_VERSION, __version__
from tiphys.cmd.flags import Parser


def main(name: str, arguments: list[str]) -> int:
    Parser(prog=f"tiphys {name}", description=__doc__).parse_args(arguments)
    print(f"Tiphys {__version__} (Kubernetes {KUBERNETES_VERSION}, Python {platform.python_version()})")
    return 0
