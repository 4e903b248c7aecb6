"""clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy of a Service: whether they agree, and how they may change."""

from collections.abc import Iterator

from tiphys.api import ip
from tiphys.api.core.services import traits
from tiphys.machinery.fields import FieldError, duplicate, index, invalid, not_supported, required
from tiphys.machinery.tree import Obj

_IPS = "spec.clusterIPs"
_FAMILIES = "spec.ipFamilies"
_POLICY = "spec.ipFamilyPolicy"
_KNOWN_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")


def validate_cluster_ips(service: Obj) -> Iterator[FieldError]:
    if not traits.needs_cluster_ip(service):
        return
    first, addresses = traits.spec_of(service).get("clusterIP") or "", traits.cluster_ips(service)
    if first and not addresses:
        yield required(_IPS)
    elif first and addresses[0] != first:
        yield invalid(_IPS, addresses, "first value must match `clusterIP`")
    elif addresses and not first:
        yield invalid(_IPS, addresses, "must be empty when `clusterIP` is not specified")
    yield from _validate_families(service)
    wrong = list(_validate_addresses(addresses))
    yield from wrong
    if len(addresses) > 2:
        yield invalid(_IPS, addresses, "may only hold up to 2 values")
    if wrong:
        return
    if len(addresses) > 1 and len({ip.family(each) for each in addresses}) < 2:
        yield invalid(_IPS, addresses, "may specify no more than one IP for each IP family")
    if not traits.is_headless(service):
        for position, (address, family) in enumerate(zip(addresses, traits.families(service), strict=False)):
            if family in _KNOWN_FAMILIES and ip.is_ipv6(address) != (family == "IPv6"):
                told = f"expected an {family} value as indicated by `ipFamilies[{position}]`"
                yield invalid(index(_IPS, position), address, told)


def _validate_families(service: Obj) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, family in enumerate(traits.families(service)):
        if family not in _KNOWN_FAMILIES:
            yield not_supported(index(_FAMILIES, position), family, _KNOWN_FAMILIES)
        if family in seen:
            yield duplicate(index(_FAMILIES, position), family)
        seen.add(family)
    policy = traits.family_policy(service)
    if policy is not None and policy not in _POLICIES:
        yield not_supported(_POLICY, policy, _POLICIES)


def _validate_addresses(addresses: list[str]) -> Iterator[FieldError]:
    for position, address in enumerate(addresses):
        if position or address != traits.NONE:
            yield from ip.validate_legacy(address, index(_IPS, position))
        elif len(addresses) > 1:
            yield invalid(_IPS, addresses, "'None' must be the first and only value")


def validate_change(new: Obj, old: Obj) -> Iterator[FieldError]:
    """Addresses and families may be added and released at the end, and never replaced."""
    if not (traits.needs_cluster_ip(new) and traits.needs_cluster_ip(old)):
        return
    was_headless, is_headless = traits.is_headless(old), traits.is_headless(new)
    if not (was_headless and is_headless):
        yield from _validate_changed_ips(new, old)
    if not was_headless and not is_headless:
        yield from _validate_changed_families(new, old)


def _validate_changed_ips(new: Obj, old: Obj) -> Iterator[FieldError]:
    now, was = traits.cluster_ips(new), traits.cluster_ips(old)
    if len(now) == len(was):
        for position, (one, other) in enumerate(zip(now, was, strict=True)):
            if one != other:
                yield invalid(index(_IPS, position), now, "may not change once set")
        return
    if len(was) > len(now) and not now:
        yield invalid(index(_IPS, 0), None, "primary clusterIP can not be unset")
    if was and now and now[0] != was[0]:
        yield invalid(index(_IPS, 0), now, "may not change once set")
    if len(was) > len(now) == 1:
        yield from _validate_released(new, "clusterIP")


def _validate_changed_families(new: Obj, old: Obj) -> Iterator[FieldError]:
    now, was = traits.families(new), traits.families(old)
    at = index(_FAMILIES, 0)
    if len(now) == len(was):
        for one, other in zip(now, was, strict=True):
            if one != other:
                yield invalid(at, now, "may not change once set")
        return
    # Upstream looks at the addresses in both of the next two.
    addresses = traits.cluster_ips(new)
    if len(was) > len(now) and not addresses:
        yield invalid(at, now or None, "primary ipFamily can not be unset")
    if was and now and now[0] != was[0]:
        yield invalid(at, addresses or None, "may not change once set")
    if len(was) > len(now) == 1:
        yield from _validate_released(new, "ipFamily")


def _validate_released(new: Obj, what: str) -> Iterator[FieldError]:
    policy = traits.family_policy(new)
    if policy != "SingleStack":
        told = f"must be set to 'SingleStack' when releasing the secondary {what}"
        yield invalid(_POLICY, policy, told)
