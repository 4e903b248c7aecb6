"""Authority: v1.36.4 pkg/kubeapiserver/default_storage_factory_builder.go:46 and the keys that upstream's API server writes."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiphys.machinery.record import stamp, unstamp
from tiphys.store.etcd.keys import Keys, understand


@pytest.mark.parametrize(
    ("key", "place"),
    [
        (b"/registry/pods/default/web", ("pods", "default/web")),
        (b"/registry/minions/node-1", ("minions", "node-1")),
        (b"/registry/services/endpoints/default/web", ("services/endpoints", "default/web")),
        (
            b"/registry/apiextensions.k8s.io/customresourcedefinitions/w.x.y",
            ("apiextensions.k8s.io/customresourcedefinitions", "w.x.y"),
        ),
        (b"/registry/ranges/serviceips", ("ranges", "serviceips")),
        (b"/registry/services/specs", None),
        (b"/registry/services", None),
        (b"/registry/pods/", None),
        (b"/registry/", None),
        (b"/registry2/pods/default/web", None),
        (b"compact_rev_key", None),
        (b"/registry/pods/\xff", None),
    ],
)
def test_keys(key, place):
    assert Keys().place(key) == place
    if place is not None:
        assert Keys().of(*place) == key


# v1.36 staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go: the prefix is a path, with or without slashes around it.
@pytest.mark.parametrize("prefix", ["/mine", "mine", "/mine/", "/deeper/still"])
def test_another_prefix(prefix):
    keys = Keys(prefix)
    whole = f"/{prefix.strip('/')}".encode()
    assert keys.of("pods", "default/web") == whole + b"/pods/default/web"
    assert keys.place(whole + b"/pods/default/web") == ("pods", "default/web")
    assert keys.place(b"/registry/pods/default/web") is None
    assert keys.begin < keys.of("zzz", "z") < keys.end


@pytest.mark.parametrize("bucket", ["", "some/thing", "services", "example.com", "a/b/c"])
def test_ambiguous_buckets(bucket):
    with pytest.raises(ValueError, match="cannot be a bucket"):
        Keys().of(bucket, "name")


@given(st.binary())
def test_no_bytes_are_too_strange(value):
    Keys().place(b"/registry/" + value)
    understood = understand(value)
    assert understood is None or unstamp(stamp(understood, 7)) == understood


@pytest.mark.differs(
    "fills defaults in whenever it reads an object from etcd, too, so that what another program has stored without them (a "
    "claim without a phase, a Job without the labels of its pods) is shown with them.",
    "what is stored is shown as it is: reading decodes nothing. What is written through this API server has its defaults.",
)
def test_what_was_stored_is_shown_as_it_is():
    value = b'{"kind":"PersistentVolumeClaim","apiVersion":"v1","metadata":{"name":"x"},"spec":{},"status":{}}'
    assert understand(value) == value


@pytest.mark.parametrize("order", [("kind", "apiVersion"), ("apiVersion", "kind")])
def test_an_older_version_is_shown_as_the_one_that_is_served(order):
    """Records are cut after the version in lists: one that is not that of its kind would garble them."""
    group = "admissionregistration.k8s.io"
    told = {"kind": "MutatingAdmissionPolicy", "apiVersion": f"{group}/v1beta1"}
    value = orjson.dumps({**{name: told[name] for name in order}, "metadata": {"name": "x"}})
    assert orjson.loads(understand(value) or b"")["apiVersion"] == f"{group}/v1"
