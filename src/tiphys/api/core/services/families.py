"""Which IP families a Service gets, given those of the cluster. What is left for the allocator is the addresses themselves."""

from collections.abc import Iterator, Sequence

from tiphys.api import ip
from tiphys.api.core.services import traits
from tiphys.api.core.services.cluster_ips import validate_cluster_ips
from tiphys.machinery.fields import FieldError, index, invalid
from tiphys.machinery.tree import Obj

_OTHER = {"IPv4": "IPv6", "IPv6": "IPv4"}
_POLICY = "spec.ipFamilyPolicy"


def default_families(service: Obj, old: Obj | None, cluster: Sequence[str]) -> list[FieldError]:
    """Fill in ipFamilies and ipFamilyPolicy; `cluster` has the families that addresses can be allocated of, primary first.

    What is returned makes the write invalid, before any address is allocated.
    """
    if not traits.needs_cluster_ip(service) or (old is not None and _prefers_dual_as_before(service, old)):
        return []
    without_selector = service["spec"].get("clusterIP") == traits.NONE and not service["spec"].get("selector")
    if traits.family_policy(service) is None:
        service["spec"]["ipFamilyPolicy"] = _default_policy(old, without_selector)
    problems = list(validate_cluster_ips(service))
    if problems:
        return problems
    problems = list(_release(service, old)) if old is not None else []
    problems.extend(_too_many(service))
    problems.extend(_families_of_addresses(service, cluster))
    if problems:
        return problems
    if without_selector:
        _default_without_selector(service, cluster)
        return []
    problems = list(_not_configured(service, cluster))
    if problems:
        return problems
    _complete(service, cluster, dual=len(cluster) > 1)
    return []


def _default_policy(old: Obj | None, without_selector: bool) -> str:
    before = traits.family_policy(old) if old is not None else None
    return before or ("RequireDualStack" if without_selector else "SingleStack")


def _prefers_dual_as_before(new: Obj, old: Obj) -> bool:
    """Nothing that matters changed, so a cluster that has become dual-stack does not change this Service."""
    return (
        traits.family_policy(new) == "PreferDualStack"
        and traits.family_policy(old) in (None, "PreferDualStack")
        and traits.spec_of(new).get("type") == traits.spec_of(old).get("type")
        and traits.spec_of(new).get("type") in ("ClusterIP", "NodePort", "LoadBalancer")
        and traits.same(new, old, "clusterIPs")
        and traits.same(new, old, "ipFamilies")
    )


def _release(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Going to SingleStack gives the second address back; nothing else does."""
    policy = traits.family_policy(new)
    for part, told in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        now, was = traits.spec_of(new).get(part) or [], traits.spec_of(old).get(part) or []
        if policy == "SingleStack":
            if now == was and len(now) > 1:
                new["spec"][part] = now[:1]
        elif now and len(now) < len(was):
            yield invalid(_POLICY, policy, f"must be 'SingleStack' to release the secondary {told}")


def _too_many(service: Obj) -> Iterator[FieldError]:
    if traits.family_policy(service) != "SingleStack":
        return
    told = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
    if len(traits.cluster_ips(service)) == 2:
        yield invalid(_POLICY, "SingleStack", told.format("cluster IPs"))
    if len(traits.families(service)) == 2:
        yield invalid(_POLICY, "SingleStack", told.format("IP families"))


def _families_of_addresses(service: Obj, cluster: Sequence[str]) -> Iterator[FieldError]:
    addresses = traits.cluster_ips(service)
    for position, address in enumerate(addresses):
        if address == traits.NONE:
            return
        if position < len(traits.families(service)):
            continue
        family = ip.family(address) or "unknown"
        if family not in cluster:
            yield invalid(index("spec.clusterIPs", position), addresses, f"{family} is not configured on this cluster")
        else:
            service["spec"]["ipFamilies"] = [*traits.families(service), family]


def _default_without_selector(service: Obj, cluster: Sequence[str]) -> None:
    """Whoever writes the endpoints of a headless Service without selector may use either family."""
    _complete(service, cluster, dual=True)


def _complete(service: Obj, cluster: Sequence[str], *, dual: bool) -> None:
    families = traits.families(service) or [cluster[0]]
    if len(families) == 1 and dual and traits.family_policy(service) != "SingleStack":
        families = [families[0], _OTHER[families[0]]]
    service["spec"]["ipFamilies"] = families


def _not_configured(service: Obj, cluster: Sequence[str]) -> Iterator[FieldError]:
    if traits.family_policy(service) == "RequireDualStack" and len(cluster) < 2:
        yield invalid(_POLICY, "RequireDualStack", "this cluster is not configured for dual-stack services")
    for position, family in enumerate(traits.families(service)):
        if family not in cluster:
            yield invalid(index("spec.ipFamilies", position), family, "not configured on this cluster")
