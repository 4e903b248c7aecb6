"""`tiphys status`: each component with pid, address and state, and the size of the store."""

import argparse
import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tiphys.cmd import data_directory
from tiphys.cmd.data_directory import DataDirectory
from tiphys.cmd.flags import Parser


def parser(name: str) -> argparse.ArgumentParser:
    parser = Parser(prog=f"tiphys {name}", description=f"{__doc__} Exit code 3: no cluster is running.")
    add = parser.add_argument
    data_directory.add_flag(parser)
    add("-o", "--output", choices=("table", "json"), default="table", help="(default: %(default)s)")
    return parser


def main(name: str, arguments: list[str]) -> int:
    given = parser(name).parse_args(arguments)
    data = DataDirectory(given.data_dir.expanduser().absolute())
    if data.path.exists():
        data.require()
    found = status(data)
    print(json.dumps(found, indent=2) if given.output == "json" else _table(found))
    return 0 if found["running"] else 3


def status(data: DataDirectory) -> dict[str, Any]:
    running = data.is_locked
    left = data.read_run()
    run = left if running else {}
    components = run.get("components", [])
    for component in components:
        component["state"] = _state(data, component)
    return {
        "dataDirectory": str(data.path),
        "running": running,
        "killed": not running and any(each["name"].startswith("node ") for each in left.get("components", [])),
        "components": components,
        "store": {"kind": run.get("store", ""), "bytes": _size(data)},
    }


def _state(data: DataDirectory, component: dict[str, Any]) -> str:
    if not Path(f"/proc/{component['pid']}").exists():
        return "gone"
    if not component.get("address", "").startswith("https://"):
        return "running"
    context = ssl.create_default_context(cafile=str(data.pki / "ca.crt"))
    try:
        with urllib.request.urlopen(f"{component['address']}/readyz", context=context, timeout=5) as answer:
            return "ready" if answer.status == 200 else "not ready"
    except urllib.error.HTTPError as problem:
        return "running" if problem.code in (401, 403) else "not ready"
    except OSError:
        return "not answering"


def _size(data: DataDirectory) -> int:
    return sum(each.stat().st_size for each in data.path.glob(f"{data.store.name}*"))


def _table(found: dict[str, Any]) -> str:
    if not found["running"]:
        killed = "\nThe last one was killed: its containers may still run, and the next one takes them over."
        return f"No cluster is running from {found['dataDirectory']}." + (killed if found["killed"] else "")
    rows = [("COMPONENT", "PID", "ADDRESS", "STATE")]
    rows += [(each["name"], str(each["pid"]), each.get("address", ""), each["state"]) for each in found["components"]]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    kind, size = found["store"]["kind"], found["store"]["bytes"]
    if not kind:
        # A node that joined a cluster elsewhere.
        return "\n".join(lines)
    lines.append(f"\nstore: {kind}" + (f", {size / 1024:.0f} KiB in {found['dataDirectory']}" if size else ""))
    return "\n".join(lines)
