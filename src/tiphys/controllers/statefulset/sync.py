"""One turn of a StatefulSet while it is being worked out.

    pods that should be there, by number     broken ones go, missing ones come, strange ones are put right
    pods beyond them, the highest first      go
    pods of an old revision, highest first   go, and come back new

With OrderedReady each step waits until every pod of the step before is available, and one pod at a time comes or goes. With
Parallel nothing waits but the update.
"""

from dataclasses import dataclass, field

from tiphys.api.apps.statefulsets import STATEFULSETS
from tiphys.api.core.persistentvolumeclaims import PERSISTENT_VOLUME_CLAIMS
from tiphys.api.core.pods import PODS, facts
from tiphys.controllers import history
from tiphys.controllers.numbers import scaled
from tiphys.controllers.plan import (
    ALREADY_EXISTS,
    NAMESPACE_TERMINATING,
    Create,
    Delete,
    Emit,
    Note,
    Plan,
    Update,
    Write,
    set_status,
)
from tiphys.controllers.pods import next_available
from tiphys.controllers.statefulset import identity, retention
from tiphys.controllers.statefulset.identity import revision_of
from tiphys.controllers.statefulset.status import is_available, is_news, is_running_and_ready, report
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, get


@dataclass(slots=True)
class Slot:
    """A number, and the pod that has it or is to get it."""

    number: int
    pod: Obj
    is_new: bool = False
    leaves: bool = False


