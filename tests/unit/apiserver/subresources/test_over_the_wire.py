"""Scale, binding, eviction, token and reviews, as clients see them.

Recorded from kube-apiserver v1.36.4; the code is pkg/registry/core/pod/storage/{storage,eviction}.go,
pkg/registry/apps/deployment/storage/storage.go and pkg/registry/{authentication,authorization}.
"""

from tests.cluster import NOBODY_TOKEN
from tests.wire import Wire, converse, deployment, pod

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
SCALE = DEPLOYMENTS + "/d/scale"
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
REVIEWS = "/apis/authorization.k8s.io/v1/"


def scale(name="d", **spec):
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def binding(pod_name, /, **target):
    return {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": pod_name}, "target": target}


def eviction(name, **more):
    return {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": name, "namespace": "default"}, **more}


def test_a_scale_is_read_like_any_object():
    async def scenario(wire: Wire) -> None:
        await wire("POST", DEPLOYMENTS, deployment("d"))
        for body, status, told in (
            (
                scale(replicas="x"),
                400,
                'Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal string into Go',
            ),
            ({**scale(replicas=4), "kind": "Foo"}, 400, 'Foo in version "v1" cannot be handled as a Scale: no kind "Foo" is'),
            (
                {"spec": {"replicas": 4}},
                400,
                "the name of the object (d based on URL) was undeterminable: name must be provided",
            ),
            (scale("x", replicas=4), 400, "the name of the object (x) does not match the name on the URL (d)"),
            (
                scale(replicas=-3),
                422,
                'Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -3: must be greater than or',
            ),
        ):
            answered = await wire("PUT", SCALE, body)
            assert (answered.status, answered.message[: len(told)]) == (status, told), body
        warned = await wire("PATCH", SCALE, {"foo": 1}, media=MERGE)
        assert (warned.status, warned.header("Warning")) == (200, ['299 - "unknown field \\"foo\\""'])
        refused = await wire("PATCH", SCALE, {"spec": {"replicas": "a"}}, media=MERGE)
        assert (refused.status, refused.tree["details"]["causes"][0]["field"]) == (422, "patch")

    converse(scenario)


def test_who_scales_owns_the_replicas():
    async def scenario(wire: Wire) -> None:
        await wire("POST", DEPLOYMENTS, deployment("d"))
        wanted = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "d"}, "spec": {"replicas": 6}}
        conflict = await wire("PATCH", SCALE + "?fieldManager=ap", wanted, media=APPLY)
        assert conflict.status == 409
        assert conflict.tree["details"]["causes"][0]["field"] == ".spec.replicas"
        assert (await wire("PATCH", SCALE + "?fieldManager=ap&force=true", wanted, media=APPLY)).tree["spec"] == {"replicas": 6}
        entries = (await wire("GET", DEPLOYMENTS + "/d")).tree["metadata"]["managedFields"]
        owners = [
            (each["manager"], each["operation"]) for each in entries if "f:replicas" in each["fieldsV1"].get("f:spec", {})
        ]
        assert owners == [("ap", "Apply")]

    converse(scenario)


def test_bindings():
    async def scenario(wire: Wire) -> None:
        made = (await wire("POST", PODS, pod("p"))).tree["metadata"]
        for path, body, status, told in (
            ("/p/binding", binding("p", kind="Node"), 500, "target.name: Required value"),
            (
                "/p/binding",
                binding("p", kind="Foo"),
                500,
                '[target.kind: Unsupported value: "Foo": supported values: "Node", "<empty>"',
            ),
            ("/p/binding", binding("", name="n"), 400, "name in URL does not match name in Binding object"),
            ("/nope/binding", binding("nope", name="n"), 404, 'pods "nope" not found'),
            (
                "/p/binding",
                {"kind": "Pod", "apiVersion": "v1"},
                400,
                'Pod in version "v1" cannot be handled as a Binding: conver',
            ),
            (
                "/p/binding",
                {**binding("p", name="n"), "metadata": {"name": "p", "uid": "x"}},
                409,
                'Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, Key: '
                "/registry/pods/default/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                f"precondition: x, UID in object meta: {made['uid']}",
            ),
        ):
            answered = await wire("POST", PODS + path, body)
            assert (answered.status, answered.message[: len(told)]) == (status, told), body
        assert (await wire("POST", PODS + "/p/binding", binding("p", name="n"))).status == 201
        again = await wire("POST", PODS + "/p/binding", binding("p", name="m"))
        assert again.message.endswith('pod p is already assigned to node "n"')
        # v1.36.4, asked live: the collection takes bindings, and there is nothing below it.
        assert (await wire("POST", "/api/v1/namespaces/default/bindings/p", binding("", name="n"))).status == 404
        nameless = await wire("POST", "/api/v1/namespaces/default/bindings", binding("", name="n"))
        assert (nameless.status, nameless.message) == (400, "Name parameter required.")

    converse(scenario)


def test_evictions():
    async def scenario(wire: Wire) -> None:
        await wire("POST", PODS, pod("p"))
        for query, body, status, told in (
            ("", {}, 400, "name in URL does not match name in Eviction object"),
            (
                "?dryRun=All",
                eviction("p", deleteOptions={"dryRun": ["Foo"]}),
                500,
                "Non-matching dry-run options in request and content: [All] and [Foo]",
            ),
        ):
            answered = await wire("POST", PODS + "/p/eviction" + query, body)
            assert (answered.status, answered.message) == (status, told), body
        assert (await wire("POST", PODS + "/p/eviction", {**eviction("p"), "apiVersion": "policy/v1beta1"})).status == 201
        assert (await wire("GET", PODS + "/p")).status == 404

    converse(scenario)


def test_reviews():
    async def scenario(wire: Wire) -> None:
        wrong = await wire("POST", REVIEWS + "subjectaccessreviews", {"spec": {"user": "bob"}})
        assert wrong.message.startswith(
            '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly'
        )
        asked = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
        may = await wire("POST", REVIEWS + "selfsubjectaccessreviews", asked)
        may_not = await wire("POST", REVIEWS + "selfsubjectaccessreviews", asked, token=NOBODY_TOKEN)
        assert (may.tree["status"]["allowed"], may_not.tree["status"]["allowed"]) == (True, False)
        refused = await wire("GET", PODS, token=NOBODY_TOKEN)
        assert refused.status == 403
        assert refused.header("X-Content-Type-Options") == ["nosniff"]
        assert (await wire("GET", REVIEWS + "subjectaccessreviews/x")).status == 404
        assert (await wire("GET", REVIEWS + "subjectaccessreviews")).status == 405
        assert (await wire("POST", REVIEWS + "localsubjectaccessreviews", asked)).status == 404
        as_table = await wire(
            "POST", REVIEWS + "subjectaccessreviews", asked, accept="application/json;as=Table;v=v1;g=meta.k8s.io"
        )
        assert as_table.status == 406

    converse(scenario)
