"""Create, update and patch, as clients see them.

Recorded from kube-apiserver v1.36.4; the code is apiserver/pkg/endpoints/handlers/{create,update,patch,rest}.go and
registry/generic/registry/store.go.
"""

import pytest
from tests.wire import Wire, configmap, converse, deployment, pod

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
JSON_PATCH, MERGE = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"

LONG = "x" * 129
REPEATED = [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "1"}] * 2
UNREADABLE = (
    "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: "
    "unexpected end of JSON input (<empty>)"
)
SCHEME = 'in scheme "pkg/api/legacyscheme/scheme.go:30"'
NAMELESS = "the name of the object (there based on URL) was undeterminable: name must be provided"

REFUSED_CREATES = [
    ("", configmap("x"), {"media": "text/plain"}, 415, "the body of the request was in an unknown format - accepted media"),
    ("", configmap("x"), {"media": "application/json;;;"}, 415, "the body of the request was in an unknown format"),
    (
        "",
        configmap("x"),
        {"accept": "application/xml"},
        406,
        "406: Not Acceptable\n\nAvailable representations: application/json",
    ),
    ("", configmap("x"), {"accept": "application/json;as=Foo;v=v1"}, 406, "only the following media types are accepted: app"),
    ("", "", {}, 400, UNREADABLE),
    (
        "",
        {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}},
        {},
        400,
        'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): unknown',
    ),
    (
        "",
        {"kind": "Foo", "apiVersion": "v1"},
        {},
        400,
        f'Foo in version "v1" cannot be handled as a ConfigMap: no kind "Foo" is registered for version "v1" {SCHEME}',
    ),
    (
        "",
        {"kind": "ConfigMap", "apiVersion": "a/b/c"},
        {},
        400,
        "the object provided is unrecognized (must be of type ConfigMap): unex",
    ),
    ("", configmap("x", resourceVersion="5"), {}, 500, "resourceVersion should not be set on objects to be created"),
    ("", configmap("there"), {}, 409, 'configmaps "there" already exists'),
    (
        "",
        configmap("x", finalizers=["bad"]),
        {},
        422,
        'ConfigMap "x" is invalid: metadata.finalizers[0]: Invalid value: "bad": name is',
    ),
    (
        f"?fieldManager={LONG}",
        configmap("x"),
        {},
        422,
        'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be',
    ),
    (
        "?fieldValidation=Bad",
        configmap("x"),
        {},
        422,
        'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Bad": supported values: "", "Ignore"',
    ),
    (
        "?dryRun=Bad",
        configmap("x"),
        {},
        422,
        'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Bad"]: supported',
    ),
    ("?timeout=x", configmap("x"), {}, 400, 'invalid timeout specified in the request URL - time: invalid duration "x"'),
]


def test_creates_that_are_refused():
    async def scenario(wire: Wire) -> None:
        await wire("POST", MAPS, configmap("there"))
        for query, body, how, status, told in REFUSED_CREATES:
            answered = await wire("POST", MAPS + query, body, **how)
            assert (answered.status, answered.message[: len(told)]) == (status, told), (query, body)
        assert (await wire("GET", MAPS + "/x")).status == 404

    converse(scenario)


def test_places_where_nothing_can_be_created():
    async def scenario(wire: Wire) -> None:
        # A collection over all namespaces can only be read; cluster-wide kinds are not found in a namespace.
        for method, url, status in (
            ("POST", "/api/v1/configmaps", 405),
            ("PUT", MAPS, 405),
            ("PATCH", MAPS, 405),
            ("DELETE", "/api/v1/configmaps", 405),
            ("POST", "/api/v1/namespaces/default/nodes", 404),
            ("POST", MAPS + "/x", 405),
            ("HEAD", MAPS + "/x", 405),
            ("GET", MAPS + "//x", 404),
            ("GET", "/api/v1/namespaces/default/finalize", 405),
        ):
            media = MERGE if method == "PATCH" else "application/json"
            assert (await wire(method, url, configmap("x"), media=media)).status == status, (method, url)
        unknown = await wire("GET", "/apis/foo/v1/bars")
        assert (unknown.status, unknown.media, unknown.text) == (404, "text/plain; charset=utf-8", "404 page not found\n")

    converse(scenario)


def test_what_goes_with_every_answer():
    async def scenario(wire: Wire) -> None:
        first, second = await wire("GET", MAPS), await wire("GET", MAPS + "/x")
        assert first.header("Audit-Id") != second.header("Audit-Id")
        assert second.header("Cache-Control") == ["no-cache, private"]
        assert (await wire("GET", MAPS, headers={"audit-id": "mine"})).header("Audit-Id") == ["mine"]

    converse(scenario)


