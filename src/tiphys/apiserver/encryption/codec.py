"""The codec of a store: which resources are sealed how. The first provider of a resource writes, all of them read.

The form is upstream's, `k8s:enc:<cipher>:v1:<key>:` before the sealed value, so that both servers can share an etcd.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tiphys.api.kind import Kind
from tiphys.apiserver.encryption.ciphers import Broken, Cipher, KeyService
from tiphys.store.interface import SEALED, Unavailable


@dataclass(frozen=True, slots=True)
class Provider:
    prefix: bytes
    """How its values begin; empty for the provider that keeps them plain."""
    cipher: Cipher | None
    service: KeyService | None = None
    """The cipher, if it is one."""


PLAIN = Provider(b"", None)


@dataclass(frozen=True, slots=True)
class Rule:
    resources: tuple[str, ...]
    """`secrets`, `widgets.example.com`, `*.apps`, `*.` (the core group) or `*.*`."""
    providers: tuple[Provider, ...]

    def covers(self, resource: str, group: str) -> bool:
        named = f"{resource}.{group}" if group else resource
        return any(each in (named, f"*.{group}", "*.*") for each in self.resources)


_NOT_COVERED = (PLAIN,)


class EncryptionCodec:
    """Implements store.interface.Codec."""

    def __init__(self, rules: Sequence[Rule], resources: Mapping[str, tuple[str, str]]) -> None:
        """`resources`: plural and group by bucket, of the built-in kinds; those of custom resources are in their buckets."""
        self._rules = tuple(rules)
        self._resources = resources
        self._providers: dict[str, tuple[Provider, ...]] = {}

    def seal(self, bucket: str, name: str, value: bytes) -> bytes:
        writer = self._of(bucket)[0]
        return value if writer.cipher is None else writer.prefix + writer.cipher.seal(value, _data(bucket, name))

    def open(self, bucket: str, name: str, kept: bytes) -> bytes:
        problems: list[str] = []
        for provider in self._of(bucket):
            if provider.cipher is None and not kept.startswith(SEALED):
                return kept
            if provider.cipher is not None and kept.startswith(provider.prefix):
                try:
                    return provider.cipher.open(kept[len(provider.prefix) :], _data(bucket, name))
                except Broken as problem:
                    problems.append(str(problem))
        why = "; ".join(problems) or "no matching prefix found"
        raise Unavailable(f"{bucket}/{name} cannot be decrypted: {why}")

    def is_current(self, bucket: str, kept: bytes) -> bool:
        writer = self._of(bucket)[0]
        if writer.cipher is None:
            return not kept.startswith(SEALED)
        if not kept.startswith(writer.prefix):
            return False
        return writer.service is None or writer.service.is_current(kept[len(writer.prefix) :])

    def _of(self, bucket: str) -> tuple[Provider, ...]:
        found = self._providers.get(bucket)
        if found is None:
            resource, group = self._resources.get(bucket) or _custom(bucket)
            found = next((rule.providers for rule in self._rules if rule.covers(resource, group)), _NOT_COVERED)
            self._providers[bucket] = found
        return found


def resources_of(kinds: Iterable[Kind]) -> dict[str, tuple[str, str]]:
    """Plural and group by bucket."""
    return {kind.prefix: (kind.stored.plural, kind.stored.group) for kind in kinds}


def _custom(bucket: str) -> tuple[str, str]:
    group, _, plural = bucket.rpartition("/")
    return plural, group


def _data(bucket: str, name: str) -> bytes:
    """What a value is bound to: moved to another place it cannot be opened."""
    return f"/registry/{bucket}/{name}".encode()
