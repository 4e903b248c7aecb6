"""What a configuration may not ask for (pkg/kubelet/apis/config/validation/validation.go), and what this kubelet cannot do."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from tiphys.kubelet.configuration.reading import seconds
from tiphys.machinery import quantity
from tiphys.machinery.tree import Obj

_NOT_NEGATIVE = {
    "eventBurst": "event-burst",
    "eventRecordQPS": "event-qps",
    "kubeAPIBurst": "kube-api-burst",
    "kubeAPIQPS": "kube-api-qps",
    "maxOpenFiles": "max-open-files",
    "maxPods": "max-pods",
    "podsPerCore": "pods-per-core",
    "registryBurst": "registry-burst",
    "registryPullQPS": "registry-qps",
}
_RANGES = {
    "imageGCHighThresholdPercent": ("image-gc-high-threshold", 0, 100),
    "imageGCLowThresholdPercent": ("image-gc-low-threshold", 0, 100),
    "oomScoreAdj": ("oom-score-adj", -1000, 1000),
}
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def problems(settings: Obj) -> list[str]:
    """Of a whole configuration; empty where it can be used."""
    return [f"invalid configuration: {each}" for each in (*_upstreams(settings), *_ours(settings))]


def _upstreams(settings: Obj) -> Iterator[str]:
    if settings["nodeLeaseDurationSeconds"] <= 0:
        yield "nodeLeaseDurationSeconds must be greater than 0"
    for name, flag in _NOT_NEGATIVE.items():
        if (settings.get(name) or 0) < 0:
            yield f"{name} (--{flag}) {settings[name]} must not be a negative number"
    for name, (flag, least, most) in _RANGES.items():
        if not least <= settings[name] <= most:
            yield f"{name} (--{flag}) {settings[name]} must be between {least} and {most}, inclusive"
    low, high = settings["imageGCLowThresholdPercent"], settings["imageGCHighThresholdPercent"]
    if low >= high:
        less = f"must be less than imageGCHighThresholdPercent (--image-gc-high-threshold) {high}"
        yield f"imageGCLowThresholdPercent (--image-gc-low-threshold) {low} {less}"
    for name, flag in (("healthzPort", "healthz-port"), ("port", "port"), ("readOnlyPort", "read-only-port")):
        port = settings.get(name) or 0
        if not 0 <= port <= 65535:
            yield f"{name} (--{flag}) {port} must be between 1 and 65535, inclusive"
    if settings["nodeStatusMaxImages"] < -1:
        yield f"nodeStatusMaxImages (--node-status-max-images) {settings['nodeStatusMaxImages']} must be -1 or greater"
    if settings["containerLogMaxFiles"] <= 1:
        yield f"containerLogMaxFiles (--container-log-max-files) {settings['containerLogMaxFiles']} must be greater than 1"
    yield from _shutdown(settings)
    if settings.get("runOnce"):
        yield "runOnce (--runOnce) true, Runonce mode has been deprecated and should not be set"
    yield from _taints(settings.get("registerWithTaints") or [])


def _shutdown(settings: Obj) -> Iterator[str]:
    whole, critical = (f"shutdownGracePeriod{each}" for each in ("", "CriticalPods"))
    if seconds(settings, critical) > seconds(settings, whole):
        yield f"{critical} {settings[critical]} must be <= {whole} {settings[whole]}"
    for name in (whole, critical):
        if seconds(settings, name) < 0 or 0 < seconds(settings, name) < 1:
            yield f"{name} {settings[name]} must be either zero or otherwise >= 1 sec"
    if settings.get("shutdownGracePeriodByPodPriority") and (seconds(settings, whole) > 0 or seconds(settings, critical) > 0):
        yield "Cannot specify both shutdownGracePeriodByPodPriority and shutdownGracePeriod at the same time"


def _taints(taints: list[Obj]) -> Iterator[str]:
    for taint in taints:
        if not isinstance(taint, dict) or not taint.get("key") or taint.get("effect") not in _EFFECTS:
            yield f"invalid taint: {taint}"


def _ours(settings: Obj) -> Iterator[str]:
    if settings["cgroupDriver"] != "cgroupfs":
        yield f"cgroupDriver (--cgroup-driver) {settings['cgroupDriver']}: only cgroupfs is supported"
    if settings["authorization"]["mode"] not in ("Webhook", "AlwaysAllow"):
        yield f"unknown authorization mode {settings['authorization']['mode']}"
    if not _is_url(settings.get("staticPodURL") or "http://none"):
        yield f"staticPodURL (--manifest-url) {settings['staticPodURL']} is no URL of HTTP"
    for name in ("systemReserved", "kubeReserved"):
        for resource, amount in (settings.get(name) or {}).items():
            if not _is_amount(amount):
                yield f"{name}: {resource}: {amount!r} is no quantity"
    if not _is_amount(settings["containerLogMaxSize"]):
        yield f"containerLogMaxSize (--container-log-max-size) {settings['containerLogMaxSize']!r} is no quantity"


def _is_url(text: str) -> bool:
    try:
        at = urlsplit(text)
        return at.scheme in ("http", "https") and bool(at.hostname) and at.port != 0
    except ValueError:
        return False


def _is_amount(text: str) -> bool:
    try:
        return quantity.parse(text).sign() >= 0
    except ValueError:
        return False