def test_warnings_go_with_refusals_too():
    async def scenario(wire: Wire) -> None:
        sent = configmap("x", ownerReferences=REPEATED, labels={"a b": "c"})
        answered = await wire("POST", MAPS, sent)
        assert answered.status == 422
        assert answered.header("Warning") == [
            '299 - ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may '
            'reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: 1"'
        ]
        kept = await wire("POST", MAPS, configmap("x", ownerReferences=REPEATED))
        assert kept.tree["metadata"]["ownerReferences"] == REPEATED[:1]

    converse(scenario)


def test_updates():
    async def scenario(wire: Wire) -> None:
        made = (await wire("POST", MAPS, configmap("there"))).tree["metadata"]
        there = MAPS + "/there"
        for body, status, told in (
            (configmap("there", resourceVersion="1"), 409, "Operation cannot be fulfilled on configmaps"),
            (configmap("there", resourceVersion="abc"), 500, 'strconv.ParseUint: parsing "abc": invalid syntax'),
            (configmap("other"), 400, "the name of the object (other) does not match the name on the URL (there)"),
            (configmap(), 400, NAMELESS),
            (
                configmap("there", uid="xyz"),
                409,
                'Operation cannot be fulfilled on configmaps "there": StorageError: invalid object, Code: 4, Key: '
                "/registry/configmaps/default/there, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                f"precondition: xyz, UID in object meta: {made['uid']}",
            ),
            (
                configmap("there", deletionTimestamp="2020-01-01T00:00:00Z"),
                422,
                'ConfigMap "there" is invalid: metadata.deletionT',
            ),
            (
                {"kind": "ConfigMap", "apiVersion": "apps/v1", "metadata": {"name": "there"}},
                400,
                'ConfigMap in version "v1" cannot',
            ),
        ):
            answered = await wire("PUT", there, body)
            assert (answered.status, answered.message[: len(told)]) == (status, told), body
        for options in ("fieldManager=" + LONG, "dryRun=x"):
            assert (await wire("PUT", f"{there}?{options}", configmap("there"))).tree["details"]["kind"] == "UpdateOptions"
        # AllowCreateOnUpdate: registry/rbac/clusterrole/strategy.go:56, registry/coordination/lease/strategy.go:85
        assert (await wire("PUT", ROLES + "/new", {"metadata": {"name": "new"}})).status == 201
        assert (await wire("PUT", MAPS + "/new", configmap("new"))).status == 404
        lease = await wire("PUT", LEASES + "/l", {"metadata": {"name": "l", "uid": "a"}, "spec": {}})
        assert (lease.status, lease.message.endswith("UID in precondition: a, UID in object meta: ")) == (409, True)

    converse(scenario)


