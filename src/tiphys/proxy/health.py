"""Whether the proxy keeps up: what it says to load balancers and to whoever restarts it. Core.

A change that has waited for longer than `patience` to reach the kernel makes it unhealthy. /healthz also asks whether the node
is about to go away (then load balancers should look elsewhere), /livez does not (restarting the proxy would not help).
"""

from dataclasses import dataclass

import orjson

from tiphys.machinery import times
from tiphys.machinery.tree import Obj, get
from tiphys.proxy.rules import HealthCheck

LEAVING = "ToBeDeletedByClusterAutoscaler"
"""The taint by which the cluster autoscaler says that it will delete the node."""

NO_SNIFFING = (("X-Content-Type-Options", "nosniff"),)


@dataclass(frozen=True, slots=True)
class Told:
    """An answer: JSON."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = NO_SNIFFING


class Health:
    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._waiting_since: float | None = None
        self._updated = 0.0
        self.node: Obj | None = None

    def queued(self, now: float) -> None:
        """Something has changed that the kernel does not have yet."""
        if self._waiting_since is None:
            self._waiting_since = now

    def updated(self, now: float) -> None:
        self._waiting_since = None
        self._updated = now

    def well(self, now: float) -> bool:
        return self._waiting_since is None or now - self._waiting_since < self._patience

    @property
    def staying(self) -> bool:
        """Whether the node is there, and is to stay."""
        if self.node is None or self.node["metadata"].get("deletionTimestamp"):
            return False
        return all(each.get("key") != LEAVING for each in get(self.node, ("spec", "taints"), ()) or ())

    def alive(self, now: float) -> Told:
        return self._told(now, self.well(now), None)

    def ready(self, now: float) -> Told:
        return self._told(now, self.well(now) and self.staying, self.staying)

    def of_service(self, check: HealthCheck, now: float) -> Told:
        """What a load balancer asks: are endpoints here of a Service whose traffic stays on its node?"""
        well = self.well(now)
        said = {
            "service": {"namespace": check.namespace, "name": check.service},
            "localEndpoints": check.local_endpoints,
            "serviceProxyHealthy": well,
        }
        weight = ("X-Load-Balancing-Endpoint-Weight", str(check.local_endpoints))
        status = 200 if check.local_endpoints and well else 503
        return Told(status, orjson.dumps(said, option=orjson.OPT_INDENT_2), (*NO_SNIFFING, weight))

    def _told(self, now: float, good: bool, staying: bool | None) -> Told:
        well = self.well(now)
        # While all is well, it is as good as if it had been written just now; older load balancers go by that.
        last = times.rfc3339_micro(now if good else self._updated)
        said: Obj = {"lastUpdated": last, "currentTime": times.rfc3339_micro(now)}
        if staying is not None:
            said["nodeEligible"] = staying
        family = {"lastUpdated": times.rfc3339_micro(self._updated), "healthy": well}
        said.update(healthy=well, status={"IPv4": family, "IPv6": family})
        return Told(200 if good else 503, orjson.dumps(said))
