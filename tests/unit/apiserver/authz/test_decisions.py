"""Who may do what, as a live v1.36.4 kube-apiserver with --authorization-mode=Node,RBAC has answered the same questions.

`decisions.jsonl`: first the objects that were there besides the default policy, the groups of the users, and the reasons given;
then one question and its answer a line, the reason by its number.
"""

from asyncio import run
from pathlib import Path

import orjson
import pytest

from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.always import PrivilegedGroups
from tiphys.apiserver.authz.attributes import Attributes
from tiphys.apiserver.authz.chain import Chain
from tiphys.apiserver.authz.node import NodeAuthorizer
from tiphys.apiserver.authz.node_graph import NodeGraph
from tiphys.apiserver.authz.rbac import RbacAuthorizer
from tiphys.apiserver.bootstrap import rbac_policy

GIVEN, *CASES = [orjson.loads(line) for line in Path(__file__).with_name("decisions.jsonl").read_bytes().splitlines()]
NAMED = "RBAC: allowed by ClusterRoleBinding"


@pytest.fixture(scope="module")
def chain():
    roles = RbacAuthorizer()
    default = [
        *rbac_policy.cluster_roles(),
        *rbac_policy.roles(),
        *rbac_policy.cluster_role_bindings(),
        *rbac_policy.role_bindings(),
    ]
    for each in [*default, *GIVEN["objects"]]:
        roles.set(each["kind"], each)
    graph = NodeGraph()
    for pod in GIVEN["pods"]:
        graph.set("pods", pod)
    return Chain([PrivilegedGroups(), NodeAuthorizer(graph, rbac_policy.node_rules()), roles])


def wrong_answers(chain, user):
    asking = User(user, tuple(GIVEN["users"][user]))
    for name, verb, group, resource, subresource, namespace, called, path, verdict, reason in CASES:
        if name != user:
            continue
        asked = Attributes(asking, verb, group, "", resource, subresource, namespace, called, path)
        ours, theirs = run(chain.authorize(asked)), (verdict, GIVEN["reasons"][reason])
        # Where several bindings of the cluster allow it, upstream names the one that its cache happens to list first.
        same_reason = ours.reason == theirs[1] or (NAMED in ours.reason and NAMED in theirs[1])
        if ours.verdict.value != verdict or not same_reason:
            yield asked, ours, theirs


def test_there_is_something_to_compare():
    allowed = sum(case[-2] == "allow" for case in CASES)
    assert len(CASES) > 1000
    assert 300 < allowed < len(CASES) - 300


@pytest.mark.parametrize("user", sorted(GIVEN["users"]))
def test_as_upstream_decides(chain, user):
    assert list(wrong_answers(chain, user)) == []
