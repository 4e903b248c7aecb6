"""Objects of the stories, in a line each."""

from typing import Any

from tiphys.machinery.tree import Obj

LABELS = {"app": "x"}


def template(image: str = "one", then: str = "", labels: Obj | None = None, **spec: Any) -> Obj:
    metadata: Obj = {"labels": labels or LABELS}
    if then:
        metadata["annotations"] = {"then": then}
    return {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": image}], **spec}}


def workload(replicas: int, made: Obj | None = None, **spec: Any) -> Obj:
    return {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": made or template(), **spec}


def named(app: str, replicas: int | None = None, then: str = "", **spec: Any) -> Obj:
    """A workload beside another one, with a label of its own."""
    pod = {name: spec.pop(name) for name in ("nodeSelector",) if name in spec}
    labels = {"app": app}
    made: Obj = {"selector": {"matchLabels": labels}, "template": template(then=then, labels=labels, **pod), **spec}
    return made if replicas is None else {"replicas": replicas, **made}


def rolling(**limits: Any) -> Obj:
    return {"type": "RollingUpdate", "rollingUpdate": limits}


def claim(size: str = "1Gi", **metadata: Any) -> Obj:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"metadata": {"name": "data", **metadata}, "spec": spec}


def job(then: str = "succeed", annotations: Obj | None = None, policy: str = "Never", **spec: Any) -> Obj:
    made = template(then=then, restartPolicy=policy)
    if annotations:
        made["metadata"]["annotations"] = {**made["metadata"].get("annotations", {}), **annotations}
    return {"template": made, **spec}
