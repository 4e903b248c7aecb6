"""Writes a pod's status to the API: the newest wins, what does not change is not written, failures are tried again."""

import asyncio

from tiphys.api.core.pods import PODS
from tiphys.kubelet.pods.context import Context
from tiphys.kubelet.pods.timeline import Timeline
from tiphys.kubelet.static.manifests import is_static
from tiphys.kubelet.status.patch import status_patch
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

_RETRY_SECONDS = 1.0


class Reporter:
    """Of one pod. `run` belongs to the worker's group."""

    def __init__(self, context: Context, pod: Obj, timeline: Timeline) -> None:
        self._context = context
        self._timeline = timeline
        self._wanted: Obj | None = None
        self._wake = asyncio.Event()
        self._lock = asyncio.Lock()
        self.pod = pod
        """The newest that is known: from the watch, or from an answer to what was written."""

    def learn(self, pod: Obj) -> None:
        if int(pod["metadata"]["resourceVersion"]) >= int(self.pod["metadata"]["resourceVersion"]):
            self.pod = pod

    def report(self, status: Obj) -> None:
        self._wanted = status
        self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self.flush()
            except (ConnectionError, TimeoutError):
                await self._context.clock.sleep(_RETRY_SECONDS)
                self._wake.set()

    async def flush(self) -> None:
        """What is wanted is written when this returns, or nobody wants it any more."""
        async with self._lock:
            while self._wanted is not None:
                wanted = self._wanted
                await self._write(wanted)
                if self._wanted is wanted:
                    self._wanted = None

    async def _write(self, wanted: Obj) -> None:
        shown = self._context.mirror_of(self.pod) if is_static(self.pod) else self.pod
        if shown is None:
            # Its worker is woken when there is something to write to.
            return
        meta = shown["metadata"]
        change = status_patch(shown.get("status") or {}, wanted)
        if not change:
            return
        patch = {"metadata": {"uid": meta["uid"]}, "status": change}
        try:
            with self._timeline.step(_told(change)):
                answer = await self._context.client.patch(
                    PODS, meta["name"], patch, meta["namespace"], patch_type="strategic", subresource="status"
                )
        except ApiError as refused:
            if refused.code >= 500 or refused.code == 429:
                raise ConnectionError(str(refused)) from refused
            # Deleted, or deleted and made anew: nobody waits for this status. Anything else is told: it is our mistake.
            anew = (refused.code == 422 and "metadata.uid" in str(refused)) or _is_elsewhere(refused)
            if refused.code not in (404, 409) and not anew:
                self._context.log.error("status refused", pod=meta["name"], error=str(refused))
            return
        if is_static(self.pod):
            self.pod = {**self.pod, "status": answer.get("status") or {}}
        elif int(answer["metadata"]["resourceVersion"]) > int(self.pod["metadata"]["resourceVersion"]):
            # Of one version the watch's tree is kept, whichever comes first: it shares what pods have in common.
            self.learn(answer)


def _is_elsewhere(refused: ApiError) -> bool:
    """The pod of that name is another one by now, which has another node, or none yet."""
    return refused.code == 403 and "can only update pod status for pods with spec.nodeName set to itself" in str(refused)


def _told(change: Obj) -> str:
    """The part of a status that people look at."""
    conditions = change.get("conditions") or ()
    changed = [each["type"] for each in conditions if each.get("status") == "True" and "type" in each]
    parts = [*([f"phase {change['phase']}"] if "phase" in change else []), *changed]
    return f"status written ({', '.join(parts)})" if parts else "status written"
