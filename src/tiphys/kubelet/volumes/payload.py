"""The files of volumes that are made from API objects: config maps, secrets, the downward API, and projections of all."""

from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tiphys.kubelet.names import all_containers
from tiphys.kubelet.pods.downward import FieldValues, field_value, resource_value
from tiphys.machinery.tree import Obj

DEFAULT_MODE = 0o644
PAYLOADS = ("configMap", "secret", "downwardAPI", "projected")


class NotReady(Exception):
    """Something that the volume needs is not there (yet); the text is upstream's."""


@dataclass(frozen=True, slots=True)
class File:
    data: bytes
    mode: int
    owner: int | None = None


@dataclass(frozen=True, slots=True)
class TokenWish:
    """A service account token that the API has to be asked for."""

    audience: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Needs:
    """Names of what a pod's volumes are made from."""

    config_maps: frozenset[str]
    secrets: frozenset[str]
    tokens: frozenset[TokenWish]


@dataclass(frozen=True, slots=True)
class Fetched:
    config_maps: Mapping[str, Obj] = field(default_factory=dict)
    secrets: Mapping[str, Obj] = field(default_factory=dict)
    tokens: Mapping[TokenWish, str] = field(default_factory=dict)


def is_payload(volume: Obj) -> bool:
    return any(volume.get(kind) is not None for kind in PAYLOADS)


def needs(volumes: Iterable[Obj]) -> Needs:
    maps: set[str] = set()
    secrets: set[str] = set()
    tokens: set[TokenWish] = set()
    for volume in volumes:
        for kind, source in _sources(volume):
            if kind == "configMap":
                maps.add(source["name"])
            elif kind == "secret":
                secrets.add(source["name"])
            elif kind == "serviceAccountToken":
                tokens.add(_wish(source))
    return Needs(frozenset(maps), frozenset(secrets), frozenset(tokens))


def _wish(source: Obj) -> TokenWish:
    return TokenWish(source.get("audience") or "", source.get("expirationSeconds") or 3600)


def _sources(volume: Obj) -> Iterable[tuple[str, Obj]]:
    """What a volume is made from, the parts of a projection one by one, all in the projection's words."""
    if volume.get("configMap") is not None:
        yield "configMap", volume["configMap"]
    elif volume.get("secret") is not None:
        yield "secret", {**volume["secret"], "name": volume["secret"].get("secretName", "")}
    elif volume.get("downwardAPI") is not None:
        yield "downwardAPI", volume["downwardAPI"]
    elif volume.get("projected") is not None:
        for part in volume["projected"].get("sources") or ():
            for kind in ("configMap", "secret", "downwardAPI", "serviceAccountToken"):
                if part.get(kind) is not None:
                    yield kind, part[kind]


def files(pod: Obj, volume: Obj, fetched: Fetched, values: FieldValues) -> dict[str, File]:
    """By path in the volume. Of two sources with one path the later counts."""
    made: dict[str, File] = {}
    given = next(volume[each].get("defaultMode") for each in PAYLOADS if volume.get(each) is not None)
    default = DEFAULT_MODE if given is None else given
    for kind, part in _sources(volume):
        if kind == "configMap":
            made.update(_of_map(part, fetched.config_maps.get(part["name"]), default, "configmap"))
        elif kind == "secret":
            made.update(_of_map(part, fetched.secrets.get(part["name"]), default, "secret"))
        elif kind == "downwardAPI":
            made.update(_downward(pod, part, default, values))
        else:
            made[part["path"]] = _token_file(pod, fetched.tokens[_wish(part)], default)
    return made


def _token_file(pod: Obj, token: str, default: int) -> File:
    """Readable by nobody but its user or group, where it is known who that is (pkg/volume/projected/projected.go)."""
    context = pod["spec"].get("securityContext") or {}
    users = {(each.get("securityContext") or {}).get("runAsUser", context.get("runAsUser")) for each in all_containers(pod)}
    owner = users.pop() if len(users) == 1 else None
    private = owner is not None or context.get("fsGroup") is not None
    return File(token.encode(), 0o600 if private else default, owner)


def _of_map(part: Obj, held: Obj | None, default: int, words: str) -> Iterable[tuple[str, File]]:
    optional = part.get("optional")
    if held is None:
        if optional:
            return
        raise NotReady(f'{words} "{part["name"]}" not found')
    told = _bytes(held)
    items = part.get("items")
    if not items:
        for key, data in told.items():
            yield key, File(data, default)
        return
    for item in items:
        if item["key"] not in told:
            if optional:
                continue
            raise NotReady(f"references non-existent {'config' if words == 'configmap' else words} key: {item['key']}")
        mode = item.get("mode")
        yield item["path"], File(told[item["key"]], default if mode is None else mode)


def _bytes(held: Obj) -> dict[str, bytes]:
    if held.get("kind") == "Secret":
        return {key: b64decode(value) for key, value in (held.get("data") or {}).items()}
    texts = {key: value.encode() for key, value in (held.get("data") or {}).items()}
    return {**texts, **{key: b64decode(value) for key, value in (held.get("binaryData") or {}).items()}}


def _downward(pod: Obj, part: Obj, default: int, values: FieldValues) -> Iterable[tuple[str, File]]:
    for item in part.get("items") or ():
        if item.get("fieldRef"):
            told = field_value(pod, item["fieldRef"]["fieldPath"], values)
        else:
            told = resource_value(pod, pod["spec"]["containers"][0], item["resourceFieldRef"], values)
        mode = item.get("mode")
        yield item["path"], File(told.encode(), default if mode is None else mode)
