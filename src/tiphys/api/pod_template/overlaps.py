"""Files of one volume that would overwrite one another, or stand where another needs a directory."""

from collections.abc import Iterator
from typing import NamedTuple

from tiphys.machinery.fields import quote
from tiphys.machinery.tree import Obj


class Place(NamedTuple):
    path: str
    source: str = ""

    def __str__(self) -> str:
        return f"{quote(self.path)} ({self.source})" if self.source else quote(self.path)


def overlap_warnings(volumes: list[Obj]) -> Iterator[str]:
    for volume in volumes:
        name = quote(volume.get("name") or "")
        for kind, field, word in (("configMap", "name", "ConfigMap"), ("secret", "secretName", "Secret")):
            source = volume.get(kind)
            if source and source.get("items"):
                of = f"{word} {quote(source.get(field) or '')}"
                yield from (f"volume {name} ({of}): {told}" for told in _overlaps(_places(source["items"])))
        source = volume.get("downwardAPI")
        if source and source.get("items"):
            yield from (f"volume {name} (DownwardAPI): {told}" for told in _overlaps(_places(source["items"])))
        if volume.get("projected"):
            yield from _of_projected(volume["projected"], name)


def _of_projected(projected: Obj, name: str) -> Iterator[str]:
    places: list[Place] = []
    for source in projected.get("sources") or ():
        if not any(value is not None for value in source.values()):
            yield f"volume {name} (Projected) has no sources provided"
        places += _of_source(source)
    yield from (f"volume {name} (Projected): {told}" for told in _overlaps(places))


def _of_source(source: Obj) -> list[Place]:
    for kind, word in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if source.get(kind) and source[kind].get("items"):
            return _places(source[kind]["items"], f"{word} {quote(source[kind].get('name') or '')}")
    if source.get("downwardAPI") and source["downwardAPI"].get("items"):
        return _places(source["downwardAPI"]["items"], "DownwardAPI")
    if source.get("serviceAccountToken") is not None:
        return [Place(source["serviceAccountToken"].get("path") or "", "ServiceAccountToken")]
    bundle = source.get("clusterTrustBundle")
    if bundle is not None:
        of = bundle.get("signerName") if bundle.get("name") is None else bundle["name"]
        return [Place(bundle.get("path") or "", f"ClusterTrustBundle {quote(of or '')}")]
    certificate = source.get("podCertificate") or {}
    words = (("certificateChainPath", "chain"), ("keyPath", "key"), ("credentialBundlePath", "credential bundle"))
    return [Place(certificate[field], f"PodCertificate {word}") for field, word in words if certificate.get(field)]


def _places(items: list[Obj], source: str = "") -> list[Place]:
    return [Place(item.get("path") or "", source) for item in items]


def _overlaps(places: list[Place]) -> Iterator[str]:
    seen: list[Place] = []
    for place in places:
        own = place._replace(path=place.path.rstrip("/"))
        for other in seen:
            if own.path and other.path and _collide(f"{own.path}/", f"{other.path}/"):
                yield f"overlapping paths: {own} with {other}"
        seen.append(own)


def _collide(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
