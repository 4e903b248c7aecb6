"""All nodes as numpy columns, kept up to date event by event. A plugin judges every node with a handful of array operations.

A node has a row for as long as it exists or pods are said to run on it. Rows of nodes that went away are taken again, so
`present` tells which rows count. Nothing here is rebuilt for a pod: what a pod needs counted is counted from then on.
"""

from tiphys.scheduler.node_table.arrays import Mask, Numbers
from tiphys.scheduler.node_table.counts import CountKey
from tiphys.scheduler.node_table.pods import Question, Rows, Slots
from tiphys.scheduler.node_table.table import NodeTable
from tiphys.scheduler.node_table.view import Nodes
from tiphys.scheduler.node_table.worlds import EACH, Amount, Unexpected, Worlds

__all__ = [
    "EACH",
    "Amount",
    "CountKey",
    "Mask",
    "NodeTable",
    "Nodes",
    "Numbers",
    "Question",
    "Rows",
    "Slots",
    "Unexpected",
    "Worlds",
]
