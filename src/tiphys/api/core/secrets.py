"""Secret: small amounts of sensitive bytes, for pods to read."""

from base64 import b64decode, b64encode
from collections.abc import Iterator

from tiphys.api.core import sized_data
from tiphys.api.kind import AGE, Column, Kind
from tiphys.machinery.decode.json_syntax import syntax_problem
from tiphys.machinery.fields import FieldError, invalid, key, required, too_long
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import config_map_key, immutable

OPAQUE = "Opaque"
SERVICE_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"
SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name"

_ACCOUNT_AT = key("metadata.annotations", SERVICE_ACCOUNT_NAME)
# Of a sound document, by its first byte; maps, and null, are what is wanted.
_JSON_TYPES = {b"{": "", b"n": "", b"[": "array", b'"': "string", b"t": "bool", b"f": "bool"}
_DOCKER_KEYS = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}


def default(secret: Obj) -> None:
    """`stringData` is for writing only: it goes over `data`."""
    if (plain := secret.pop("stringData", None)) is not None:
        data = secret.get("data") or {}
        secret["data"] = data | {name: b64encode(text.encode()).decode() for name, text in plain.items()}
    if not secret.get("data"):
        secret.pop("data", None)
    if not secret.get("type"):
        secret["type"] = OPAQUE


def validate(secret: Obj) -> Iterator[FieldError]:
    data: dict[str, str] = secret.get("data") or {}
    size = 0
    for name, value in data.items():
        for problem in config_map_key(name):
            yield invalid(key("data", name), name, problem)
        size += sized_data.decoded_size(value)
    if size > sized_data.MAX_BYTES:
        yield too_long("data", sized_data.MAX_BYTES)
    yield from _validate_type(secret, data)


def _validate_type(secret: Obj, data: dict[str, str]) -> Iterator[FieldError]:
    match secret.get("type"):
        case "kubernetes.io/service-account-token":
            if not (secret.get("metadata", {}).get("annotations") or {}).get(SERVICE_ACCOUNT_NAME):
                yield required(_ACCOUNT_AT)
        case "kubernetes.io/dockercfg" | "kubernetes.io/dockerconfigjson" as kind:
            yield from _validate_docker(data, _DOCKER_KEYS[kind])
        case "kubernetes.io/basic-auth":
            if "username" not in data and "password" not in data:
                yield required(key("data", "username"))
                yield required(key("data", "password"))
        case "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                yield required(key("data", "ssh-privatekey"))
        case "kubernetes.io/tls":
            for name in ("tls.crt", "tls.key"):
                if name not in data:
                    yield required(key("data", name))


def _validate_docker(data: dict[str, str], name: str) -> Iterator[FieldError]:
    if name not in data:
        yield required(key("data", name))
        return
    if problem := _json_object_problem(b64decode(data[name])):
        yield invalid(key("data", name), "<secret contents redacted>", problem)


def _json_object_problem(content: bytes) -> str:
    """What Go's decoder says when it is asked for a map."""
    if problem := syntax_problem(content):
        return problem
    found = _JSON_TYPES.get(content.lstrip(b" \t\r\n")[:1], "number")
    return f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}" if found else ""


def prepare_update(new: Obj, old: Obj) -> None:
    if not new.get("type"):
        new["type"] = old.get("type", OPAQUE)


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from immutable(new.get("type", ""), old.get("type", ""), "type")
    yield from sized_data.validate_immutable(new, old, ("data",))


def _entries(secret: Obj, _: float) -> int:
    return len(secret.get("data") or ())


SECRETS = Kind(
    group="",
    version="v1",
    kind="Secret",
    plural="secrets",
    singular="secret",
    schema="io.k8s.api.core.v1.Secret",
    default=default,
    prepare_update=prepare_update,
    validate=validate,
    validate_update=validate_update,
    selectable=("type",),
    columns=(Column("Type", "type"), Column("Data", _entries, description="Number of entries."), AGE),
)
