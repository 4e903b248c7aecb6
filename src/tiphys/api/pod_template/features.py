"""Fields of features that are off in this release: dropped, unless the object that is there has them already."""

from tiphys.api.pod_template.options import containers
from tiphys.machinery.tree import Obj


def drop_disabled(spec: Obj, old: Obj | None) -> None:
    if spec.get("schedulingGroup") is not None and (old is None or old.get("schedulingGroup") is None):
        del spec["schedulingGroup"]
    for source in ("clusterTrustBundle", "podCertificate"):
        _drop_projection(spec, old, source)
    _drop_stop_signals(spec, old)


def _projections(spec: Obj | None) -> list[Obj]:
    if not spec:
        return []
    return [
        source
        for volume in spec.get("volumes") or ()
        if volume.get("projected")
        for source in volume["projected"].get("sources") or ()
    ]


def _drop_projection(spec: Obj, old: Obj | None, name: str) -> None:
    sources = [source for source in _projections(spec) if source.get(name) is not None]
    if sources and not any(source.get(name) is not None for source in _projections(old)):
        for source in sources:
            del source[name]


def _has_stop_signal(container: Obj) -> bool:
    return (container.get("lifecycle") or {}).get("stopSignal") is not None


def _drop_stop_signals(spec: Obj, old: Obj | None) -> None:
    found = [container for container in containers(spec) if _has_stop_signal(container)]
    if not found or (old is not None and any(map(_has_stop_signal, containers(old)))):
        return
    for container in found:
        del container["lifecycle"]["stopSignal"]
        if not container["lifecycle"]:
            del container["lifecycle"]
