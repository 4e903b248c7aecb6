"""The OpenAPI definitions of metrics.k8s.io/v1beta1 (https://github.com/kubernetes/metrics), not published with the others."""

from typing import Any, Final

PACKAGE: Final = "io.k8s.metrics.pkg.apis.metrics.v1beta1."
GROUP, VERSION = "metrics.k8s.io", "v1beta1"
_META = "#/$defs/io.k8s.apimachinery.pkg.apis.meta.v1."


def _text(told: str) -> dict[str, Any]:
    return {"description": told, "type": "string"}


_USAGE: dict[str, Any] = {
    "description": "What is used of each resource.",
    "type": "object",
    "additionalProperties": {"$ref": "#/$defs/io.k8s.apimachinery.pkg.api.resource.Quantity"},
}
_MEASURED: dict[str, Any] = {
    "apiVersion": _text("APIVersion defines the versioned schema of this representation of an object."),
    "kind": _text("Kind is a string value representing the REST resource this object represents."),
    "metadata": {"$ref": f"{_META}ObjectMeta"},
    "timestamp": {"description": "When the measured time ended.", "$ref": f"{_META}Time"},
    "window": _text("How long the measured time was."),
}


def _kind(name: str, told: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": told,
        "type": "object",
        "properties": {**_MEASURED, **fields},
        "x-kubernetes-group-version-kind": [{"group": GROUP, "kind": name, "version": VERSION}],
    }


def _list(of: str) -> dict[str, Any]:
    return {
        "description": f"{of}List is a list of {of}.",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": _MEASURED["apiVersion"],
            "kind": _MEASURED["kind"],
            "metadata": {"$ref": f"{_META}ListMeta"},
            "items": {"type": "array", "items": {"$ref": f"#/$defs/{PACKAGE}{of}"}},
        },
        "x-kubernetes-group-version-kind": [{"group": GROUP, "kind": f"{of}List", "version": VERSION}],
    }


DEFINITIONS: Final[dict[str, Any]] = {
    f"{PACKAGE}NodeMetrics": _kind("NodeMetrics", "What a node uses.", {"usage": _USAGE}),
    f"{PACKAGE}NodeMetricsList": _list("NodeMetrics"),
    f"{PACKAGE}PodMetrics": _kind(
        "PodMetrics",
        "What the containers of a pod use.",
        {"containers": {"type": "array", "items": {"$ref": f"#/$defs/{PACKAGE}ContainerMetrics"}}},
    ),
    f"{PACKAGE}PodMetricsList": _list("PodMetrics"),
    f"{PACKAGE}ContainerMetrics": {
        "description": "What a container uses.",
        "type": "object",
        "required": ["name", "usage"],
        "properties": {"name": _text("Of the container in its pod."), "usage": _USAGE},
    },
}
