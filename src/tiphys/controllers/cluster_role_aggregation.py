"""Cluster role aggregation: roles such as `admin` are the sum of those that their selectors choose."""

from collections.abc import Iterable
from dataclasses import dataclass

from tiphys.api.rbac.clusterroles import CLUSTER_ROLES
from tiphys.controllers.controller import Base, Caches, Watch
from tiphys.controllers.plan import NOT_FOUND, NOTHING, Patch, Plan
from tiphys.machinery import meta, selectors
from tiphys.machinery.tree import Obj

MANAGER = "clusterrole-aggregation-controller"


@dataclass(frozen=True, slots=True)
class World:
    role: Obj
    roles: tuple[Obj, ...]
    """All of them, by name."""


def _is_sum(role: Obj) -> Iterable[str]:
    return ("",) if role.get("aggregationRule") is not None else ()


def _keys(_old: Obj | None, _new: Obj | None, caches: Caches) -> Iterable[str]:
    """Any role may be a part of any sum."""
    return [meta.name(role) for role in caches[CLUSTER_ROLES].by("sum", "")]


class ClusterRoleAggregation(Base):
    name = "clusterrole-aggregation-controller"
    component = MANAGER
    watches = (Watch(CLUSTER_ROLES, _keys, {"sum": _is_sum}),)

    def observe(self, key: str, caches: Caches, now: float) -> World | None:  # noqa: ARG002 - time plays no part
        role = caches[CLUSTER_ROLES].get(key)
        if role is None or role.get("aggregationRule") is None:
            return None
        return World(role, tuple(sorted(caches[CLUSTER_ROLES], key=meta.name)))

    @staticmethod
    def reconcile(world: World) -> Plan:
        role = world.role
        rules: list[Obj] = []
        for tree in role["aggregationRule"].get("clusterRoleSelectors") or ():
            try:
                selector = selectors.from_tree(tree)
            except ValueError as problem:
                return Plan(retry=str(problem))
            for each in world.roles:
                if meta.name(each) != meta.name(role) and selector.matches(meta.labels(each)):
                    rules += [rule for rule in each.get("rules") or () if rule not in rules]
        if rules == (role.get("rules") or []):
            return NOTHING
        applied = {
            "apiVersion": CLUSTER_ROLES.api_version,
            "kind": "ClusterRole",
            "metadata": {"name": meta.name(role)},
            "rules": rules,
        }
        return Plan((Patch(CLUSTER_ROLES, role, applied, "apply", manager=MANAGER, tolerate=NOT_FOUND),))
