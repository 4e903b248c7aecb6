"""What pods send out of the cluster leaves under their node's address: nobody out there knows the way back to a pod. Core."""

from collections.abc import Iterable, Iterator

from tiphys.cni.table import Chain, Content

_HOOK = "{ type nat hook postrouting priority 100 ; }"
_FAMILIES = {"ip": ("pods4", "ipv4_addr", "224.0.0.0/4"), "ip6": ("pods6", "ipv6_addr", "ff00::/8")}


def content(ranges: Iterable[str], pods: Iterable[str]) -> Content:
    """`ranges` of this node; `pods`: the ranges of all, who see each other as they are."""
    elements = {name: {each: "" for each in sorted(pods) if _word(each) == word} for word, (name, _, _) in _FAMILIES.items()}
    return Content(
        {"leaving": Chain(tuple(_rules(ranges)), _HOOK)},
        {name: f"set {{ type {kind} ; flags interval ; }}" for name, kind, _ in _FAMILIES.values()},
        elements,
    )


def _rules(ranges: Iterable[str]) -> Iterator[str]:
    for each in ranges:
        word = _word(each)
        pods, _, many = _FAMILIES[word]
        yield f"{word} saddr {each} {word} daddr != {many} {word} daddr != @{pods} counter masquerade fully-random"


def _word(network: str) -> str:
    return "ip6" if ":" in network else "ip"
