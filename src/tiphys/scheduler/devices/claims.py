"""Claims for devices: as the API server tells of them, as they were just written, and what is decided and not written yet."""

from collections.abc import Iterator

from tiphys.machinery import meta
from tiphys.machinery.tree import Obj
from tiphys.scheduler.devices.ledger import Ledger
from tiphys.scheduler.pod_info import PodInfo

EXTENDED = "resource.kubernetes.io/extended-resource-claim"
"""Annotates claims that the scheduler makes, for resources of a pod that devices stand behind."""

_Key = tuple[str, str]


class NoClaim(Exception):
    """Why a claim of a pod cannot be found."""


class Claims:
    """Of all namespaces. Read-only for all but the loop and the plugin that hands out devices."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        """What all allocations take together, also those that are not written yet."""
        self._heard: dict[_Key, Obj] = {}
        self._written: dict[_Key, Obj] = {}
        """Newer than what was heard."""
        self._promised: dict[str, Obj] = {}
        """Allocations by the uid of the claim."""
        self._counted: dict[str, Obj] = {}
        """What of the ledger is whose."""
        self._keys: dict[str, _Key] = {}
        """By uid, of those that are there."""
        self._extended: dict[str, _Key] = {}
        """By the uid of the pod."""

    def get(self, namespace: str, name: str) -> Obj | None:
        return self._written.get((namespace, name)) or self._heard.get((namespace, name))

    def of_extended_resources(self, pod: PodInfo) -> Obj | None:
        """The one that was made for the pod, if there is one."""
        key = self._extended.get(pod.uid)
        return None if key is None else self.get(*key)

    def changed(self, old: Obj | None, new: Obj | None) -> None:
        """What the API server says."""
        claim = new or old
        assert claim is not None
        key, uid = _key(claim), meta.uid(claim)
        if old is not None and meta.uid(old) != uid:
            self._heard.pop(key, None)
            self._forget(key, meta.uid(old))
            self._unlink(old)
        if new is None:
            self._heard.pop(key, None)
            self._forget(key, uid)
            self._unlink(claim)
            return
        self._heard[key] = new
        self._link(new)
        written = self._written.get(key)
        if written is not None and (meta.uid(written) != uid or not _is_newer(written, new)):
            self._forget(key, uid)
        if allocation_of(new) is not None:
            self._promised.pop(uid, None)
        self._settle(key, uid)

    def wrote(self, claim: Obj) -> None:
        """What the API server answered: it may be a while until it tells of it."""
        key = _key(claim)
        heard = self._heard.get(key)
        if heard is not None and not _is_newer(claim, heard):
            return
        self._written[key] = claim
        self._link(claim)
        self._settle(key, meta.uid(claim))

    def removed(self, claim: Obj) -> None:
        """It has just been deleted."""
        self._heard.pop(_key(claim), None)
        self._forget(_key(claim), meta.uid(claim))
        self._unlink(claim)

    def promise(self, uid: str, allocation: Obj) -> None:
        self._promised[uid] = allocation
        self._count(uid, self._counted.get(uid) or allocation)

    def promised(self, uid: str) -> Obj | None:
        return self._promised.get(uid)

    def take_back(self, uid: str) -> None:
        """What was promised will not be written, or is; the claim need not be there."""
        self._promised.pop(uid, None)
        self._settle(self._keys.get(uid, ("", "")), uid)

    def of(self, pod: PodInfo) -> list[Obj]:
        """Those that the pod names, each once per name. Raises NoClaim."""
        listed = pod.obj["spec"].get("resourceClaims")
        return list(self._each(pod, listed)) if listed else []

    def _each(self, pod: PodInfo, listed: list[Obj]) -> Iterator[Obj]:
        statuses = {each["name"]: each for each in (pod.obj.get("status") or {}).get("resourceClaimStatuses") or ()}
        for each in listed:
            made = not each.get("resourceClaimName")
            if made and each["name"] not in statuses:
                raise NoClaim(f'pod "{pod.key}": ResourceClaim not created yet')
            name = statuses[each["name"]].get("resourceClaimName") if made else each["resourceClaimName"]
            if not name:
                continue  # it was found that none is needed
            claim = self.get(pod.namespace, name)
            if claim is None:
                raise NoClaim(f'could not find ResourceClaim "{pod.namespace}/{name}"')
            if claim["metadata"].get("deletionTimestamp"):
                raise NoClaim(f'resourceclaim "{name}" is being deleted')
            if made and (meta.controller_of(claim) or {}).get("uid") != pod.uid:
                told = f"ResourceClaim {pod.namespace}/{name} was not created for Pod {pod.key} (Pod is not owner)"
                raise NoClaim(told)
            yield claim

    def _settle(self, key: _Key, uid: str) -> None:
        known = (self._heard.get(key), self._written.get(key))
        mine = (allocation_of(each) for each in known if each is not None and meta.uid(each) == uid)
        self._count(uid, next((each for each in mine if each is not None), self._promised.get(uid)))

    def _count(self, uid: str, allocation: Obj | None) -> None:
        before = self._counted.get(uid)
        if before is allocation:
            return
        if before is not None:
            self.ledger.remove(before)
            del self._counted[uid]
        if allocation is not None:
            self.ledger.add(allocation)
            self._counted[uid] = allocation

    def _forget(self, key: _Key, uid: str) -> None:
        """What is known only from writing, or from deciding, is out of date."""
        self._written.pop(key, None)
        self._promised.pop(uid, None)
        self._settle(key, uid)

    def _link(self, claim: Obj) -> None:
        self._keys[meta.uid(claim)] = _key(claim)
        if meta.annotations(claim).get(EXTENDED) == "true":
            owner = meta.controller_of(claim)
            if owner is not None:
                self._extended[owner["uid"]] = _key(claim)

    def _unlink(self, claim: Obj) -> None:
        self._keys.pop(meta.uid(claim), None)
        owner = meta.controller_of(claim)
        if owner is not None and self._extended.get(owner["uid"]) == _key(claim):
            del self._extended[owner["uid"]]


def _key(claim: Obj) -> _Key:
    return claim["metadata"]["namespace"], claim["metadata"]["name"]


def _is_newer(one: Obj, other: Obj) -> bool:
    """Both may be of the same claim; what is no number cannot be told apart, and what was heard stands."""
    texts = [each["metadata"].get("resourceVersion") or "" for each in (one, other)]
    return all(each.isdecimal() for each in texts) and int(texts[0]) > int(texts[1])


def allocation_of(claim: Obj) -> Obj | None:
    found: Obj | None = (claim.get("status") or {}).get("allocation")
    return found


def users(claim: Obj) -> list[Obj]:
    found: list[Obj] = (claim.get("status") or {}).get("reservedFor") or []
    return found


def is_reserved_for(claim: Obj, pod: PodInfo) -> bool:
    return any(each["uid"] == pod.uid for each in users(claim))
