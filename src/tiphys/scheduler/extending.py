"""Extenders: programs that are asked over HTTP which nodes can take a pod, which are best, whom to evict, and to bind it.

upstream pkg/scheduler/extender.go and staging/src/k8s.io/kube-scheduler/extender/v1.
"""

from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from tiphys.base.http.client import HttpClient
from tiphys.base.log import Logger
from tiphys.base.tls import Pair
from tiphys.base.tls_context import client_context
from tiphys.machinery.tree import Obj
from tiphys.scheduler.config.settings import ExtenderSettings
from tiphys.scheduler.framework import BEST
from tiphys.scheduler.node_table import NodeTable
from tiphys.scheduler.opinion import Opinion
from tiphys.scheduler.pod_info import PodInfo
from tiphys.scheduler.victims import Victims

_MOST = 10
"""The best score that an extender gives."""


class ExtenderFailed(Exception):
    """An extender that has to be asked does not answer, or answers nonsense."""


class Extender:
    def __init__(self, settings: ExtenderSettings) -> None:
        self.settings = settings
        parts = urlsplit(settings.url)
        secure = parts.scheme == "https" or settings.https
        self._path = parts.path.rstrip("/")
        self._http = HttpClient(
            parts.hostname or "",
            parts.port or (443 if secure else 80),
            ssl_context=_context(settings) if secure else None,
            server_name=settings.tls.get("serverName") or "",
            headers=(("Content-Type", "application/json"),),
        )

    def close(self) -> None:
        self._http.close()

    def concerns(self, pod: PodInfo) -> bool:
        wanted = self.settings.resources
        return not wanted or any(name in wanted for name in _resources(pod.obj["spec"]))

    async def send(self, verb: str, args: Obj) -> Any:
        settings = self.settings
        try:
            reply = await self._http.request("POST", f"{self._path}/{verb}", (), orjson.dumps(args), timeout=settings.timeout)
        except (OSError, TimeoutError) as problem:
            raise ExtenderFailed(f'Post "{settings.url}/{verb}": {problem}') from None
        if reply.status != 200:
            raise ExtenderFailed(f"failed {verb} with extender at URL {settings.url}, code {reply.status}")
        try:
            return orjson.loads(reply.body)
        except ValueError as problem:
            raise ExtenderFailed(f"{settings.url}/{verb}: {problem}") from None

    async def filter(self, pod: PodInfo, nodes: dict[str, Obj]) -> tuple[list[str], dict[str, tuple[str, bool]]]:
        """Names of those that it accepts, and why not others."""
        settings = self.settings
        if not settings.filter_verb:
            return list(nodes), {}
        told = await self.send(settings.filter_verb, self._arguments(pod, nodes))
        if not isinstance(told, dict) or _get(told, "error"):
            raise ExtenderFailed(str(_get(told, "error")) if isinstance(told, dict) else f"{settings.url}: not an object")
        names, items = _get(told, "nodenames"), _get(told, "nodes")
        if settings.knows_nodes and names is not None:
            accepted = list(names)
        else:
            accepted = [each["metadata"]["name"] for each in (items or {}).get("items") or ()]
        for name in accepted:
            if name not in nodes:
                raise ExtenderFailed(
                    f'extender "{settings.url}" claims a filtered node "{name}" which is not found in the input node list'
                )
        refused = {name: (str(why), True) for name, why in (_get(told, "failednodes") or {}).items()}
        refused |= {name: (str(why), False) for name, why in (_get(told, "failedandunresolvablenodes") or {}).items()}
        return accepted, refused

    async def prioritize(self, pod: PodInfo, nodes: dict[str, Obj]) -> dict[str, int]:
        if not self.settings.prioritize_verb:
            return {}
        told = await self.send(self.settings.prioritize_verb, self._arguments(pod, nodes))
        scale = self.settings.weight * (BEST // _MOST)
        return {str(_get(each, "host")): int(_get(each, "score") or 0) * scale for each in told or ()}

    async def preempt(self, pod: PodInfo, candidates: Iterable[Victims], table: NodeTable) -> list[Victims]:
        """Which of the candidates it agrees to; it may spare some of the victims."""
        if self.settings.knows_nodes:
            told = {"NodeNameToMetaVictims": {each.node: _meta(each) for each in candidates}}
        else:
            told = {"NodeNameToVictims": {each.node: _whole(each) for each in candidates}}
        answer = await self.send(self.settings.preempt_verb, {"Pod": pod.obj, **told})
        found = []
        for node, each in (_get(answer, "nodenametometavictims") or {}).items():
            row = table.rows.get(node)
            there = table.pods[row] if row is not None else {}
            by_uid = {other.uid: other for other in there.values()}
            uids = [_get(victim, "uid") for victim in _get(each, "pods") or ()]
            if any(uid not in by_uid for uid in uids):
                raise ExtenderFailed(f"extender: {self.settings.url} claims to preempt a pod that is not found on node: {node}")
            pods = sorted((by_uid[uid] for uid in uids), key=lambda other: (-other.priority, other.started))
            found.append(Victims(node, tuple(pods), int(_get(each, "numpdbviolations") or 0)))
        return found

    async def bind(self, pod: PodInfo, node: str) -> None:
        args = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node}
        told = await self.send(self.settings.bind_verb, args)
        if _get(told, "error"):
            raise ExtenderFailed(str(_get(told, "error")))

    def _arguments(self, pod: PodInfo, nodes: dict[str, Obj]) -> Obj:
        if self.settings.knows_nodes:
            return {"Pod": pod.obj, "Nodes": None, "NodeNames": list(nodes)}
        listed = {"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": list(nodes.values())}
        return {"Pod": pod.obj, "Nodes": listed, "NodeNames": None}


