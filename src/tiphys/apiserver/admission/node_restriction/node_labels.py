"""Which labels of its own node a kubelet may not touch: those that decide what is scheduled there."""

from collections.abc import Mapping

_KUBELETS = frozenset(
    (
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    )
)
_KUBELET_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
_RESTRICTED_DOMAINS = ("node-restriction.kubernetes.io",)
_RESERVED_DOMAINS = ("kubernetes.io", "k8s.io")


def forbidden(new: Mapping[str, str], old: Mapping[str, str]) -> list[str]:
    """Those that differ although the kubelet may not change them, sorted."""
    changed = (key for key in new.keys() | old.keys() if new.get(key) != old.get(key))
    return sorted(key for key in changed if _is_forbidden(key))


def _is_forbidden(key: str) -> bool:
    domain = key.partition("/")[0] if "/" in key else ""
    if _within(domain, _RESTRICTED_DOMAINS):
        return True
    return _within(domain, _RESERVED_DOMAINS) and key not in _KUBELETS and not _within(domain, _KUBELET_DOMAINS)


def _within(domain: str, domains: tuple[str, ...]) -> bool:
    return any(domain == each or domain.endswith("." + each) for each in domains)
