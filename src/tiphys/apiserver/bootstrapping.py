"""At start: the objects that every cluster has are made, or brought up to date where an older version made them.

Plain objects are written if missing; roles, bindings and flow control are reconciled, keeping what people added. It is done
before the server says that it is ready.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass

from tiphys.api.apiregistration.apiservices import API_SERVICES
from tiphys.apiserver.bootstrap import api_services, cluster, flow_control, rbac_policy, reconcile
from tiphys.apiserver.bootstrap.api_services import AUTOMANAGED
from tiphys.apiserver.bootstrap.reconcile import Change
from tiphys.apiserver.call import Backend
from tiphys.apiserver.catalogue import Served
from tiphys.apiserver.rest import writing
from tiphys.machinery import meta, times
from tiphys.machinery.patch.managed import track_update
from tiphys.machinery.record import Record, encode
from tiphys.machinery.tree import Obj
from tiphys.store.interface import Delete, Mismatch, Op, Put

MANAGER = "kube-apiserver"

BATCH = 100
"""Objects in one transaction; etcd takes 128 operations."""

Decide = Callable[[Obj, Obj | None], Change | None]


@dataclass(frozen=True, slots=True)
class Given:
    """What the objects depend on."""

    service_cidrs: Sequence[str]
    authentication: cluster.ClusterAuthentication


def _create_only(expected: Obj, existing: Obj | None) -> Change | None:
    return Change("create", expected) if existing is None else None


async def ensure(backend: Backend, given: Given) -> None:
    """Another server may be doing the same: whoever is second looks again."""
    while True:
        now = backend.clock.now()
        operations = [op async for op in _operations(backend, given, now)]
        try:
            for start in range(0, len(operations), BATCH):
                await backend.store.write(operations[start : start + BATCH])
        except Mismatch:
            continue
        return


def _expected(backend: Backend, given: Given, now: float) -> Iterable[tuple[Decide, Iterable[Obj]]]:
    moment = times.rfc3339(now)
    cidr = {
        **cluster.service_cidr(given.service_cidrs),
        "status": {"conditions": [cluster.service_cidr_ready(moment)]},
    }
    served_here = (served.kind for served in backend.catalogue if not served.custom)
    # The group that registers groups is not registered itself.
    versions = sorted({(kind.group, kind.version) for kind in served_here if kind.group != "apiregistration.k8s.io"})
    yield _create_only, cluster.namespaces()
    yield _create_only, cluster.priority_classes()
    yield _create_only, [cidr]
    yield _create_only, [cluster.legacy_token_tracking(moment.partition("T")[0])]
    yield _authentication_change, [cluster.authentication_configmap(given.authentication)]
    yield _create_only, api_services.api_services(versions, moment)
    yield reconcile.role_change, [*rbac_policy.cluster_roles(), *rbac_policy.roles()]
    yield reconcile.binding_change, [*rbac_policy.cluster_role_bindings(), *rbac_policy.role_bindings()]
    yield reconcile.flow_control_change, [*flow_control.priority_levels(), *flow_control.flow_schemas(moment)]


def _authentication_change(expected: Obj, existing: Obj | None) -> Change | None:
    if existing is None:
        return Change("create", expected)
    if existing.get("data") == expected.get("data"):
        return None
    return Change("update", {**existing, "data": expected.get("data", {})})


async def _operations(backend: Backend, given: Given, now: float) -> AsyncIterator[Op]:
    for decide, objects in _expected(backend, given, now):
        for expected in objects:
            served = _served(backend, expected)
            if served is None:
                continue
            name = served.name_in_store(expected["metadata"].get("namespace", ""), expected["metadata"]["name"])
            existing = await backend.store.get(served.kind.prefix, name)
            change = decide(expected, existing.tree() if existing is not None else None)
            if change is not None:
                yield _put(backend, served, name, change, existing, now)
    for group, version in backend.catalogue.versions_off():
        # Made when it had still been on.
        name = f"{version}.{group}"
        existing = await backend.store.get(API_SERVICES.prefix, name)
        if existing is not None and AUTOMANAGED in meta.labels(existing.tree()):
            yield Delete(API_SERVICES.prefix, name, existing.revision)


def _served(backend: Backend, obj: Obj) -> Served | None:
    """None for what is turned off."""
    group, _, version = obj["apiVersion"].rpartition("/")
    served = backend.catalogue.by_gvk(group, version, obj["kind"])
    off = backend.catalogue.is_off(group, version, obj["kind"])
    assert served is not None or off, f"a bootstrap object of a kind that is not served: {obj['apiVersion']} {obj['kind']}"
    return served


def _put(backend: Backend, served: Served, name: str, change: Change, existing: Record | None, now: float) -> Op:
    kind, obj = served.kind, {**change.obj, "metadata": dict(change.obj["metadata"])}
    old = existing.tree() if existing is not None and change.action == "update" else None
    kind.default(obj)
    if old is None:
        writing.fill_system_metadata(obj, now, backend.new_uid())
        if kind.strategy.generation_of:
            obj["metadata"]["generation"] = 1
    else:
        writing.keep_identity(obj, old)
    managed = track_update(obj, old, MANAGER, kind.api_version, served.node, now)
    if managed:
        obj["metadata"]["managedFields"] = managed
    return Put(kind.prefix, name, encode(obj), existing.revision if existing is not None else 0)
