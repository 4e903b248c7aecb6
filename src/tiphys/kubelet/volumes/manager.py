"""Gets a pod's volumes ready, and keeps what is made from API objects up to date."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from tiphys.api.core.configmaps import CONFIG_MAPS
from tiphys.api.core.secrets import SECRETS
from tiphys.api.core.serviceaccounts import SERVICE_ACCOUNTS
from tiphys.api.kind import Kind
from tiphys.base.clock import Clock
from tiphys.client.interface import Client
from tiphys.kubelet.pods.downward import FieldValues
from tiphys.kubelet.volumes import host
from tiphys.kubelet.volumes.payload import PAYLOADS, Fetched, NotReady, TokenWish, files, is_payload, needs
from tiphys.kubelet.volumes.plan import PodFolder, kind_of
from tiphys.machinery import times
from tiphys.machinery.errors import ApiError
from tiphys.machinery.tree import Obj

_RENEW_AFTER = 0.8
"""Of a token's life (pkg/kubelet/token/token_manager.go)."""
_LONGEST_USE = 86400.0


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    renew_at: float


class VolumeManager:
    def __init__(self, client: Client, clock: Clock, stamp: Callable[[], str]) -> None:
        """`stamp` names the folder of each new set of files."""
        self._client = client
        self._clock = clock
        self._stamp = stamp
        self._tokens: dict[tuple[str, TokenWish], _Token] = {}

    async def prepare(self, pod: Obj, folder: PodFolder, values: FieldValues) -> None:
        """Make what is missing, bring up to date what is there. Raises NotReady or CannotMake."""
        volumes = pod["spec"].get("volumes") or ()
        payloads = [each for each in volumes if is_payload(each)]
        fetched = await self._fetch(pod, payloads)
        group = (pod["spec"].get("securityContext") or {}).get("fsGroup")
        for volume in volumes:
            where, kind = folder.volume(volume), kind_of(volume)
            if kind == "emptyDir":
                await asyncio.to_thread(host.make_empty, where, volume.get("emptyDir") or {}, group)
            elif kind == "hostPath":
                await asyncio.to_thread(host.make_host_path, volume["hostPath"])
            elif kind in PAYLOADS:
                try:
                    made = files(pod, volume, fetched, values)
                except NotReady as problem:
                    told = f'MountVolume.SetUp failed for volume "{volume["name"]}" : {problem}'
                    raise NotReady(told) from problem
                await asyncio.to_thread(host.write_payload, where, made, group, self._stamp())

    async def refresh(self, pod: Obj, folder: PodFolder, values: FieldValues) -> None:
        """Only what is made from API objects; what has gone since stays as it was."""
        payloads = [each for each in pod["spec"].get("volumes") or () if is_payload(each)]
        if not payloads:
            return
        fetched = await self._fetch(pod, payloads)
        group = (pod["spec"].get("securityContext") or {}).get("fsGroup")
        for volume in payloads:
            try:
                made = files(pod, volume, fetched, values)
            except NotReady:
                continue
            await asyncio.to_thread(host.write_payload, folder.volume(volume), made, group, self._stamp())

    def forget(self, uid: str) -> None:
        for key in [each for each in self._tokens if each[0] == uid]:
            del self._tokens[key]

    async def _fetch(self, pod: Obj, payloads: list[Obj]) -> Fetched:
        wanted, space = needs(payloads), pod["metadata"]["namespace"]
        maps = {name: await self.fetch(CONFIG_MAPS, space, name) for name in sorted(wanted.config_maps)}
        secrets = {name: await self.fetch(SECRETS, space, name) for name in sorted(wanted.secrets)}
        tokens = {wish: await self._token(pod, wish) for wish in wanted.tokens}
        return Fetched(
            {name: found for name, found in maps.items() if found is not None},
            {name: found for name, found in secrets.items() if found is not None},
            tokens,
        )

    async def fetch(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        try:
            return await self._client.get(kind, name, namespace)
        except ApiError as refused:
            if refused.reason == "NotFound":
                return None
            raise

    async def _token(self, pod: Obj, wish: TokenWish) -> str:
        meta, now = pod["metadata"], self._clock.now()
        key = (meta["uid"], wish)
        held = self._tokens.get(key)
        if held is not None and now < held.renew_at:
            return held.text
        asked: Obj = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {
                "audiences": [wish.audience] if wish.audience else [],
                "expirationSeconds": wish.seconds,
                "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]},
            },
        }
        account = pod["spec"].get("serviceAccountName") or "default"
        answer = await self._client.create(SERVICE_ACCOUNTS, asked, meta["namespace"], name=account, subresource="token")
        life = times.parse(answer["status"]["expirationTimestamp"]) - now
        made = _Token(answer["status"]["token"], now + min(life * _RENEW_AFTER, _LONGEST_USE))
        self._tokens[key] = made
        return made.text