class Extenders:
    def __init__(self, settings: Sequence[ExtenderSettings], log: Logger) -> None:
        # Those that may be skipped come last, as upstream sorts them.
        self._all = [Extender(each) for each in sorted(settings, key=lambda each: each.ignorable)]
        self._log = log

    def close(self) -> None:
        for each in self._all:
            each.close()

    def of(self, pod: PodInfo) -> list[Extender]:
        return [each for each in self._all if each.concerns(pod)]

    def binder(self, pod: PodInfo) -> Extender | None:
        return next((each for each in self.of(pod) if each.settings.bind_verb), None)

    async def opinion(self, pod: PodInfo, nodes: dict[str, Obj]) -> Opinion:
        """One after the other; raises ExtenderFailed where one that may not be skipped fails."""
        refused: dict[str, tuple[str, bool]] = {}
        for each in self.of(pod):
            if not nodes:
                break
            try:
                accepted, no = await each.filter(pod, nodes)
            except ExtenderFailed as problem:
                if not each.settings.ignorable:
                    raise
                self._log.info("Skipping extender as it returned error and has ignorable flag set", error=str(problem))
                continue
            refused.update(no)
            nodes = {name: nodes[name] for name in accepted}
        return Opinion(frozenset(nodes), refused, await self._scores(pod, nodes))

    async def _scores(self, pod: PodInfo, nodes: dict[str, Obj]) -> dict[str, int]:
        total: dict[str, int] = {}
        for each in self.of(pod) if len(nodes) > 1 else ():
            try:
                scores = await each.prioritize(pod, nodes)
            except ExtenderFailed as problem:
                # Others know best without it.
                self._log.info("Failed to run extender's priority function", error=str(problem))
                continue
            for name, score in scores.items():
                total[name] = total.get(name, 0) + score
        return total

    async def preempt(self, pod: PodInfo, candidates: Iterable[Victims], table: NodeTable) -> list[Victims]:
        left = list(candidates)
        for each in self.of(pod):
            if not each.settings.preempt_verb or not left:
                continue
            try:
                left = await each.preempt(pod, left, table)
            except ExtenderFailed:
                if not each.settings.ignorable:
                    raise
        return left


def _resources(spec: Obj) -> Iterator[str]:
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        yield from resources.get("requests") or {}
        yield from resources.get("limits") or {}


def _get(tree: Obj, name: str) -> Any:
    """Go reads JSON whatever the case of its keys."""
    return next((value for key, value in tree.items() if key.lower() == name), None)


def _meta(victims: Victims) -> Obj:
    return {"Pods": [{"UID": each.uid} for each in victims.pods], "NumPDBViolations": victims.violations}


def _whole(victims: Victims) -> Obj:
    return {"Pods": [each.obj for each in victims.pods], "NumPDBViolations": victims.violations}


def _context(settings: ExtenderSettings) -> Any:
    """Without an authority nobody is checked, as upstream has it."""
    tls = settings.tls
    authority = _bytes(tls, "ca")
    certificate, key = _bytes(tls, "cert"), _bytes(tls, "key")
    pair = Pair(certificate, key) if certificate and key else None
    insecure = bool(tls.get("insecure")) or not authority
    return client_context([authority] if authority else (), pair, insecure=insecure)


def _bytes(tls: Obj, what: str) -> bytes:
    if tls.get(f"{what}Data"):
        return b64decode(tls[f"{what}Data"])
    return Path(tls[f"{what}File"]).read_bytes() if tls.get(f"{what}File") else b""