REFUSED_PATCHES = [
    (MERGE, "{", 400, "error decoding patch: unexpected end of JSON input"),
    (MERGE, "null", 400, "Invalid JSON Patch"),
    (MERGE, "5", 400, "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}"),
    (STRATEGIC, "{", 400, "unexpected end of JSON input"),
    (STRATEGIC, "[]", 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    (JSON_PATCH, "{}", 400, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
    (
        JSON_PATCH,
        [{"op": "test", "path": "/data/a", "value": "2"}],
        422,
        "the server rejected our request due to an error in our",
    ),
    (JSON_PATCH, [{"op": "remove", "path": "/metadata/name"}], 400, NAMELESS),
    (MERGE, {"metadata": None}, 400, NAMELESS),
    (MERGE, {"metadata": {"resourceVersion": "x"}}, 500, 'strconv.ParseUint: parsing "x": invalid syntax'),
    (
        MERGE,
        {"metadata": {"uid": "x"}},
        422,
        'ConfigMap "there" is invalid: metadata.uid: Invalid value: "x": field is immutable',
    ),
    (
        STRATEGIC,
        {"data": {"p": 5}},
        422,
        ' "" is invalid: patch: Invalid value: "map[data:map[p:5]]": cannot convert int64 to string',
    ),
    (STRATEGIC, {"data": 5}, 422, ' "" is invalid: patch: Invalid value: "map[data:5]": cannot restore map from int64'),
    ("application/json", {}, 415, "415: Unsupported Media Type"),
    (APPLY, {"kind": "Secret", "apiVersion": "v1"}, 400, "invalid object type: /v1, Kind=Secret"),
    (APPLY, "", 400, "invalid object type: /, Kind="),
    (
        APPLY,
        "kind: [",
        400,
        "error decoding YAML: error converting YAML to JSON: yaml: line 1: did not find expected node content",
    ),
]


def test_patches_that_are_refused():
    async def scenario(wire: Wire) -> None:
        await wire("POST", MAPS, configmap("there"))
        for media, body, status, told in REFUSED_PATCHES:
            answered = await wire("PATCH", f"{MAPS}/there?fieldManager=m", body, media=media)
            assert (answered.status, answered.message[: len(told)]) == (status, told), (media, body)
        # The object has to be there before anybody reads the patch.
        assert (await wire("PATCH", MAPS + "/nope", "{", media=STRATEGIC)).status == 404
        force = await wire("PATCH", MAPS + "/there?force=true", {}, media=MERGE)
        assert (
            force.message
            == 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch'
        )

    converse(scenario)


@pytest.mark.parametrize(
    ("media", "body", "problem"),
    [
        (MERGE, {"data": {"p": 5}}, "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"),
        (
            JSON_PATCH,
            [{"op": "replace", "path": "", "value": []}],
            "couldn't get version/kind; json parse error: json: cannot unm",
        ),
        (MERGE, {"apiVersion": "v2"}, f'no kind "ConfigMap" is registered for version "v2" {SCHEME}'),
        (MERGE, {"foo": 1}, 'strict decoding error: unknown field "foo"'),
        (
            JSON_PATCH,
            [{"op": "add", "path": "/data/r", "value": "3", "x": 1}],
            'strict decoding error: json patch unknown field "[0].x"',
        ),
    ],
)
def test_what_a_patch_makes_of_an_object_is_shown_in_the_refusal(media, body, problem):
    async def scenario(wire: Wire) -> None:
        await wire("POST", MAPS, configmap("there"))
        answered = await wire("PATCH", MAPS + "/there?fieldValidation=Strict", body, media=media)
        cause = answered.tree["details"]["causes"][0]
        assert (answered.status, cause["field"]) == (422, "patch")
        assert problem in cause["message"]
        assert cause["message"].startswith(('Invalid value: "{\\"apiVersion\\":', 'Invalid value: "[]"'))

    converse(scenario)


def test_apply_creates_unless_a_uid_says_that_it_was_there():
    async def scenario(wire: Wire) -> None:
        body = "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: new\n  uid: xx\n"
        answered = await wire("PATCH", MAPS + "/new?fieldManager=m", body, media=APPLY)
        assert answered.status == 409
        assert answered.message.endswith("uid mismatch: the provided object specified uid xx, and no existing object was found")
        twice = "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: new\n  name: new\n"
        created = await wire("PATCH", MAPS + "/new?fieldManager=m", twice, media=APPLY)
        assert (created.status, created.header("Warning")) == (201, ['299 - "line 5: key \\"name\\" already set in map"'])
        strict = await wire("PATCH", MAPS + "/new?fieldManager=m&fieldValidation=Strict", twice, media=APPLY)
        assert (strict.status, strict.message[:29]) == (400, "error strict decoding YAML: e")

    converse(scenario)


def test_status_writes_own_no_more_than_they_can_change():
    # GetResetFields of registry/core/pod/strategy.go:206 and registry/apps/deployment/strategy.go:161
    async def scenario(wire: Wire) -> None:
        change = {"metadata": {"labels": {"x": "y"}, "ownerReferences": REPEATED[:1]}, "spec": {"replicas": 7}}
        await wire("POST", DEPLOYMENTS, deployment("d"))
        await wire("POST", PODS, pod("p"))
        after = await wire("PATCH", DEPLOYMENTS + "/d/status", {**change, "status": {"replicas": 3}}, media=MERGE)
        assert set(_owned(after.tree, "status")) == {"f:metadata", "f:status"}
        assert set(_owned(after.tree, "status")["f:metadata"]) == {"f:ownerReferences"}
        after = await wire("PATCH", PODS + "/p/status", {**change, "status": {"phase": "Running"}}, media=MERGE)
        assert set(_owned(after.tree, "status")["f:metadata"]) == {"f:labels"}

    converse(scenario)


def test_what_is_kept_verbatim_is_answered_byte_by_byte():
    # Go's encoder is safe within HTML; daemon.Match of v1.36.4 compares the bytes of a revision's data.
    async def scenario(wire: Wire) -> None:
        data = r'{"spec":{"template":{"$patch":"replace","metadata":{"n":"\u003ca\u003e \u0026\u0026 \u2028"},"a":["b"]}}}'
        place = "/apis/apps/v1/namespaces/default/controllerrevisions"
        head = '"kind":"ControllerRevision","apiVersion":"apps/v1","metadata":{"name":"r"},"revision":1'
        await wire("POST", place, f'{{{head},"data":{data}}}')
        assert f'"data":{data}' in (await wire("GET", place + "/r")).text
        assert (await wire("GET", place + "/r")).tree["data"]["spec"]["template"]["metadata"]["n"] == "<a> && \u2028"

    converse(scenario)


def _owned(obj, subresource):
    return next(each["fieldsV1"] for each in obj["metadata"]["managedFields"] if each.get("subresource", "") == subresource)
