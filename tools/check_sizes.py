"""Functions under 70 lines, files under 400: a unit that outgrows it becomes a folder of the same name."""

import ast
import sys
from pathlib import Path

LONGEST_FUNCTION = 70
LONGEST_FILE = 400


def problems(path: Path) -> list[str]:
    text = path.read_text()
    found = []
    lines = text.count("\n")
    if lines > LONGEST_FILE:
        found.append(f"{path}: {lines} lines; make it a folder of the same name")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            length = node.end_lineno - node.lineno + 1
            if length > LONGEST_FUNCTION:
                found.append(f"{path}:{node.lineno}: {node.name} has {length} lines; find the steps in it")
    return found


def main() -> int:
    root = Path(__file__).parent.parent
    found = [each for path in sorted((root / "src").rglob("*.py")) for each in problems(path)]
    print("\n".join(found) or "all functions and files are small enough")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
