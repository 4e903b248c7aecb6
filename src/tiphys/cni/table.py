"""A table of nftables as a value, and the transactions that lead from one value to another. Core."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Rules = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chain:
    rules: Rules
    hook: str = ""
    """What makes it a base chain."""


@dataclass(frozen=True, slots=True)
class Content:
    chains: Mapping[str, Chain] = field(default_factory=dict)
    containers: Mapping[str, str] = field(default_factory=dict)
    """By name: `set` or `map`, and the definition."""
    elements: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By container: key to value (maps), or to nothing (sets)."""


@dataclass(frozen=True, slots=True)
class Change:
    text: str
    """One transaction, for `nft -f -`; empty: there is nothing to do."""
    after: str = ""
    """Another: what nothing leads to any more. Kernels before 6.2 let go of it only once the first one is done."""


def delete(at: str) -> str:
    """Also where there is no such table. `at`: family and name."""
    return f"add table {at}\ndelete table {at}\n"


def create(at: str, content: Content) -> str:
    """In one transaction, in the place of whatever the table held before."""
    return f"{delete(at)}add table {at}\n{''.join(_lines(at, Content(), content))}"


def change(at: str, before: Content, after: Content) -> Change:
    """What elements differ, and chains whose rules do: the rest of the table, with its counters, is not touched."""
    removed = [f"delete chain {at} {name}\n" for name in before.chains if name not in after.chains]
    for name, definition in before.containers.items():
        if name not in after.containers:
            removed.append(f"delete {definition.split()[0]} {at} {name}\n")
    return Change("".join(_lines(at, before, after)), "".join(removed))


def _lines(at: str, before: Content, after: Content) -> Iterator[str]:
    for name, definition in after.containers.items():
        if name not in before.containers:
            kind, _, told = definition.partition(" ")
            yield f"add {kind} {at} {name} {told}\n"
    # All chains first: rules and elements may lead to any of them.
    changed = {name: chain for name, chain in after.chains.items() if before.chains.get(name) != chain}
    for name, chain in changed.items():
        yield f"add chain {at} {name} {chain.hook}".rstrip() + "\n"
        if name in before.chains:
            yield f"flush chain {at} {name}\n"
    for name, chain in changed.items():
        yield from (f"add rule {at} {name} {rule}\n" for rule in chain.rules)
    yield from _elements(at, before, after)
    yield from (f"flush chain {at} {name}\n" for name in before.chains if name not in after.chains)


def _elements(at: str, before: Content, after: Content) -> Iterator[str]:
    for name in {**before.elements, **after.elements}:
        old, new = before.elements.get(name, {}), after.elements.get(name, {})
        removed = [key for key, value in old.items() if new.get(key) != value]
        added = [f"{key} : {value}" if value else key for key, value in new.items() if old.get(key) != value]
        if removed:
            yield f"delete element {at} {name} {{ {', '.join(removed)} }}\n"
        if added:
            yield f"add element {at} {name} {{ {', '.join(added)} }}\n"
