"""Writes docs/fidelity.md from the tests: where one shows behaviour that is not upstream's it says so, and why.

    @pytest.mark.differs("what upstream does", "what is done here, and why")

python tools/document_differences.py
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "fidelity.md"
HEAD = """# Where this is not upstream

Written by `tools/document_differences.py` from the tests that show each difference; do not edit. What no test shows is either
the same as in Kubernetes v1.36 or not known to differ; what is not there at all stands in the [README](../README.md).

How it is looked for: recorded answers and decisions of upstream's programs are part of the tests; `python -m bench.stories`
tells two control planes the same stories and compares every object field by field, `python -m bench.pods` does so with pods on
two kubelets, and `python -m bench.same` with two API servers on one etcd.
"""


@dataclass(frozen=True, slots=True)
class Difference:
    component: str
    test: str
    """`path::name`."""
    theirs: str
    ours: str


def differences(tests: Path = ROOT / "tests") -> Iterator[Difference]:
    for path in sorted(tests.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for decorator in node.decorator_list:
                    if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.differs":
                        theirs, ours = (ast.literal_eval(each) for each in decorator.args)
                        place = path.relative_to(tests.parent)
                        yield Difference(place.parts[2], f"{place}::{node.name}", theirs, ours)


def page() -> str:
    sections: dict[str, list[Difference]] = {}
    for each in differences():
        sections.setdefault(each.component, []).append(each)
    parts = [HEAD]
    for component in sorted(sections):
        parts.append(f"## {component}\n")
        for each in sections[component]:
            path, _, name = each.test.partition("::")
            parts.append(f"- **Upstream** {each.theirs}\n  **Here** {each.ours}\n  ([{name}](../{path}))\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page())
