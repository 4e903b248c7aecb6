"""What caches keep of a tree: everything but managedFields, and equal parts only once."""

from hypothesis import given
from hypothesis import strategies as st

from tiphys.api.apiextensions.customresourcedefinitions import CUSTOM_RESOURCE_DEFINITIONS
from tiphys.api.core.pods import PODS
from tiphys.client.lean import Lean


def pod(name, owner="rs", image="x", **status):
    references = [{"uid": owner, "kind": "ReplicaSet"}]
    container = {"name": "c", "image": image, "resources": {"requests": {"cpu": "1"}}}
    metadata = {"name": name, "labels": {"app": "web"}, "ownerReferences": references, "managedFields": [{"manager": "m"}]}
    return {"metadata": metadata, "spec": {"containers": [container], "tolerations": [{"key": "k"}]}, "status": status}


def without_managed_fields(tree):
    return {**tree, "metadata": {key: value for key, value in tree["metadata"].items() if key != "managedFields"}}


def test_pods_of_one_owner_share_what_is_equal():
    lean = Lean(PODS)
    first, second = lean.of(pod("a", phase="Running")), lean.of(pod("b", image="y", phase="Running"))
    assert second == without_managed_fields(pod("b", image="y", phase="Running"))
    assert second["metadata"]["labels"] is first["metadata"]["labels"]
    assert second["spec"]["tolerations"] is first["spec"]["tolerations"]
    one, other = first["spec"]["containers"][0], second["spec"]["containers"][0]
    assert one["image"] != other["image"]
    assert one["resources"] is other["resources"]
    assert lean.of(pod("c", owner="else"))["metadata"]["labels"] is not first["metadata"]["labels"]


def test_what_it_is_given_stays_as_it_is():
    lean = Lean(PODS)
    given_tree = pod("a")
    lean.of(given_tree)
    lean.of(pod("b"))
    assert given_tree == pod("a")


def test_kinds_of_any_shape_share_nothing():
    """Where 1 and true may stand in the same place, what is equal is not the same."""
    lean = Lean(CUSTOM_RESOURCE_DEFINITIONS)
    first, second = ({"metadata": {"name": "a"}, "spec": {"x": value}} for value in (1, True))
    assert lean.of(first)["spec"]["x"] is not lean.of(second)["spec"]["x"]


trees = st.recursive(
    st.text(max_size=3) | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(trees, max_size=6))
def test_nothing_is_lost(specs):
    lean = Lean(PODS)
    for number, spec in enumerate(specs):
        whole = {"metadata": {"name": str(number)}, "spec": spec}
        assert lean.of(whole) == {"metadata": {"name": str(number)}, "spec": spec}
