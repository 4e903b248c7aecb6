"""TTL after finished: Jobs that say how long they are of interest go when they are not any more."""

from dataclasses import dataclass

from tiphys.api.batch.jobs import JOBS
from tiphys.controllers import conditions
from tiphys.controllers.controller import Base, Caches, own
from tiphys.controllers.plan import NOTHING, Delete, Plan
from tiphys.machinery import meta, times
from tiphys.machinery.tree import Obj


@dataclass(frozen=True, slots=True)
class World:
    job: Obj
    now: float


class TtlAfterFinished(Base):
    name = "ttl-after-finished-controller"
    component = "ttl-after-finished-controller"
    watches = (own(JOBS),)

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        job = caches[JOBS].get(key)
        return World(job, now) if job is not None else None

    @staticmethod
    def reconcile(world: World) -> Plan:
        job = world.job
        seconds = job["spec"].get("ttlSecondsAfterFinished")
        finished = finished_at(job)
        if seconds is None or finished is None or meta.is_deleting(job):
            return NOTHING
        left = finished + seconds - world.now
        if left > 0:
            return Plan(again_in=left)
        # Of this version only: the time may have been changed meanwhile.
        return Plan((Delete(JOBS, job, "Foreground", same_version=True),))


def finished_at(job: Obj) -> float | None:
    listed = (job.get("status") or {}).get("conditions")
    for kind in ("Complete", "Failed"):
        found = conditions.find(listed, kind)
        if found is not None and found.get("status") == "True" and found.get("lastTransitionTime"):
            return times.parse(found["lastTransitionTime"])
    return None
