"""Service addresses and node ports: taken and freed together with the write of the Service.

An address is taken by its IPAddress object, a node port by a claim of our own beside it; both are created in the transaction
that stores the Service, and only if they do not exist, so that two Services can never share one.
"""

import ipaddress
from collections.abc import Callable, Iterator, Sequence

from tiphys.api.core.services import traits
from tiphys.api.core.services.families import default_families
from tiphys.apiserver.allocation.hooks import Hook
from tiphys.apiserver.allocation.ranges import address_span, port_span
from tiphys.apiserver.call import Call
from tiphys.apiserver.lookup import Lookup
from tiphys.machinery import errors, times
from tiphys.machinery.fields import FieldError, child, index, invalid
from tiphys.machinery.record import encode
from tiphys.machinery.tree import Obj
from tiphys.store.interface import Delete, Op, Put

ADDRESSES = "ipaddresses"
CIDRS = "servicecidrs"
CLAIMS = "tiphys/nodeports"

_TAKEN_IP = "provided IP is already allocated"
_NO_RANGE = "the provided network does not match the current range"
_TAKEN_PORT = "provided port is already allocated"
_FAMILY = {4: "IPv4", 6: "IPv6"}


class ServiceAllocator:
    def __init__(
        self,
        lookup: Lookup,
        cidrs: Sequence[str],
        node_ports: tuple[int, int],
        chance: Callable[[], float],
        new_uid: Callable[[], str],
    ) -> None:
        """`cidrs`: of --service-cluster-ip-range, primary family first."""
        self._lookup = lookup
        self._families = [_FAMILY[ipaddress.ip_network(each).version] for each in cidrs]
        self._node_ports = node_ports
        self._chance = chance
        self._new_uid = new_uid

    def hook(self) -> Hook:
        return Hook(self.creating, self.updating, self.deleting)

    async def creating(self, call: Call, service: Obj) -> Sequence[Op]:
        return [*await self._addresses(call, service, None), *self._ports(call, service, None)]

    async def updating(self, call: Call, new: Obj, old: Obj) -> Sequence[Op]:
        if call.info.subresource:
            return ()
        taken = [*await self._addresses(call, new, old), *self._ports(call, new, old)]
        return [*taken, *self._release(old, new)]

    async def deleting(self, call: Call, old: Obj) -> Sequence[Op]:  # noqa: ARG002 - the shape of a Hook
        return list(self._release(old, None))

    # --- addresses ---------------------------------------------------------------------------------------------------

    async def _addresses(self, call: Call, service: Obj, old: Obj | None) -> list[Op]:
        problems = default_families(service, old, self._families)
        if problems:
            raise _invalid(service, problems)
        if not traits.needs_cluster_ip(service) or traits.is_headless(service):
            return []
        kept = traits.cluster_ips(old) if old is not None and traits.needs_cluster_ip(old) else []
        wanted = list(traits.cluster_ips(service))
        taken: list[Op] = []
        for position, family in enumerate(traits.families(service)):
            if position < len(wanted) and wanted[position] in kept:
                continue
            if position < len(wanted):
                await self._check_address(service, wanted[position])
            else:
                wanted.append(await self._free_address(service, family))
            taken.append(self._take(call, service, wanted[position], family))
        spec = service["spec"]
        if wanted:
            spec["clusterIP"], spec["clusterIPs"] = wanted[0], wanted
        return taken

    async def _ranges(self) -> Iterator[ipaddress.IPv4Network | ipaddress.IPv6Network]:
        """Of every ServiceCIDR that is ready and stays."""
        found = await self._lookup.all(CIDRS)
        return (
            ipaddress.ip_network(cidr)
            for each in found
            if _is_ready(each) and "deletionTimestamp" not in each["metadata"]
            for cidr in each["spec"].get("cidrs") or ()
        )

    async def _check_address(self, service: Obj, address: str) -> None:
        parsed = ipaddress.ip_address(address)
        if not any(parsed.version == each.version and parsed in each for each in await self._ranges()):
            raise _not_allocated(service, f"failed to allocate IP {address}: {_NO_RANGE}")
        if self._lookup.get(ADDRESSES, address) is not None:
            raise _not_allocated(service, f"failed to allocate IP {address}: {_TAKEN_IP}")

    async def _free_address(self, service: Obj, family: str) -> str:
        for network in await self._ranges():
            if _FAMILY[network.version] != family:
                continue
            make = ipaddress.IPv4Address if network.version == 4 else ipaddress.IPv6Address
            picked = address_span(network).pick(
                self._chance,
                lambda each, make=make: self._lookup.get(ADDRESSES, str(make(each))) is not None,  # type: ignore[misc]
            )
            if picked is not None:
                return str(make(picked))
        raise errors.internal(
            f'failed to allocate a serviceIP for Service "{service["metadata"].get("name", "")}": range is full'
        )

    def _take(self, call: Call, service: Obj, address: str, family: str) -> Op:
        metadata = service["metadata"]
        taken = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "IPAddress",
            "metadata": {
                "name": address,
                "uid": self._new_uid(),
                "creationTimestamp": times.rfc3339(call.now),
                "labels": {
                    "ipaddress.kubernetes.io/ip-family": family,
                    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
                },
            },
            # What has no name will be refused, together with all else that is wrong with it.
            "spec": {
                "parentRef": {"resource": "services", "namespace": call.namespace, "name": metadata.get("name", "")},
            },
        }
        return Put(ADDRESSES, address, encode(taken), expect=0)

    # --- node ports --------------------------------------------------------------------------------------------------

    def _ports(self, call: Call, service: Obj, old: Obj | None) -> list[Op]:
        kept = traits.node_ports(old) if old is not None else set()
        mine: dict[int, set[str]] = {}
        fresh: list[int] = []
        may_have, needs = traits.may_have_node_ports(service), traits.needs_node_port(service)
        for position, port in enumerate(service["spec"].get("ports") or ()):
            number = port.get("nodePort") or 0
            if not may_have or not (number or needs):
                continue
            protocol = port.get("protocol", "TCP")
            if not number:
                number = port["nodePort"] = self._free_port(mine, protocol)
            elif number not in kept and number not in mine:
                self._check_port(service, number, child(index("spec.ports", position), "nodePort"))
            if number not in kept and number not in mine:
                fresh.append(number)
            mine.setdefault(number, set()).add(protocol)
        fresh += self._health_check_port(service, old, mine)
        return [self._claim(call, service, number) for number in fresh]

    def _health_check_port(self, service: Obj, old: Obj | None, mine: dict[int, set[str]]) -> list[int]:
        if not traits.needs_health_check_port(service):
            return []
        spec = service["spec"]
        number = spec.get("healthCheckNodePort") or 0
        if number and old is not None and (old["spec"].get("healthCheckNodePort") or 0) == number:
            return []
        if not number:
            number = spec["healthCheckNodePort"] = self._free_port(mine, "")
        else:
            self._check_port(service, number, "spec.healthCheckNodePort")
        return [number]

    def _check_port(self, service: Obj, number: int, at: str) -> None:
        first, last = self._node_ports
        if not first <= number <= last:
            told = f"provided port is not in the valid range. The range of valid ports is {first}-{last}"
            raise _invalid(service, [invalid(at, number, told)])
        if self._is_claimed(number):
            raise _invalid(service, [invalid(at, number, _TAKEN_PORT)])

    def _free_port(self, mine: dict[int, set[str]], protocol: str) -> int:
        """One number serves several protocols of the same Service."""
        for number, protocols in mine.items():
            if protocol and protocol not in protocols:
                return number
        picked = port_span(*self._node_ports).pick(self._chance, lambda each: each in mine or self._is_claimed(each))
        if picked is None:
            raise errors.internal("failed to allocate a nodePort: range is full")
        return picked

    def _is_claimed(self, number: int) -> bool:
        return self._lookup.get(CLAIMS, str(number)) is not None

    def _claim(self, call: Call, service: Obj, number: int) -> Op:
        metadata = service["metadata"]
        claim = {
            "apiVersion": "tiphys/v1",
            "kind": "NodePortClaim",
            "metadata": {"name": str(number), "creationTimestamp": times.rfc3339(call.now)},
            "service": f"{call.namespace}/{metadata.get('name', '')}",
        }
        return Put(CLAIMS, str(number), encode(claim), expect=0)

    # --- giving back -------------------------------------------------------------------------------------------------

    def _release(self, old: Obj, new: Obj | None) -> Iterator[Op]:
        """What `old` had and `new` has no more."""
        before, after = _holdings(old), _holdings(new) if new is not None else set()
        for bucket, name in sorted(before - after):
            if self._lookup.get(bucket, name) is not None:
                yield Delete(bucket, name)


def _holdings(service: Obj) -> set[tuple[str, str]]:
    held: set[tuple[str, str]] = set()
    if traits.needs_cluster_ip(service) and not traits.is_headless(service):
        held.update((ADDRESSES, each) for each in traits.cluster_ips(service))
    ports = traits.node_ports(service) if traits.may_have_node_ports(service) else set()
    if health := service["spec"].get("healthCheckNodePort"):
        ports = {*ports, health}
    held.update((CLAIMS, str(each)) for each in ports)
    return held


def _is_ready(cidr: Obj) -> bool:
    conditions = (cidr.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _invalid(service: Obj, problems: Sequence[FieldError]) -> errors.ApiError:
    return errors.invalid("", "Service", service["metadata"].get("name", ""), problems)


def _not_allocated(service: Obj, told: str) -> errors.ApiError:
    return _invalid(service, [invalid("spec.clusterIPs", traits.cluster_ips(service), told)])
