"""The Common Expression Language, as far as selectors of devices and match conditions need it: `compiled(text)(variables)` is
the value.

https://github.com/google/cel-spec/blob/master/doc/langdef.md. [parsing.py](parsing.py) makes a tree, [checking.py](checking.py)
finds out of what type it is and what cannot be, [evaluating.py](evaluating.py) walks it, [functions.py](functions.py) has the
functions, Kubernetes' own among them.
"""

from tiphys.machinery.cel.checking import check
from tiphys.machinery.cel.evaluating import compiled
from tiphys.machinery.cel.functions import Trouble
from tiphys.machinery.cel.parsing import Unsound

__all__ = ["Trouble", "Unsound", "check", "compiled"]
