"""One turn of a Deployment while it is being worked out: sets as they will be, and what must be written for that."""

from dataclasses import dataclass, field

from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.apps.replicasets import REPLICASETS
from tiphys.controllers import conditions, templates
from tiphys.controllers.deployment import status as reporting
from tiphys.controllers.deployment.revisions import REVISION, annotated, by_revision, newest_revision, size_annotations
from tiphys.controllers.deployment.scaling import new_size, replicas, reported
from tiphys.controllers.deployment.status import FAILED_CREATE, PROGRESSING, condition, deadline, with_condition
from tiphys.controllers.plan import NAMESPACE_TERMINATING, Create, Delete, Failure, Note, Plan, Update, Write
from tiphys.controllers.pods import reference_to
from tiphys.machinery import meta
from tiphys.machinery.tree import Obj, put

_FOREVER = 2**31 - 1
_NAME_LENGTH = 253


@dataclass(slots=True)
class Rollout:
    deployment: Obj
    """As it will be: annotations and conditions may be newer than what is stored."""
    stored: Obj
    new: Obj | None
    old: list[Obj]
    """By name in `changed` where they are to be written."""
    now: float
    failure: Failure | None
    writes: list[Write] = field(default_factory=list)
    changed: dict[str, tuple[Obj, Obj]] = field(default_factory=dict)
    """By name: before and after."""

    @property
    def sets(self) -> list[Obj]:
        return [*self.old, self.new] if self.new is not None else list(self.old)

    # The newest set

    def sync_new(self) -> None:
        """Its annotations follow the Deployment's, and the Deployment's revision follows it."""
        if self.new is None:
            return
        number = newest_revision(self.old) + 1
        annotations = annotated(self.deployment, self.new, number)
        seconds = self.deployment["spec"].get("minReadySeconds", 0)
        spec = self.new["spec"]
        if annotations != meta.annotations(self.new) or spec.get("minReadySeconds", 0) != seconds:
            kept = {key: value for key, value in spec.items() if key != "minReadySeconds"}
            self._replace(
                self.new,
                {
                    **put(self.new, ("metadata", "annotations"), annotations),
                    "spec": {**kept, **({"minReadySeconds": seconds} if seconds else {})},
                },
            )
        self._set_revision(annotations.get(REVISION, ""))
        if deadline(self.deployment) is not None and conditions.find(self.conditions, PROGRESSING) is None:
            self.tell(PROGRESSING, "True", "FoundNewReplicaSet", f'Found new replica set "{meta.name(self.new)}"')

    def create_new(self, taken: Obj | None) -> None:
        """A set for the present template; `taken` is whatever has its name already."""
        deployment = self.deployment
        if taken is not None:
            # Two templates with one hash: count it, and the next name is another one.
            count = ((deployment.get("status") or {}).get("collisionCount") or 0) + 1
            self.deployment = put(deployment, ("status", "collisionCount"), count)
            return
        rs = new_replica_set(deployment, self.old)
        name, size = meta.name(rs), replicas(rs)
        told = Note(deployment, "ScalingReplicaSet", f"Scaled up replica set {name} from 0 to {size}") if size else None
        failed = Note(deployment, FAILED_CREATE, f'Failed to create new replica set "{name}": {{error}}', "Warning")
        self.writes.append(Create(REPLICASETS, rs, done=told, failed=failed, tolerate=NAMESPACE_TERMINATING))
        self.new = rs
        self._set_revision(meta.annotations(rs)[REVISION])
        if deadline(deployment) is None:
            return
        failure = self.failure
        if failure is not None and isinstance(failure.write, Create) and failure.reason != "AlreadyExists":
            message = f'Failed to create new replica set "{name}": {failure.error}'
            self.tell(PROGRESSING, "False", FAILED_CREATE, message)
        else:
            self.tell(PROGRESSING, "True", "NewReplicaSetCreated", f'Created new replica set "{name}"')

    def _set_revision(self, text: str) -> None:
        if meta.annotations(self.deployment).get(REVISION) != text:
            annotations = {**meta.annotations(self.deployment), REVISION: text}
            self.deployment = put(self.deployment, ("metadata", "annotations"), annotations)

    # Sizes

    def scale(self, rs: Obj, size: int, *, annotate: bool = False) -> bool:
        """Whether its size changes; with `annotate`, the annotations about the Deployment's size are brought up to date even
        if it does not."""
        before = replicas(rs)
        if before == size and not annotate:
            return False
        wanted = size_annotations(self.deployment)
        present = meta.annotations(rs)
        if before == size and all(present.get(key) == value for key, value in wanted.items()):
            return False
        resized = put(put(rs, ("spec", "replicas"), size), ("metadata", "annotations"), {**present, **wanted})
        self._replace(rs, resized)
        return before != size

    def _replace(self, rs: Obj, changed: Obj) -> None:
        name = meta.name(rs)
        before, _ = self.changed.get(name, (rs, rs))
        self.changed[name] = (before, changed)
        if self.new is not None and meta.name(self.new) == name:
            self.new = changed
        self.old = [changed if meta.name(each) == name else each for each in self.old]

    def named(self, name: str) -> Obj:
        return next(rs for rs in self.sets if meta.name(rs) == name)

    # History

    def clean_up(self) -> None:
        """Empty old sets beyond the limit of the history go, the oldest revisions first."""
        limit = self.deployment["spec"].get("revisionHistoryLimit")
        if limit is None or limit == _FOREVER:
            return
        alive = [rs for rs in self.old if not meta.is_deleting(rs)]
        for rs in by_revision(alive)[: max(0, len(alive) - limit)]:
            observed = (rs.get("status") or {}).get("observedGeneration", 0)
            if reported(rs, "replicas") == 0 and replicas(rs) == 0 and meta.generation(rs) <= observed:
                self.writes.append(Delete(REPLICASETS, rs))

    # Status

    @property
    def conditions(self) -> list[Obj]:
        return list((self.deployment.get("status") or {}).get("conditions") or ())

    def tell(self, kind: str, status: str, reason: str, message: str) -> None:
        told = with_condition(self.conditions, condition(kind, status, reason, message, self.now))
        self.deployment = put(self.deployment, ("status", "conditions"), told)

    def plan(self, status: Obj | None) -> Plan:
        """`status` None: nothing more than what was told on the way."""
        writes = [*(self._update(before, after) for before, after in self.changed.values()), *self.writes]
        shown = self.deployment if status is None else {**self.deployment, "status": status}
        if shown.get("status") != self.stored.get("status") or meta.annotations(shown) != meta.annotations(self.stored):
            # First what was told about a failure, then the next try.
            at = 0 if self.failure is not None else len(writes)
            writes.insert(at, Update(DEPLOYMENTS, shown, "status"))
        return Plan(tuple(writes), again_in=reporting.next_check(shown, shown.get("status") or {}, self.now))

    def _update(self, before: Obj, after: Obj) -> Update:
        old, size = replicas(before), replicas(after)
        if old == size:
            return Update(REPLICASETS, after)
        direction = "up" if old < size else "down"
        message = f"Scaled {direction} replica set {meta.name(after)} from {old} to {size}"
        return Update(REPLICASETS, after, done=Note(self.deployment, "ScalingReplicaSet", message))


def new_set_name(deployment: Obj) -> tuple[str, str]:
    """Of the set for the present template: the whole name, and the hash in it."""
    digest = templates.name_of(deployment["spec"]["template"], (deployment.get("status") or {}).get("collisionCount"))
    return f"{meta.name(deployment)[: _NAME_LENGTH - 1 - len(digest)]}-{digest}", digest


def new_replica_set(deployment: Obj, old: list[Obj]) -> Obj:
    name, digest = new_set_name(deployment)
    spec = deployment["spec"]
    template = spec["template"]
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), templates.HASH_LABEL: digest}
    selector = dict(spec["selector"])
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), templates.HASH_LABEL: digest}
    rs_spec: Obj = {
        "replicas": new_size(deployment, old, None),
        "selector": selector,
        "template": {**template, "metadata": {**metadata, "labels": labels}},
    }
    if spec.get("minReadySeconds"):
        rs_spec["minReadySeconds"] = spec["minReadySeconds"]
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": meta.namespace(deployment),
            "labels": labels,
            "annotations": annotated(deployment, None, newest_revision(old) + 1),
            "ownerReferences": [reference_to(DEPLOYMENTS, deployment)],
        },
        "spec": rs_spec,
    }
