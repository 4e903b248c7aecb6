"""Delete and delete-collection, as clients see them.

Recorded from kube-apiserver v1.36.4; the code is apiserver/pkg/endpoints/handlers/delete.go, registry/rest/delete.go and
registry/generic/registry/store.go.
"""

import pytest
from tests.wire import Wire, configmap, converse, pod

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"


def test_refusals():
    async def scenario(wire: Wire) -> None:
        made = (await wire("POST", MAPS, configmap("there"))).tree["metadata"]
        for body, media, status, told in (
            (
                {"kind": "Pod", "apiVersion": "v1"},
                "application/json",
                400,
                'no kind "Pod" is registered for version "v1" in scheme "k8s',
            ),
            ("{}", "text/plain", 415, "the body of the request was in an unknown format"),
            ("[]", "application/json", 400, "couldn't get version/kind; json parse error: json: cannot unmarshal array"),
            (
                {"gracePeriodSeconds": "x"},
                "application/json",
                400,
                "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
            ),
            (
                {"preconditions": {"uid": "bad"}},
                "application/json",
                409,
                'Operation cannot be fulfilled on ConfigMap "there": the UID in the precondition (bad) does not match the UID '
                f"in record ({made['uid']}). The object might have been deleted and then recreated",
            ),
        ):
            answered = await wire("DELETE", MAPS + "/there", body, media=media)
            assert (answered.status, answered.message[: len(told)]) == (status, told), body

    converse(scenario)


def test_options_in_the_body_are_all_that_counts():
    async def scenario(wire: Wire) -> None:
        await wire("POST", MAPS, configmap("there"))
        assert (await wire("DELETE", MAPS + "/there?dryRun=All")).status == 200
        assert (await wire("GET", MAPS + "/there")).status == 200
        assert (await wire("DELETE", MAPS + "/there?dryRun=All", {"kind": "DeleteOptions", "apiVersion": "v1"})).status == 200
        assert (await wire("GET", MAPS + "/there")).status == 404

    converse(scenario)


def test_what_is_being_deleted_is_still_there():
    async def scenario(wire: Wire) -> None:
        await wire("POST", MAPS, configmap("held", finalizers=["a/b"]))
        assert "deletionTimestamp" in (await wire("DELETE", MAPS + "/held")).tree["metadata"]
        again = await wire("POST", MAPS, configmap("held"))
        assert again.message == 'object is being deleted: configmaps "held" already exists'
        more = await wire("PUT", MAPS + "/held", configmap("held", finalizers=["a/b", "c/d"]))
        assert "no new finalizers can be added if the object is being deleted" in more.message
        assert (await wire("PATCH", MAPS + "/held", {"metadata": {"finalizers": None}}, media=MERGE)).status == 200
        assert (await wire("GET", MAPS + "/held")).status == 404

    converse(scenario)


def test_a_pod_that_goes_at_once_is_shown_as_marked():
    async def scenario(wire: Wire) -> None:
        await wire("POST", PODS, pod("p"))
        shown = (await wire("DELETE", PODS + "/p")).tree["metadata"]
        assert (shown["deletionGracePeriodSeconds"], shown["generation"], "deletionTimestamp" in shown) == (0, 2, True)

    converse(scenario)


def test_a_namespace_waits_for_whoever_holds_it():
    # ShouldDeleteNamespaceDuringUpdate: registry/core/namespace/storage/storage.go
    async def scenario(wire: Wire) -> None:
        await wire("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
        gone = (await wire("DELETE", "/api/v1/namespaces/n")).tree
        assert gone["status"]["phase"] == "Terminating"
        assert "deletionGracePeriodSeconds" not in gone["metadata"]
        held = {"metadata": {"name": "n"}, "spec": {"finalizers": ["foo.com/x"]}}
        assert (await wire("PUT", "/api/v1/namespaces/n/finalize", held)).status == 200
        assert (await wire("GET", "/api/v1/namespaces/n")).status == 200
        assert (await wire("PUT", "/api/v1/namespaces/n/finalize", {"metadata": {"name": "n"}, "spec": {}})).status == 200
        assert (await wire("GET", "/api/v1/namespaces/n")).status == 404

    converse(scenario)


@pytest.mark.parametrize(
    ("url", "obj", "kind"),
    [
        # ReturnDeletedObject of pkg/registry/*/storage/storage.go
        ("/api/v1/namespaces/default/serviceaccounts", {}, "ServiceAccount"),
        ("/apis/storage.k8s.io/v1/storageclasses", {"provisioner": "x"}, "StorageClass"),
        ("/apis/storage.k8s.io/v1/csidrivers", {"spec": {}}, "CSIDriver"),
        ("/apis/resource.k8s.io/v1/deviceclasses", {"spec": {}}, "DeviceClass"),
        ("/api/v1/namespaces/default/secrets", {}, "Status"),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles", {}, "Status"),
    ],
)
def test_some_kinds_are_shown_for_the_last_time(url, obj, kind):
    async def scenario(wire: Wire) -> None:
        await wire("POST", url, {"metadata": {"name": "s"}, **obj})
        assert (await wire("DELETE", url + "/s")).tree["kind"] == kind

    converse(scenario)


def test_jobs_warn_of_the_pods_that_they_leave_behind():
    # registry/batch/job/storage/storage.go
    async def scenario(wire: Wire) -> None:
        jobs = "/apis/batch/v1/namespaces/default/jobs"
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
        for query, warned in (("", 1), ("?propagationPolicy=Background", 0)):
            await wire("POST", jobs, {"metadata": {"name": "j" + str(warned)}, "spec": {"template": template}})
            answered = await wire("DELETE", f"{jobs}/j{warned}{query}")
            assert (answered.status, len(answered.header("Warning"))) == (200, warned)

    converse(scenario)


def test_collections():
    async def scenario(wire: Wire) -> None:
        maps = "/api/v1/namespaces/kube-public/configmaps"
        for index in range(3):
            await wire("POST", maps, configmap(f"c{index}"))
        page = (await wire("DELETE", maps + "?limit=1")).tree
        assert (len(page["items"]), "continue" in page["metadata"]) == (1, True)
        rest = (await wire("DELETE", maps, {"propagationPolicy": "Orphan"})).tree
        # They are shown as they were found.
        assert ["deletionTimestamp" in each["metadata"] for each in rest["items"]] == [False, False]
        assert ["deletionTimestamp" in each["metadata"] for each in (await wire("GET", maps)).tree["items"]] == [True, True]

    converse(scenario)
