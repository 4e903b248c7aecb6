"""The zone of the cluster: answers are written when a record changes, and only looked up when one is asked for. Core."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tiphys.dns import records, wire
from tiphys.dns.records import Data, Records
from tiphys.dns.wire import Answer, Query
from tiphys.machinery.tree import Obj

TTL = 30
"""Seconds, as kubeadm sets it for CoreDNS."""
SCHEMA_VERSION = "1.1.0"
ROTATIONS = 16

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Not for this zone to say."""


@dataclass(frozen=True, slots=True)
class Alias:
    """The answer begins with a CNAME; the rest is to be asked for."""

    target: bytes


ELSEWHERE = Elsewhere()


class Zone:
    def __init__(self, domain: str, own_address: str = "") -> None:
        self.domain = domain.strip(".").lower()
        self._suffix = wire.name(self.domain)
        self._services: dict[Key, Obj] = {}
        self._slices: dict[Key, dict[str, Obj]] = {}
        self._records: dict[Key, Records] = {}
        self._owners: dict[bytes, dict[Key, list[Data]]] = {}
        """Names to the records that each Service has there: reverse names can belong to several."""
        self._above: Counter[bytes] = Counter()
        """Names that only have names below them: they exist, and have nothing."""
        self._aliases: dict[bytes, bytes] = {}
        self._answers: dict[bytes, tuple[Answer, ...]] = {}
        self._next = 0
        self._own_address = own_address
        self._namespaces: set[str] = set()
        self._dirty: set[Key] = set()
        self._write_apex()

    def service(self, old: Obj | None, new: Obj | None) -> None:
        key = _key(new or old)
        if new is None:
            self._services.pop(key, None)
        elif old is not None and old.get("spec") == new.get("spec"):
            self._services[key] = new
            return
        else:
            self._services[key] = new
        self._dirty.add(key)

    def slice(self, old: Obj | None, new: Obj | None) -> None:
        before = records.service_of(old) if old is not None else None
        after = records.service_of(new) if new is not None else None
        if old is not None and before is not None and before != after:
            self._slices.get(before, {}).pop(old["metadata"]["name"], None)
            self._dirty.add(before)
        if new is not None and after is not None:
            self._slices.setdefault(after, {})[new["metadata"]["name"]] = new
            self._dirty.add(after)

    def namespace(self, old: Obj | None, new: Obj | None) -> None:
        name = (new or old or {})["metadata"]["name"]
        if new is None:
            self._namespaces.discard(name)
        else:
            self._namespaces.add(name)

    def refresh(self) -> None:
        """Answers follow what has changed: once for many changes of one Service."""
        for key in self._dirty:
            self._rebuild(key)
        self._dirty.clear()

    def answer(self, asked: Query) -> Answer | Alias | Elsewhere:
        found = self._answers.get(asked.key)
        if found is not None:
            if len(found) == 1:
                return found[0]
            self._next += 1
            return found[self._next % len(found)]
        name = asked.name
        if not name.endswith(self._suffix) or not self._at_label(name):
            # A reverse name that has another type here is ours; others are for the world to know.
            return self._nothing(wire.NO_ERROR) if name in self._owners else ELSEWHERE
        if asked.key[-2:] != b"\0\x01":
            return self._nothing(wire.NAME_ERROR)
        alias = self._aliases.get(name)
        if alias is not None:
            return Alias(alias)
        if name in self._owners or name in self._above or name == self._suffix:
            return self._nothing(wire.NO_ERROR)
        return self._by_rule(name, asked.type)

    def _by_rule(self, name: bytes, kind: int) -> Answer:
        """Names that follow from others: of pods, and of namespaces."""
        at = wire.labels(name[: len(name) - len(self._suffix)] + b"\0")
        match at:
            case ["svc" | "pod"]:
                return self._nothing(wire.NO_ERROR)
            case [namespace, "svc" | "pod"] if namespace in self._namespaces:
                return self._nothing(wire.NO_ERROR)
            case [label, namespace, "pod"] if namespace in self._namespaces:
                address = records.pod_address(label)
                if address is not None:
                    its_kind, data = wire.address(address)
                    if its_kind != kind:
                        return self._nothing(wire.NO_ERROR)
                    return Answer(answers=1, body=wire.record(b"", kind, TTL, data))
        return self._nothing(wire.NAME_ERROR)

    def _at_label(self, name: bytes) -> bool:
        """Whether the zone's name begins where a label of `name` begins."""
        at, start = 0, len(name) - len(self._suffix)
        while at < start:
            at += name[at] + 1
        return at == start

    def _nothing(self, code: int) -> Answer:
        return Answer(code, authorities=1, body=self._soa)

    def _write_apex(self) -> None:
        server = wire.name(f"ns.dns.{self.domain}")
        soa = wire.soa(server, wire.name(f"hostmaster.{self.domain}"), 1, 5)
        self._soa = wire.record(self._suffix, wire.SOA, 5, soa)
        apex: dict[bytes, list[Data]] = {
            self._suffix: [Data(wire.SOA, soa), Data(wire.NS, server)],
            wire.name(f"dns-version.{self.domain}"): [Data(wire.TXT, wire.text(SCHEMA_VERSION))],
            server: [Data(*wire.address(self._own_address))] if self._own_address else [],
        }
        self._put(("", ""), Records(apex))

    def _rebuild(self, key: Key) -> None:
        service = self._services.get(key)
        slices = self._slices.get(key, {})
        if not slices:
            self._slices.pop(key, None)
        self._drop(key)
        if service is not None:
            self._put(key, records.of_service(service, slices.values(), self.domain))

    def _put(self, key: Key, made: Records) -> None:
        self._records[key] = made
        if made.alias is not None:
            self._aliases[made.alias[0]] = made.alias[1]
        for name, data in made.names.items():
            self._owners.setdefault(name, {})[key] = data
            self._above.update(_parents(name, self._suffix))
        # After all of them are known: SRV tells the addresses of its targets.
        for name in made.names:
            self._write(name)

    def _drop(self, key: Key) -> None:
        gone = self._records.pop(key, None)
        if gone is None:
            return
        if gone.alias is not None:
            self._aliases.pop(gone.alias[0], None)
        for name in gone.names:
            owners = self._owners[name]
            owners.pop(key, None)
            for kind in {each.kind for each in gone.names[name]}:
                self._answers.pop(wire.question(name, kind), None)
            if owners:
                self._write(name)
            else:
                del self._owners[name]
            for parent in _parents(name, self._suffix):
                self._above[parent] -= 1
                if not self._above[parent]:
                    del self._above[parent]

    def _write(self, name: bytes) -> None:
        by_kind: dict[int, list[Data]] = {}
        for owned in self._owners[name].values():
            for each in owned:
                by_kind.setdefault(each.kind, []).append(each)
        for kind, several in by_kind.items():
            self._answers[wire.question(name, kind)] = tuple(self._rotations(kind, several))

    def _rotations(self, kind: int, several: list[Data]) -> Iterator[Answer]:
        """The same records, each time another one first: clients take the first."""
        encoded = [wire.record(b"", kind, TTL, each.data) for each in records.weighted(several)]
        more = [
            wire.record(each.target, other.kind, TTL, other.data)
            for each in several
            if each.target
            for owned in self._owners.get(each.target, {}).values()
            for other in owned
            if other.kind in (wire.A, wire.AAAA)
        ]
        more = list(dict.fromkeys(more))
        for first in range(min(len(encoded), ROTATIONS)):
            body = wire.joined(encoded[first:] + encoded[:first] + more)
            yield Answer(answers=len(encoded), additional=len(more), body=body)


def _parents(name: bytes, suffix: bytes) -> Iterator[bytes]:
    if not name.endswith(suffix):
        return
    at = name[0] + 1
    while len(name) - at > len(suffix):
        yield name[at:]
        at += name[at] + 1


def _key(obj: Obj | None) -> Key:
    metadata = (obj or {})["metadata"]
    return metadata["namespace"], metadata["name"]
