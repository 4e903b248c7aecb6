"""EncryptionConfiguration (apiserver.config.k8s.io/v1), as `--encryption-provider-config` names it."""

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from tiphys.apiserver.encryption.ciphers import AesCbc, AesGcm, Cipher, KeyService, SecretBox
from tiphys.apiserver.encryption.codec import PLAIN, Provider, Rule
from tiphys.machinery import duration
from tiphys.machinery.tree import Obj

_AES_SIZES = (16, 24, 32)
_BOX_SIZES = (32,)
_LOCAL: dict[str, tuple[Callable[[bytes], Cipher], tuple[int, ...]]] = {
    "aescbc": (AesCbc, _AES_SIZES),
    "aesgcm": (AesGcm, _AES_SIZES),
    "secretbox": (SecretBox, _BOX_SIZES),
}
_KMS_TIMEOUT = 3.0


class Unusable(ValueError):
    """What is wrong with the file, told with the path of the field."""


@dataclass(frozen=True, slots=True)
class Encryption:
    rules: tuple[Rule, ...]
    services: tuple[KeyService, ...]
    """To refresh before the store is opened, and now and then afterwards."""

    def refresh(self) -> None:
        """Blocks. Raises Unavailable."""
        for service in self.services:
            service.refresh()


NO_ENCRYPTION = Encryption((), ())


def read(text: str, new_uid: Callable[[], str]) -> Encryption:
    """Raises Unusable."""
    try:
        tree: Any = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        raise Unusable(str(problem)) from None
    if not isinstance(tree, dict) or tree.get("kind") not in ("EncryptionConfiguration", "EncryptionConfig"):
        raise Unusable("kind must be EncryptionConfiguration")
    services: dict[str, KeyService] = {}
    rules = [_rule(each, f"resources[{number}]", services, new_uid) for number, each in enumerate(tree.get("resources") or ())]
    if not rules:
        raise Unusable("resources: Required value: at least one resource is required")
    return Encryption(tuple(rules), tuple(services.values()))


def _rule(given: Obj, at: str, services: dict[str, KeyService], new_uid: Callable[[], str]) -> Rule:
    names = tuple(given.get("resources") or ())
    if not names:
        raise Unusable(f"{at}.resources: Required value: at least one resource is required")
    providers: list[Provider] = []
    for number, each in enumerate(given.get("providers") or ()):
        providers.extend(_providers(each, f"{at}.providers[{number}]", services, new_uid))
    if not providers:
        raise Unusable(f"{at}.providers: Required value: at least one provider is required")
    return Rule(names, tuple(providers))


def _providers(given: Obj, at: str, services: dict[str, KeyService], new_uid: Callable[[], str]) -> Iterator[Provider]:
    """One for each key."""
    kinds = [kind for kind in given if kind in ("identity", "kms", *_LOCAL)]
    if len(kinds) != 1:
        told = "more than one provider specified in a single element, should split into different list elements"
        raise Unusable(f"{at}: Invalid value: {told if kinds else 'provider does not contain any of the expected providers'}")
    kind = kinds[0]
    if kind == "identity":
        yield PLAIN
    elif kind == "kms":
        yield _kms(given["kms"] or {}, f"{at}.kms", services, new_uid)
    else:
        keys = (given[kind] or {}).get("keys") or ()
        if not keys:
            raise Unusable(f"{at}.{kind}.keys: Required value: at least one key is required")
        for number, key in enumerate(keys):
            yield _local(kind, key, f"{at}.{kind}.keys[{number}]")


def _local(kind: str, key: Obj, at: str) -> Provider:
    make, sizes = _LOCAL[kind]
    name, text = key.get("name", ""), key.get("secret", "")
    if not name:
        raise Unusable(f"{at}.name: Required value: key name is required")
    if not text:
        raise Unusable(f"{at}.secret: Required value: secret is required")
    try:
        secret = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise Unusable(f"{at}.secret: Invalid value: REDACTED: secrets must be base64 encoded") from None
    if len(secret) not in sizes:
        told = f"secret is not of the expected length, got {len(secret)}, expected one of [{' '.join(map(str, sizes))}]"
        raise Unusable(f"{at}.secret: Invalid value: REDACTED: {told}")
    return Provider(f"k8s:enc:{kind}:v1:{name}:".encode(), make(secret))


def _kms(given: Obj, at: str, services: dict[str, KeyService], new_uid: Callable[[], str]) -> Provider:
    name, endpoint = given.get("name", ""), given.get("endpoint", "")
    if given.get("apiVersion", "v1") != "v2":
        raise Unusable(f"{at}.apiVersion: Invalid value: only v2 is supported")
    if not name or ":" in name:
        raise Unusable(f"{at}.name: Invalid value: {name!r}: the name is required and must not contain ':'")
    if not endpoint.startswith("unix://"):
        raise Unusable(f"{at}.endpoint: Invalid value: {endpoint!r}: unsupported scheme, supported is unix")
    timeout = duration.seconds(given["timeout"]) if given.get("timeout") else _KMS_TIMEOUT
    if name not in services:
        # Loaded for those who use it: gRPC costs a server more than all the rest of it.
        from tiphys.apiserver.encryption.kms import Kms

        services[name] = Kms(endpoint, timeout, new_uid)
    return Provider(f"k8s:enc:kms:v2:{name}:".encode(), services[name], services[name])
