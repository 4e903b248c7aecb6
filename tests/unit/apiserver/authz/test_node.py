"""What a node may do: what its own pods need."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.api.core.pods.references import references_of
from tiphys.apiserver.authn.user import User
from tiphys.apiserver.authz.attributes import Attributes, Verdict
from tiphys.apiserver.authz.node import NodeAuthorizer
from tiphys.apiserver.authz.node_graph import NodeGraph
from tiphys.apiserver.bootstrap import rbac_policy

N1, N2 = (User(f"system:node:{name}", ("system:nodes",)) for name in ("n1", "n2"))
RULES = next(role["rules"] for role in rbac_policy.cluster_roles() if role["metadata"]["name"] == "system:node")


def pod(name="web", node="n1", *, uid="1", annotations=None, status=None, **spec):
    metadata = {"name": name, "namespace": "ns", "uid": uid, "annotations": annotations or {}}
    return {"metadata": metadata, "spec": {"nodeName": node, **spec}, "status": status or {}}


VOLUMES = [
    {"name": "a", "secret": {"secretName": "mounted"}},
    {"name": "b", "configMap": {"name": "settings"}},
    {"name": "c", "projected": {"sources": [{"secret": {"name": "projected"}}, {"configMap": {"name": "roots"}}]}},
    {"name": "d", "persistentVolumeClaim": {"claimName": "claim"}},
    {"name": "e", "ephemeral": {}},
    {"name": "f", "csi": {"nodePublishSecretRef": {"name": "published"}}},
    {"name": "g", "rbd": {"secretRef": {"name": "rbd"}}},
]
CONTAINERS = [
    {"envFrom": [{"secretRef": {"name": "from"}}, {"configMapRef": {"name": "map-from"}}]},
    {
        "env": [
            {"name": "A", "value": "1"},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "key"}}},
            {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "map-key"}}},
        ]
    },
]
FULL = pod(
    serviceAccountName="builder",
    imagePullSecrets=[{"name": "pull"}],
    volumes=VOLUMES,
    containers=CONTAINERS,
    initContainers=[{"envFrom": [{"secretRef": {"name": "init"}}]}],
    ephemeralContainers=[{"envFrom": [{"secretRef": {"name": "debug"}}]}],
    resourceClaims=[{"name": "x", "resourceClaimName": "gpu"}, {"name": "y", "resourceClaimTemplateName": "t"}],
    status={"resourceClaimStatuses": [{"name": "y", "resourceClaimName": "web-y"}]},
)


# v1.36.4 pkg/api/v1/pod/util.go:150 (VisitPodSecretNames), plugin/pkg/auth/authorizer/node/graph.go:360
def test_what_a_pod_refers_to():
    found = {}
    for plural, namespace, name in references_of(FULL):
        assert namespace == "ns"
        found.setdefault(plural, set()).add(name)
    secrets = {"mounted", "projected", "published", "rbd", "from", "key", "pull", "init", "debug"}
    assert found == {
        "serviceaccounts": {"builder"},
        "secrets": secrets,
        "configmaps": {"settings", "roots", "map-from", "map-key"},
        "persistentvolumeclaims": {"claim", "web-e"},
        "resourceclaims": {"gpu", "web-y"},
    }


def test_a_mirror_pod_opens_nothing():
    mirror = {**FULL, "metadata": {**FULL["metadata"], "annotations": {"kubernetes.io/config.mirror": "x"}}}
    assert list(references_of(mirror)) == []


def volume(name="pv", claim="claim", **source):
    return {"metadata": {"name": name}, "spec": {"claimRef": {"namespace": "ns", "name": claim}, **source}}


def graph():
    made = NodeGraph()
    made.set("pods", FULL)
    csi = {"nodeStageSecretRef": {"namespace": "vault", "name": "stage"}, "controllerPublishSecretRef": {"name": "ctl"}}
    made.set("persistentvolumes", volume(csi=csi))
    made.set("volumeattachments", {"metadata": {"name": "att"}, "spec": {"nodeName": "n1"}})
    made.set("resourceslices", {"metadata": {"name": "slice"}, "spec": {"nodeName": "n1"}})
    return made


AUTHORIZER = NodeAuthorizer(graph(), RULES)


def ask(verb, resource, name="", namespace="", group="", subresource="", selector="", user=N1):
    return Attributes(user, verb, group, "v1", resource, subresource, namespace, name, field_selector=selector)


OWN = [
    ask("get", "secrets", "mounted", "ns"),
    ask("watch", "secrets", "mounted", "ns"),
    ask("get", "secrets", "stage", "vault"),
    ask("get", "configmaps", "settings", "ns"),
    ask("get", "persistentvolumeclaims", "claim", "ns"),
    ask("update", "persistentvolumeclaims", "claim", "ns", subresource="status"),
    ask("get", "persistentvolumes", "pv"),
    ask("get", "volumeattachments", "att", group="storage.k8s.io"),
    ask("get", "resourceclaims", "gpu", "ns", group="resource.k8s.io"),
    ask("get", "resourceslices", "slice", group="resource.k8s.io"),
    ask("create", "serviceaccounts", "builder", "ns", subresource="token"),
    ask("get", "serviceaccounts", "builder", "ns"),
    ask("get", "pods", "web", "ns"),
    ask("get", "nodes", "n1"),
    ask("update", "leases", "n1", "kube-node-lease", "coordination.k8s.io"),
    ask("patch", "csinodes", "n1", group="storage.k8s.io"),
    ask("watch", "pods", selector="spec.nodeName=n1"),
    ask("list", "resourceslices", group="resource.k8s.io", selector="spec.nodeName=n1"),
]


# v1.36.4 plugin/pkg/auth/authorizer/node/node_authorizer.go:111
@pytest.mark.parametrize("asked", OWN, ids=lambda asked: f"{asked.verb} {asked.full_resource}")
def test_a_node_may_do_what_its_pods_need_and_others_may_not(asked):
    assert AUTHORIZER.authorize(asked).allowed
    asked_by_other = Attributes(
        N2,
        asked.verb,
        asked.group,
        "v1",
        asked.resource,
        asked.subresource,
        asked.namespace,
        asked.name,
        field_selector=asked.field_selector,
    )
    assert AUTHORIZER.authorize(asked_by_other).verdict is Verdict.NO_OPINION


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (ask("update", "secrets", "mounted", "ns"), "can only read resources of this type"),
        (ask("list", "secrets", "", "ns"), "No Object name found"),
        (ask("list", "secrets"), "can only read namespaced object of this type"),
        (ask("get", "secrets", "other", "ns"), "no relationship found between node 'n1' and this object"),
        (ask("get", "secrets", "ctl", "ns"), "no relationship found between node 'n1' and this object"),
        (ask("list", "persistentvolumes"), "can only get individual resources of this type"),
        (ask("create", "serviceaccounts", "", "ns"), "can only create tokens for individual service accounts"),
        (ask("create", "serviceaccounts", "builder", "ns"), "can only create token subresource of serviceaccount"),
        (ask("list", "pods"), "can only list/watch pods with spec.nodeName field selector"),
        (ask("list", "nodes"), "node 'n1' cannot read all nodes, only its own Node object"),
        (ask("get", "nodes", "n2"), "node 'n1' cannot read 'n2', only its own Node object"),
        (ask("delete", "nodes", "n1"), ""),
        (
            ask("get", "leases", "n1", "default", "coordination.k8s.io"),
            'can only access leases in the "kube-node-lease" system namespace',
        ),
        (
            ask("get", "leases", "n2", "kube-node-lease", "coordination.k8s.io"),
            "can only access node lease with the same name as the requesting node",
        ),
        (ask("list", "csinodes", group="storage.k8s.io"), "can only get, create, update, patch, or delete a CSINode"),
        (
            ask("list", "resourceslices", group="resource.k8s.io"),
            "can only list/watch/deletecollection resourceslices with nodeName field selector",
        ),
        (ask("get", "deployments", "web", "ns", "apps"), ""),
        (ask("get", "pods", "web", "ns", user=User("system:node:", ("system:nodes",))), 'unknown node for user "system:node:"'),
        (ask("get", "pods", "web", "ns", user=User("system:node:n1")), ""),
        (ask("get", "pods", "web", "ns", user=User("n1", ("system:nodes",))), ""),
    ],
)
def test_what_a_node_may_not_do(asked, reason):
    decision = AUTHORIZER.authorize(asked)
    assert (decision.verdict, decision.reason) == (Verdict.NO_OPINION, reason)


@pytest.mark.parametrize(
    "asked",
    [
        ask("create", "pods", "", "ns"),
        ask("delete", "pods", "web", "ns"),
        ask("patch", "pods", "web", "ns", subresource="status"),
        ask("create", "pods", "web", "ns", subresource="eviction"),
        ask("create", "nodes"),
        ask("patch", "nodes", "n1", subresource="status"),
        ask("create", "events", "", "ns"),
        ask("list", "services"),
        ask("create", "certificatesigningrequests", group="certificates.k8s.io"),
    ],
)
def test_what_every_node_may_do(asked):
    assert AUTHORIZER.authorize(asked).allowed


def test_rules_of_a_node_are_not_told():
    assert AUTHORIZER.rules_for(N1, "ns").incomplete
    assert not AUTHORIZER.rules_for(User("x"), "ns").incomplete


def needs(made, node="n1", name="mounted"):
    return made.needs(node, "secrets", "ns", name)


def test_what_a_pod_needed_is_closed_when_it_goes():
    made = graph()
    made.set("pods", {**FULL, "metadata": {**FULL["metadata"], "name": "twin", "uid": "2"}})
    made.remove("pods", "ns/web")
    assert needs(made)
    made.remove("pods", "ns/twin")
    assert not needs(made)
    assert not made.needs("n1", "persistentvolumes", "", "pv")
    assert not made.needs("n1", "secrets", "vault", "stage")


def test_a_new_ephemeral_container_opens_what_it_needs():
    made = graph()
    more = {**FULL, "spec": {**FULL["spec"], "ephemeralContainers": [{}, {"envFrom": [{"secretRef": {"name": "later"}}]}]}}
    made.set("pods", more)
    assert needs(made, name="later")
    assert not needs(made, name="debug")


def test_a_volume_that_is_claimed_anew_or_goes():
    made = graph()
    made.set("persistentvolumes", volume(claim="other", rbd={"secretRef": {"name": "late"}}))
    assert not made.needs("n1", "persistentvolumes", "", "pv")
    made.set("persistentvolumes", volume(rbd={"secretRef": {"name": "late"}}))
    assert needs(made, name="late")
    made.remove("persistentvolumes", "pv")
    assert not needs(made, name="late")
    made.remove("volumeattachments", "att")
    assert not made.needs("n1", "volumeattachments", "", "att")


NAMES = st.sampled_from(["a", "b", "c"])
CHANGES = st.lists(st.tuples(NAMES, st.sampled_from(["n1", "n2", "", None]), NAMES), max_size=15)


@given(CHANGES)
def test_a_graph_kept_up_to_date_answers_as_a_new_one(changes):
    kept, present = NodeGraph(), {}
    for position, (name, node, secret) in enumerate(changes):
        if node is None:
            kept.remove("pods", f"ns/{name}")
            present.pop(name, None)
        else:
            present[name] = pod(name, node, uid=str(position), imagePullSecrets=[{"name": secret}])
            kept.set("pods", present[name])
        new = NodeGraph()
        for each in present.values():
            new.set("pods", each)
        for node_name in ("n1", "n2"):
            for secret_name in ("a", "b", "c"):
                assert needs(kept, node_name, secret_name) == needs(new, node_name, secret_name)
