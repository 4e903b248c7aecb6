"""The transaction that creates a table of nftables, or brings it after what has changed. Core.

Only what differs is written: a changed port costs its own chains and elements, however many Services there are.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tiphys.proxy.ledger import Delta


@dataclass(frozen=True, slots=True)
class Table:
    family: str
    """ip or ip6."""
    name: str
    hooks: Mapping[str, str]
    """What makes a chain a base chain: by its name."""

    @property
    def at(self) -> str:
        return f"{self.family} {self.name}"


@dataclass(frozen=True, slots=True)
class Change:
    text: str
    """One transaction, for `nft -f -`; empty: there is nothing to do."""
    stale: frozenset[str] = frozenset()
    """Chains that nothing leads to any more. They are empty now; kernels before 6.2 let go of them only a moment later."""
    back: frozenset[str] = frozenset()
    """Chains that are written now, and may have been stale until now."""


def delete(table: Table) -> str:
    """Also where there is no such table."""
    return f"add table {table.at}\ndelete table {table.at}\n"


def create(table: Table, everything: Delta) -> Change:
    """In one transaction, in the place of whatever the table held before."""
    return Change("\n".join([f"{delete(table)}add table {table.at}", *_lines(table, everything)]) + "\n")


def change(table: Table, delta: Delta) -> Change:
    lines = list(_lines(table, delta))
    gone = frozenset(name for name, (_, new) in delta.chains.items() if new is None)
    return Change("\n".join(lines) + "\n" if lines else "", gone, frozenset(delta.chains.keys() - gone))


def remove_chains(table: Table, chains: Iterable[str]) -> str:
    return "".join(f"delete chain {table.at} {each}\n" for each in sorted(chains))


def _lines(table: Table, delta: Delta) -> Iterator[str]:
    at = table.at
    for name, (old, new) in delta.containers.items():
        if old is None and new is not None:
            yield f"add {new.kind} {at} {name} {new.definition}"
    # All chains first: rules and elements may lead to any of them.
    for name, (before, rules) in delta.chains.items():
        if rules is None:
            continue
        hook = table.hooks.get(name)
        yield f"add chain {at} {name} {hook}" if hook else f"add chain {at} {name}"
        # One that is new to us may be there still, waiting for its end.
        if before is not None or not hook:
            yield f"flush chain {at} {name}"
    for name, (_, rules) in delta.chains.items():
        for rule in rules or ():
            yield f"add rule {at} {name} {rule}"
    yield from _elements(table, delta)
    for name, (_, rules) in delta.chains.items():
        if rules is None:
            yield f"flush chain {at} {name}"
    for name, (old, new) in delta.containers.items():
        if old is not None and new is None:
            yield f"delete {old.kind} {at} {name}"


def _elements(table: Table, delta: Delta) -> Iterator[str]:
    for name, elements in delta.elements.items():
        removed = [key for key, (before, _) in elements.items() if before is not None]
        if removed:
            yield f"delete element {table.at} {name} {{ {', '.join(removed)} }}"
        added = [f"{key} : {after}" if after else key for key, (_, after) in elements.items() if after is not None]
        if added:
            yield f"add element {table.at} {name} {{ {', '.join(added)} }}"
