"""Indexes say what a search through everything would say, whatever has happened before."""

from hypothesis import given
from hypothesis import strategies as st

from tiphys.api.core.pods import PODS
from tiphys.client.cache import INDEXES, Cache

names = st.sampled_from(["a", "b", "c"])
owner = st.builds(lambda uid, controls: {"uid": uid, "controller": controls}, names, st.booleans())
pods = st.builds(
    lambda name, space, owners, node: {
        "metadata": {"name": name, "namespace": space, "uid": name, "ownerReferences": owners},
        "spec": {"nodeName": node} if node else {},
    },
    names,
    names,
    st.lists(owner, max_size=2, unique_by=lambda each: each["uid"]),
    st.none() | names,
)


@given(st.lists(st.tuples(st.booleans(), pods)), st.sampled_from(sorted(INDEXES)), st.integers(0, 20))
def test_indexes_follow_what_is_put_and_removed(changes, index, built_at):
    cache = Cache(PODS)
    for position, (put, pod) in enumerate(changes):
        if position == built_at:
            cache.by(index, "a")
        if put:
            cache.put(pod)
        else:
            cache.remove(f"{pod['metadata']['namespace']}/{pod['metadata']['name']}")
    for value in "abc":
        found = cache.by(index, value)
        searched = [pod for pod in cache if value in INDEXES[index](pod)]
        assert sorted(map(id, found)) == sorted(map(id, searched))
