"""Two pods of one node cannot have the same port of the host."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tiphys.scheduler.events import Change, Event
from tiphys.scheduler.framework import Base, Lack, Refused, refused
from tiphys.scheduler.node_table import Nodes, NodeTable, Numbers
from tiphys.scheduler.pod_info import HostPort, PodInfo


@dataclass(frozen=True, slots=True)
class _Clashes:
    """How many of its ports are this one."""

    port: HostPort

    def counts(self, pod: PodInfo) -> int:
        return sum(_same(self.port, theirs) for theirs in pod.host_ports)


class NodePorts(Base):
    name = "NodePorts"
    imagines = True
    unblocked_by = Event.NODE_ADDED | Event.POD_DELETED

    def sums(self, pod: PodInfo, table: NodeTable, coming: Sequence[PodInfo]) -> frozenset[str] | None:  # noqa: ARG002
        return frozenset() if not pod.host_ports else None

    def filter(self, pod: PodInfo, nodes: Nodes) -> Refused | None:
        if not pod.host_ports:
            return None
        taken = nodes.nothing()
        for wanted in pod.host_ports:
            users = nodes.once((self.name, wanted), partial(_users, wanted, nodes.table))
            taken |= users[nodes.rows] > nodes.fewer(_Clashes(wanted))
        return refused(taken, "node(s) didn't have free ports for the requested pod ports")

    def lacks(self, pod: PodInfo, nodes: Nodes) -> list[Lack]:
        row, found = nodes.row(), []
        for other in nodes.table.pods[row].values():
            for taken in other.host_ports:
                if any(_same(mine, taken) for mine in pod.host_ports):
                    port = f"{taken.port}/{taken.protocol}"
                    told = f"has port {port} taken by pod {other.key}"
                    found.append(Lack(told, f"another port than {port}, or delete pod {other.key}", 0.5))
        return found

    def helped_by(self, pod: PodInfo, change: Change) -> bool:
        if change.event is not Event.POD_DELETED:
            return True
        if not change.was_on_a_node or change.old_pod is None:
            return False
        return any(_same(mine, theirs) for mine in pod.host_ports for theirs in change.old_pod.host_ports)


def _users(port: HostPort, table: NodeTable) -> Numbers:
    """Of the whole table: how many clash with it."""
    found: Numbers = np.zeros(table.capacity, np.int64)
    for address, users in table.ports.get((port.protocol, port.port), {}).items():
        if port.clashes(address):
            found[np.fromiter(users, np.intp, len(users))] += np.fromiter(users.values(), np.int64, len(users))
    return found


def _same(mine: HostPort, theirs: HostPort) -> bool:
    return (mine.protocol, mine.port) == (theirs.protocol, theirs.port) and mine.clashes(theirs.address)
