"""The turn of a Job: count, judge, manage, track."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.api.batch.jobs import JOBS
from tiphys.api.core.pods import PODS
from tiphys.controllers import conditions
from tiphys.controllers.claims import candidates, claim
from tiphys.controllers.controller import Base, Caches, Watch, own, owned
from tiphys.controllers.job.pods import FINALIZER, is_tracked
from tiphys.controllers.job.sync import COMPLETE, FAILED, Sync, release
from tiphys.controllers.job.tracking import track
from tiphys.controllers.plan import NOTHING, Create, Emit, Failure, Plan, Update, Write, set_status
from tiphys.controllers.replicaset import selector_of
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj

MANAGED_HERE = (None, "kubernetes.io/job-controller")


@dataclass(frozen=True, slots=True)
class World:
    job: Obj | None
    pods: tuple[Obj, ...]
    strays: tuple[Obj, ...]
    """Pods that still wait to be counted by a Job of this name which is no more, or by nobody."""
    failure: Failure | None
    now: float


def _job_of(pod: Obj) -> Iterable[str]:
    """Whose word a tracked pod waits for; without a controller, that of the Job without a name, which never is."""
    reference = meta.controller_of(pod)
    if not is_tracked(pod):
        return ()
    if reference is None:
        return (f"{meta.namespace(pod)}/",)
    return (f"{meta.namespace(pod)}/{reference['name']}",) if reference.get("kind") == "Job" else ()


def _orphanage(_old: Obj | None, new: Obj | None, _: Caches) -> Iterable[str]:
    return _job_of(new) if new is not None and meta.controller_of(new) is None else ()


class JobController(Base):
    name = "job-controller"
    component = "job-controller"
    watches = (own(JOBS), owned(PODS, JOBS, selector_of=selector_of), Watch(PODS, _orphanage, {"job": _job_of}))

    def observe(self, key: str, caches: Caches, now: float) -> World | None:
        job = caches[JOBS].get(key)
        uid = meta.uid(job) if job is not None else ""
        tracked = caches[PODS].by("job", key)
        strays = tuple(pod for pod in tracked if (meta.controller_of(pod) or {}).get("uid") != uid)
        pods = candidates(caches[PODS], job, selector_of(job)) if job is not None else ()
        return World(job, pods, strays, caches.failures.get(key), now)

    @staticmethod
    def reconcile(world: World) -> Plan:
        job = world.job
        freed: list[Write] = [release(pod) for pod in world.strays]
        if job is None or job["spec"].get("managedBy") not in MANAGED_HERE:
            return Plan(tuple(freed)) if job is None else NOTHING
        listed = (job.get("status") or {}).get("conditions")
        if conditions.is_true(listed, COMPLETE) or conditions.is_true(listed, FAILED):
            mine = [pod for pod in world.pods if is_tracked(pod) and meta.is_controlled_by(pod, job)]
            return Plan((*freed, *(release(pod) for pod in mine)))
        claimed = claim(PODS, world.pods, JOBS, job, selector_of(job), finalizer=FINALIZER)
        if claimed.writes:
            return Plan((*freed, *claimed.writes))
        sync = Sync(job, claimed.mine, world.now)
        sync.count()
        sync.judge()
        sync.manage()
        after = track(sync)
        told = [Emit(note) for note in sync.notes]
        status: list[Update] = [set_status(JOBS, job, sync.status)] if sync.status != job.get("status") else []
        if world.failure is not None and isinstance(world.failure.write, Create):
            # What cannot be created must not keep the rest from being told.
            return Plan((*freed, *status, *after, *told, *sync.writes), again_in=sync.again_in)
        return Plan((*freed, *sync.writes, *status, *after, *told), again_in=sync.again_in)
