"""What is left to do for a pod of which nothing runs any more."""

import asyncio

from tiphys.api.core.pods import PODS
from tiphys.kubelet import cgroups
from tiphys.kubelet.names import log_folder
from tiphys.kubelet.pods.context import Context
from tiphys.kubelet.pods.reporting import Reporter
from tiphys.kubelet.pods.resources import pod_cgroup
from tiphys.kubelet.pods.stopping import remove_from_runtime
from tiphys.kubelet.pods.timeline import Timeline
from tiphys.kubelet.volumes import host
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj


async def clean_up(context: Context, pod: Obj, timeline: Timeline) -> None:
    """What takes room while nothing runs. Containers that have ended stay as long as the API object: for their logs."""
    uid = pod["metadata"]["uid"]
    with timeline.step("volumes unmounted and removed"):
        await context.image_mounts.unmount_below(context.folder(uid).path)
        await asyncio.to_thread(host.remove_tree, context.folder(uid).path)
    await asyncio.to_thread(cgroups.remove, pod_cgroup(context.config.cgroup_root, pod))
    context.share_cpu()
    context.volumes.forget(uid)
    context.images.forget(uid)


async def forget(context: Context, pod: Obj) -> None:
    await remove_from_runtime(context.runtime, await context.runtime.observe(pod["metadata"]["uid"]))
    await asyncio.to_thread(host.remove_tree, log_folder(context.config.logs, pod))


async def confirm(context: Context, reporter: Reporter) -> None:
    """The API keeps a deleted pod until its node says that nothing of it is left."""
    await reporter.flush()
    meta = reporter.pod["metadata"]
    options = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
    try:
        await context.client.delete(PODS, meta["name"], meta["namespace"], options=options)
    except ApiError as refused:
        if refused.code not in (404, 409):
            raise
