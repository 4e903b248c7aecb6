"""The text for `iptables-restore --noflush` that creates the chains of a proxy, or brings them after what has changed. Core.

A chain that is named in a line of its own is emptied, or made, before anything else happens; all other chains stay as they are.
So a change costs what changed: whole chains of Services, and single rules of the chains that all share.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tiphys.proxy.iptables.parts import JUMPS
from tiphys.proxy.ledger import Delta

TABLES = ("nat", "filter")


@dataclass(frozen=True, slots=True)
class Found:
    """What an earlier proxy of the same name has left in the kernel."""

    chains: frozenset[str] = frozenset()
    """By table and name."""
    jumps: frozenset[tuple[str, str]] = frozenset()
    """Those of JUMPS that are there."""


def found(saved: str, own: str) -> Found:
    """From the output of iptables-save, of all tables; `own` is the prefix of our chains."""
    chains: set[str] = set()
    jumps: set[tuple[str, str]] = set()
    table = ""
    for line in saved.splitlines():
        if line.startswith("*"):
            table = line[1:] + " "
        elif line.startswith(":" + own):
            chains.add(table + line[1:].split(" ", 1)[0])
        elif line.startswith("-A "):
            words = line.split()
            if len(words) == 4 and words[3] == own + words[1]:
                jumps.add((table, words[1]))
    return Found(frozenset(chains), frozenset(jumps) & set(JUMPS))


def create(own: str, everything: Delta, there: Found) -> str:
    """In one go for each table; what was left behind, and is not wanted, goes."""
    wanted = everything.chains.keys() | everything.containers.keys()
    return _tables(_Texts(everything, there.chains - wanted, own, there.jumps, jumps=True))


def change(delta: Delta) -> str:
    """Empty: there is nothing to do."""
    return _tables(_Texts(delta))


def remove(own: str, there: Found) -> str:
    lines: dict[str, list[str]] = {table: [] for table in TABLES}
    for each in sorted(there.chains):
        table, name = each.split()
        lines[table].append(f":{name} - [0:0]")
    for table, chain in JUMPS:
        if (table, chain) in there.jumps:
            lines[table.strip()].append(f"-D {chain} -j {own}{chain}")
    for each in sorted(there.chains):
        table, name = each.split()
        lines[table].append(f"-X {name}")
    return _joined(lines)


@dataclass(frozen=True, slots=True)
class _Texts:
    delta: Delta
    left: Iterable[str] = ()
    """Chains that go, beside those of the delta."""
    own: str = ""
    known: frozenset[tuple[str, str]] = field(default=frozenset())
    jumps: bool = False


def _tables(what: _Texts) -> str:
    return _joined({table: list(_lines(what, table)) for table in TABLES})


def _joined(lines: dict[str, list[str]]) -> str:
    return "".join("\n".join([f"*{table}", *each, "COMMIT", ""]) for table, each in lines.items() if each)


def _lines(what: _Texts, table: str) -> Iterator[str]:
    at, delta = f"{table} ", what.delta
    skip = len(at)
    chains = {name[skip:]: change for name, change in delta.chains.items() if name.startswith(at)}
    left = sorted(name[skip:] for name in what.left if name.startswith(at))
    made = (
        name[skip:] for name, (old, new) in delta.containers.items() if name.startswith(at) and old is None and new is not None
    )
    for name in (*made, *chains, *left):
        yield f":{name} - [0:0]"
    for name, (_, rules) in chains.items():
        for rule in rules or ():
            yield f"-A {name} {rule}"
    for chain, elements in delta.elements.items():
        if not chain.startswith(at):
            continue
        name = chain[skip:]
        for match, (before, _) in elements.items():
            if before is not None:
                yield f"-D {name} {match} {before}"
        for match, (_, after) in elements.items():
            if after is not None:
                yield f"-A {name} {match} {after}"
    if what.jumps:
        for each, chain in JUMPS:
            if each == at and (each, chain) not in what.known:
                yield f"-I {chain} -j {what.own}{chain}"
    for name in (*(name for name, (_, new) in chains.items() if new is None), *left):
        yield f"-X {name}"