@dataclass(slots=True)
class Sync:
    owner: Obj
    pods: tuple[Obj, ...]
    claims: dict[str, Obj]
    current: Obj
    update: Obj
    """Revisions: the one before the update under way, and the one that it leads to."""
    now: float
    notes: list[Write] = field(default_factory=list)
    new_claims: list[Write] = field(default_factory=list)
    new_pods: list[Write] = field(default_factory=list)
    changes: list[Write] = field(default_factory=list)
    deletions: list[Write] = field(default_factory=list)
    outgoing: set[str] = field(default_factory=set)
    trouble: str = ""

    def plan(self) -> Plan:
        if not meta.is_deleting(self.owner):
            self._work()
        status = report(
            self.owner, self.pods, meta.name(self.current), meta.name(self.update), frozenset(self.outgoing), self.now
        )
        told = [set_status(STATEFULSETS, self.owner, status)] if is_news(self.owner, status) else []
        # Claims before the pods that wait for them, owners of claims before the pods that they follow.
        writes = [*told, *self.notes, *self.new_claims, *self.new_pods, *self.changes, *self.deletions]
        again_in = next_available(self.pods, self.owner["spec"].get("minReadySeconds", 0), self.now)
        return Plan(tuple(writes), again_in=again_in, retry=self.trouble)

    def _work(self) -> None:
        slots = self._slots()
        surplus = [Slot(number, pod) for number, pod in self._numbered() if number not in identity.ordinals(self.owner)]
        surplus.sort(key=lambda slot: -slot.number)
        if self._tend(slots):
            return
        for slot in surplus:
            self._own_claims(slot, stays=False)
        if self._shrink(slots, surplus):
            return
        if get(self.owner, ("spec", "updateStrategy", "type")) != "OnDelete":
            self._roll(slots)

    def _numbered(self) -> list[tuple[int, Obj]]:
        found = ((identity.ordinal(self.owner, pod), pod) for pod in self.pods)
        return [(number, pod) for number, pod in found if number is not None]

    def _slots(self) -> list[Slot]:
        present = dict(self._numbered())
        return [
            Slot(number, present[number], leaves=facts.is_deleting(present[number]))
            if number in present
            else Slot(number, self._new_pod(number), is_new=True)
            for number in identity.ordinals(self.owner)
        ]

    def _new_pod(self, number: int) -> Obj:
        """Below the partition a pod comes back as it was."""
        strategy = self.owner["spec"].get("updateStrategy") or {}
        rolling = strategy.get("rollingUpdate")
        kept = 0
        if rolling is not None:
            kept = rolling.get("partition") or 0
        elif strategy.get("type") == "RollingUpdate":
            kept = get(self.owner, ("status", "currentReplicas"), 0)
        revision = self.current if number < identity.start(self.owner) + kept else self.update
        return identity.new_pod(self.owner, history.template_of(revision), meta.name(revision), number)

    # The pods that should be there

    @property
    def _in_order(self) -> bool:
        return bool(self.owner["spec"].get("podManagementPolicy") != "Parallel")

    def _tend(self, slots: list[Slot]) -> bool:
        """Whether the rest has to wait."""
        for slot in slots:
            if self._tend_one(slot) and self._in_order:
                return True
        return bool(self.trouble)

    def _tend_one(self, slot: Slot) -> bool:
        if slot.is_new:
            self._create(slot)
            return True
        if facts.is_finished(slot.pod):
            # However it ended: it runs again once this one is gone.
            if not slot.leaves:
                self._delete(slot)
            return True
        if facts.phase(slot.pod) == "Pending" and self._make_claims(slot):
            self._own_claims(slot, stays=True)
        if self.trouble and self._in_order:
            return True
        ready = is_running_and_ready(slot.pod) and is_available(self.owner, slot.pod, self.now)
        if self._in_order and (slot.leaves or not ready):
            return True
        self._put_right(slot)
        return False

    def _create(self, slot: Slot) -> None:
        present = [self.claims[name] for name in identity.claim_names(self.owner, slot.number) if name in self.claims]
        if any(retention.blocks(claim, self.owner, slot.pod) for claim in present):
            return
        if not self._make_claims(slot):
            self.notes.append(Emit(self._told("create", slot.pod, self.trouble)))
            return
        self.new_pods.append(
            Create(
                PODS,
                slot.pod,
                done=self._told("create", slot.pod),
                failed=self._told("create", slot.pod, "{error}"),
                tolerate=NAMESPACE_TERMINATING,
            )
        )
        self._own_claims(slot, stays=True)

    def _make_claims(self, slot: Slot) -> bool:
        """Whether all of them are there, or will be."""
        well = True
        pod, name = meta.name(slot.pod), meta.name(self.owner)
        for claim in identity.claims(self.owner, slot.number):
            present = self.claims.get(meta.name(claim))
            if present is None:
                told = f"Create Claim {meta.name(claim)} Pod {pod} in StatefulSet {name} success"
                failed = f"Create Claim {meta.name(claim)} for Pod {pod} in StatefulSet {name} failed error: {{error}}"
                self.new_claims.append(
                    Create(
                        PERSISTENT_VOLUME_CLAIMS,
                        claim,
                        done=Note(self.owner, "SuccessfulCreate", told),
                        failed=Note(self.owner, "FailedCreate", failed, "Warning"),
                        tolerate=ALREADY_EXISTS | NAMESPACE_TERMINATING,
                    )
                )
            elif meta.is_deleting(present):
                self.trouble = f"pvc {meta.name(claim)} is being deleted"
                well = False
        return well

    def _own_claims(self, slot: Slot, *, stays: bool) -> bool:
        """The owners of its claims are made to be as the policy wants them; whether they were not."""
        changed = False
        for name in identity.claim_names(self.owner, slot.number):
            claim = self.claims.get(name)
            owners = retention.owners(claim, self.owner, slot.pod, stays=stays) if claim is not None else None
            if claim is None or owners is None:
                continue
            if retention.has_other_controller(claim, self.owner, slot.pod):
                told = (
                    f"PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging controller, "
                    "the retention policy is ignored for this claim"
                )
                self.notes.append(Emit(Note(self.owner, "ConflictingController", told, "Warning")))
            metadata = {**claim["metadata"], "ownerReferences": owners}
            if not owners:
                del metadata["ownerReferences"]
            update = Update(PERSISTENT_VOLUME_CLAIMS, {**claim, "metadata": metadata})
            if update not in self.changes:
                self.changes.append(update)
            changed = True
        return changed

    def _put_right(self, slot: Slot) -> None:
        pod = slot.pod
        if not identity.has_identity(pod):
            pod = identity.with_identity(pod, slot.number)
        if not identity.has_storage(self.owner, pod, slot.number):
            pod = identity.with_storage(self.owner, pod, slot.number)
            self._make_claims(slot)
        self._own_claims(slot, stays=True)
        if pod is not slot.pod:
            done, failed = self._told("update", pod), self._told("update", pod, "{error}")
            self.changes.append(Update(PODS, pod, done=done, failed=failed))

    # Those that go

    def _shrink(self, slots: list[Slot], surplus: list[Slot]) -> bool:
        """Whether the rest has to wait."""
        lowest_first = [*slots, *reversed(surplus)]
        first_bad = next((slot for slot in lowest_first if self._is_unavailable(slot)), None)
        for slot in surplus:
            leaving = facts.is_deleting(slot.pod)
            if not self._in_order:
                if not leaving:
                    self._delete(slot)
                continue
            healthy = is_running_and_ready(slot.pod) and is_available(self.owner, slot.pod, self.now)
            # A sick pod does not keep itself from going, but whatever is above it.
            if not leaving and (healthy or slot is first_bad):
                self._delete(slot)
            return True
        return False

    def _is_unavailable(self, slot: Slot) -> bool:
        return slot.is_new or facts.is_deleting(slot.pod) or not is_available(self.owner, slot.pod, self.now)

    def _roll(self, slots: list[Slot]) -> None:
        rolling = get(self.owner, ("spec", "updateStrategy", "rollingUpdate")) or {}
        candidates = reversed(slots[rolling.get("partition") or 0 :])
        if rolling.get("maxUnavailable") is None:
            for slot in candidates:
                if self._is_outdated(slot):
                    self._replace(slot)
                    return
                if self._is_unavailable(slot):
                    return
            return
        room = max(1, scaled(rolling["maxUnavailable"], len(slots), up=False))
        room -= sum(1 for slot in slots if self._is_unavailable(slot))
        for slot in candidates:
            if room > 0 and self._is_outdated(slot):
                self._replace(slot)
                room -= 1

    def _is_outdated(self, slot: Slot) -> bool:
        return revision_of(slot.pod) != meta.name(self.update) and not slot.is_new and not slot.leaves

    def _replace(self, slot: Slot) -> None:
        self.outgoing.add(meta.uid(slot.pod))
        self._delete(slot)

    def _delete(self, slot: Slot) -> None:
        slot.leaves = True
        done, failed = self._told("delete", slot.pod), self._told("delete", slot.pod, "{error}")
        self.deletions.append(Delete(PODS, slot.pod, done=done, failed=failed))

    def _told(self, verb: str, pod: Obj, error: str = "") -> Note:
        title = verb.capitalize()
        about = f"{title} Pod {meta.name(pod)} in StatefulSet {meta.name(self.owner)}"
        if error:
            return Note(self.owner, f"Failed{title}", f"{about} failed error: {error}", "Warning")
        return Note(self.owner, f"Successful{title}", f"{about} successful")
