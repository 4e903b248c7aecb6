"""Get, list and watch, as clients see them.

Recorded from kube-apiserver v1.36.4; the code is apiserver/pkg/endpoints/handlers/get.go, apimachinery
pkg/apis/meta/internalversion/validation/validation.go and apiserver/pkg/storage/continue.go.
"""

import pytest
from tests.wire import Wire, configmap, converse

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

NOT_PROVIDED = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
INVALID = 'ListOptions.meta.k8s.io "" is invalid: '
BAD_VERSION = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'

REFUSED_LISTS = [
    ("limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
    ("timeoutSeconds=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
    ("resourceVersion=abc", 400, "invalid resource version: " + BAD_VERSION),
    ("resourceVersionMatch=Exact", 422, INVALID + NOT_PROVIDED),
    (
        "resourceVersionMatch=Bad",
        422,
        f'{INVALID}[{NOT_PROVIDED}, resourceVersionMatch: Unsupported value: "Bad": supported values: "Exact", '
        '"NotOlderThan", ""]',
    ),
    (
        "resourceVersion=0&resourceVersionMatch=Exact",
        422,
        INVALID + 'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
    ),
    ("sendInitialEvents=true", 422, INVALID + "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"),
    ("fieldSelector=foo%3Dx", 400, '"foo" is not a known field selector: only "metadata.name", "metadata.namespace"'),
    (
        "continue=abc",
        400,
        "invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value",
    ),
    (
        "continue=eyJ2IjoiYmFkIiwicnYiOjF9",
        400,
        "invalid continue token: continue key is not valid: server does not recognize this encoded version bad",
    ),
    ("watch=1&resourceVersion=abc", 500, BAD_VERSION),
    (
        "watch=1&resourceVersion=1&resourceVersionMatch=NotOlderThan",
        422,
        INVALID
        + "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
    ),
    (
        "watch=1&sendInitialEvents=true",
        422,
        INVALID + "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    ),
    (
        "watch=1&continue=abc",
        422,
        INVALID + "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
    ),
]


def test_lists_and_watches_that_are_refused():
    async def scenario(wire: Wire) -> None:
        for query, status, told in REFUSED_LISTS:
            answered = await wire("GET", f"{MAPS}?{query}")
            assert (answered.status, answered.message) == (status, told), query
        for path, told in (
            ("/api/v1/pods", "field label not supported: foo"),
            ("/apis/batch/v1/jobs", 'field label "foo" not supported for Job'),
            (
                "/apis/resource.k8s.io/v1/resourceslices",
                "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: foo",
            ),
        ):
            assert (await wire("GET", path + "?fieldSelector=foo%3Dx")).message == told

    converse(scenario)


def test_forms_that_do_not_fit():
    async def scenario(wire: Wire) -> None:
        await wire("POST", MAPS, configmap("there"))
        for path, accept, status, told in (
            (
                "/there",
                PARTIAL_LIST,
                406,
                "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)",
            ),
            ("", PARTIAL, 406, "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)"),
            (
                "/there?includeObject=Bad",
                TABLE,
                400,
                'Unable to convert to Table as requested: includeObject: Invalid value: "Bad": must be '
                "'Metadata', 'Object', 'None', or empty",
            ),
            (
                "?watch=1&resourceVersion=0",
                "application/yaml",
                406,
                "message: 'only the following media types are accepted: application/json;stream=watch",
            ),
        ):
            answered = await wire("GET", MAPS + path, accept=accept)
            assert answered.status == status
            assert told in (answered.text if accept == "application/yaml" else answered.message)

    converse(scenario)


def test_pages():
    async def scenario(wire: Wire) -> None:
        for index in range(3):
            await wire("POST", "/api/v1/namespaces/kube-public/configmaps", configmap(f"c{index}", labels={"i": str(index)}))
        maps = "/api/v1/namespaces/kube-public/configmaps"
        first = (await wire("GET", f"{maps}?limit=2")).tree
        assert (len(first["items"]), first["metadata"]["remainingItemCount"]) == (2, 1)
        rest = (await wire("GET", f"{maps}?limit=2&continue={first['metadata']['continue']}")).tree
        assert [each["metadata"]["name"] for each in rest["items"]] == ["c2"]
        assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
        # What is read from memory comes as a whole (storage/cacher/cacher.go).
        assert len((await wire("GET", f"{maps}?limit=2&resourceVersion=0")).tree["items"]) == 3
        ahead = await wire("GET", f"{maps}?resourceVersion=999999")
        assert (ahead.status, ahead.header("Retry-After")) == (504, ["1"])
        exactly = await wire("GET", f"{maps}?resourceVersion=999999&resourceVersionMatch=Exact")
        assert (exactly.status, exactly.header("Retry-After")) == (504, [])

    converse(scenario)


def test_selectors_pick_the_same_whether_or_not_the_bytes_tell():
    async def scenario(wire: Wire) -> None:
        maps = "/api/v1/namespaces/kube-public/configmaps"
        await wire("POST", maps, configmap("a", labels={"k": "v", "n": "5"}))
        await wire("POST", maps, configmap("b", annotations={"k": "v"}))
        await wire("POST", maps, configmap("c", labels={"k": "w"}))
        for query, names in (
            ("labelSelector=k%3Dv", "a"),
            ("labelSelector=k", "ac"),
            ("labelSelector=k+in+(v,w)", "ac"),
            ("labelSelector=k+in+(v)", "a"),
            ("labelSelector=k%21%3Dv", "bc"),
            ("labelSelector=%21k", "b"),
            ("labelSelector=n%3E4", "a"),
            ("fieldSelector=metadata.name%3Dc", "c"),
            ("fieldSelector=metadata.name%21%3Dc", "ab"),
            ("labelSelector=k&fieldSelector=metadata.name%3Db", ""),
        ):
            found = (await wire("GET", f"{maps}?{query}")).tree["items"]
            assert "".join(each["metadata"]["name"] for each in found) == names, query

    converse(scenario)


def test_watches():
    async def scenario(wire: Wire) -> None:
        made = (await wire("POST", MAPS, configmap("a"))).tree["metadata"]
        await wire("POST", MAPS, configmap("b"))
        since = f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersion={made['resourceVersion']}"
        assert [(each["type"], each["object"]["metadata"]["name"]) for each in (await wire("GET", since)).events] == [
            ("ADDED", "b")
        ]
        whole = (
            f"{MAPS}?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        )
        events = (await wire("GET", whole)).events
        assert [each["type"] for each in events] == ["ADDED", "ADDED", "BOOKMARK"]
        assert events[-1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        ahead = await wire("GET", whole + "&resourceVersion=99999")
        assert (ahead.status, ahead.events[0]["type"], ahead.events[0]["object"]["code"]) == (200, "ERROR", 504)

    converse(scenario)


def test_answers_for_people():
    async def scenario(wire: Wire) -> None:
        await wire("POST", MAPS, configmap("there", labels={"n10": "1", "n9": "yes", "x": "0x1"}))
        there = MAPS + "/there"
        for query, agent, pretty in (
            ("", "kubectl/1", False),
            ("", "curl/8", True),
            ("?pretty=false", "curl/8", False),
            ("?pretty=1", "x", True),
        ):
            answered = await wire("GET", there + query, headers={"user-agent": agent})
            assert answered.body.startswith(b"{\n") == pretty, (query, agent)
        assert (await wire("GET", there, accept="application/json;pretty=1")).body.startswith(b"{\n")
        # Keys in natural order, quotes only where YAML 1.1 would read something else (sigs.k8s.io/yaml goyaml.v2).
        told = (await wire("GET", there, accept="application/yaml")).text
        assert '  labels:\n    n9: "yes"\n    n10: "1"\n    x: "0x1"\n' in told
        assert "name: there\n" in told

    converse(scenario)


def test_the_old_way_to_watch_one_object():
    # apiserver/pkg/endpoints/handlers/get.go: the name in the path narrows the watch like a field selector.
    async def scenario(wire: Wire) -> None:
        for name in ("a", "b"):
            await wire("POST", MAPS, configmap(name))
        answered = await wire("GET", "/api/v1/watch/namespaces/default/configmaps/b?timeoutSeconds=1")
        assert [each["object"]["metadata"]["name"] for each in answered.events] == ["b"]

    converse(scenario)


def test_collections_tell_that_they_can_be_watched():
    async def scenario(wire: Wire) -> None:
        refused = await wire("GET", MAPS, accept="application/xml")
        assert refused.message.endswith(
            "protobuf, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
        )
        assert (await wire("GET", MAPS + "/x", accept="application/xml")).message.endswith(
            "application/vnd.kubernetes.protobuf"
        )

    converse(scenario)


# v1.36 staging/src/k8s.io/apiserver/pkg/endpoints/handlers/get.go:275: from --min-request-timeout up to twice as long.
@pytest.mark.parametrize("seconds", [1800.0, 5.0])
def test_a_watch_that_says_nothing_ends_after_a_while(seconds):
    async def scenario(wire: Wire) -> None:
        assert wire.cluster.server.backend.watch_seconds == 1800.0
        wire.cluster.server.backend.watch_seconds = seconds
        began = wire.cluster.clock.monotonic()
        assert (await wire("GET", f"{MAPS}?watch=1")).status == 200
        assert seconds <= wire.cluster.clock.monotonic() - began <= 2 * seconds + 1

    converse(scenario)
