"""What single kinds do that others do not, as clients see it. Asked of kube-apiserver v1.36.4."""

import pytest
from tests.wire import Wire, configmap, converse

BATCH, APPS = "/apis/batch/v1/namespaces/default", "/apis/apps/v1/namespaces/default"
CORE, CLAIMS = "/api/v1/namespaces/default", "/apis/resource.k8s.io/v1/namespaces/default"
MERGE = "application/merge-patch+json"
POD = {"containers": [{"name": "c", "image": "x"}], "restartPolicy": "Never"}
GENERATION = "deprecated.daemonset.template.generation"


def daemon_set():
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": POD["containers"]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"metadata": {"name": "d"}, "spec": spec}


def test_a_job_without_a_name_is_refused_like_anything_else():
    async def scenario(wire: Wire) -> None:
        answered = await wire("POST", f"{BATCH}/jobs", {"metadata": {}, "spec": {"template": {"spec": POD}}})
        assert (answered.status, answered.message) == (
            422,
            'Job.batch "" is invalid: metadata.name: Required value: name or generateName is required',
        )

    converse(scenario)


def test_a_status_write_cannot_take_the_labels_off_a_job():
    async def scenario(wire: Wire) -> None:
        job = {"metadata": {"name": "j"}, "spec": {"suspend": True, "template": {"spec": POD}}}
        made = (await wire("POST", f"{BATCH}/jobs", job)).tree
        written = await wire("PUT", f"{BATCH}/jobs/j/status", job)
        assert written.status == 200
        assert written.tree["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]

    converse(scenario)


def test_the_generation_of_a_daemon_sets_template_is_the_servers_to_count():
    async def scenario(wire: Wire) -> None:
        made = (await wire("POST", f"{APPS}/daemonsets", daemon_set())).tree["metadata"]
        assert made["annotations"] == {GENERATION: "1"}
        assert made["managedFields"][0]["fieldsV1"]["f:metadata"] == {"f:annotations": {".": {}, f"f:{GENERATION}": {}}}
        for path in ("daemonsets/d", "daemonsets/d/status"):
            written = await wire("PUT", f"{APPS}/{path}", daemon_set())
            assert (written.status, written.tree["metadata"]["annotations"]) == (200, {GENERATION: "1"}), path

    converse(scenario)


def test_a_limit_range_without_a_name_is_given_one():
    async def scenario(wire: Wire) -> None:
        made = await wire("POST", f"{CORE}/limitranges", {"spec": {"limits": None}})
        assert made.status == 201
        assert len(made.tree["metadata"]["name"]) == 36
        assert made.tree["spec"] == {"limits": None}

    converse(scenario)


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        (
            "/apis/events.k8s.io/v1/namespaces/default/events",
            {"metadata": {"name": "e"}, "reportingController": "a/b", "reportingInstance": "c", "action": "d", "reason": "e"},
            # Stored as the old version, and refused in its name.
            'Event "e" is invalid: [eventTime: Required value, type: Invalid value: "": has invalid value: ]',
        ),
        (
            f"{CORE}/events",
            {"involvedObject": {"namespace": "other"}},
            'Event "" is invalid: involvedObject.namespace: Invalid',
        ),
        (
            f"{CORE}/events",
            {"involvedObject": {"namespace": "default"}},
            'Event "" is invalid: metadata.name: Required value: name or generateName is required',
        ),
    ],
)
def test_refused_events(path, body, told):
    async def scenario(wire: Wire) -> None:
        answered = await wire("POST", path, body)
        assert (answered.status, answered.message[: len(told)]) == (422, told)

    converse(scenario)


def test_times_that_nobody_set_are_null_in_an_event():
    async def scenario(wire: Wire) -> None:
        event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "lastTimestamp": "2026-01-02T03:04:05Z"}
        made = (await wire("POST", f"{CORE}/events", event)).tree
        assert [made[name] for name in ("eventTime", "firstTimestamp", "lastTimestamp")] == [None, None, "2026-01-02T03:04:05Z"]
        newer = (await wire("GET", "/apis/events.k8s.io/v1/namespaces/default/events/e")).tree
        assert [newer[name] for name in ("eventTime", "deprecatedFirstTimestamp")] == [None, None]

    converse(scenario)


def test_a_disruption_budgets_name_only_has_to_fit_into_a_path():
    async def scenario(wire: Wire) -> None:
        budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
        assert (await wire("POST", budgets, {"metadata": {"name": "Some_Name"}, "spec": {}})).status == 201
        assert (await wire("POST", budgets, {"metadata": {"name": "a/b"}, "spec": {}})).status == 422

    converse(scenario)


def test_conditions_on_the_deletion_of_a_namespace_are_told_in_words_of_their_own():
    async def scenario(wire: Wire) -> None:
        await wire("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
        refused = await wire("DELETE", "/api/v1/namespaces/n", {"preconditions": {"uid": "x"}})
        told = (
            'Operation cannot be fulfilled on namespaces "n": Precondition failed: UID in precondition: x, UID in object meta: '
        )
        assert (refused.status, refused.message[: len(told)]) == (409, told)

    converse(scenario)


# v1.36.4 pkg/registry/resource/utils.go:37
def test_administrators_access_to_devices_is_for_namespaces_that_say_so():
    request = {"name": "r", "exactly": {"deviceClassName": "c", "adminAccess": True}}
    claim = {"metadata": {"name": "a"}, "spec": {"devices": {"requests": [request]}}}
    template = {"metadata": {"name": "a"}, "spec": {"spec": claim["spec"]}}
    why = "Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing"

    async def scenario(wire: Wire) -> None:
        for path, obj in ((f"{CLAIMS}/resourceclaims", claim), (f"{CLAIMS}/resourceclaimtemplates", template)):
            refused = await wire("POST", path, obj)
            assert refused.status == 422
            assert f"spec.devices.requests[0].adminAccess: {why}" in refused.message
        label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
        await wire("PATCH", "/api/v1/namespaces/default", label, media=MERGE)
        for path, obj in ((f"{CLAIMS}/resourceclaims", claim), (f"{CLAIMS}/resourceclaimtemplates", template)):
            assert (await wire("POST", path, obj)).status == 201

    converse(scenario)


def test_lists_warn_like_everything_else_of_a_deprecated_kind():
    async def scenario(wire: Wire) -> None:
        assert "Endpoints is deprecated" in (await wire("GET", f"{CORE}/endpoints")).header("Warning")[0]
        assert (await wire("GET", f"{CORE}/configmaps")).header("Warning") == []

    converse(scenario)


def test_roles_say_when_they_were_made_and_not_how_long_ago():
    async def scenario(wire: Wire) -> None:
        roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
        made = (await wire("POST", roles, {"metadata": {"name": "r"}})).tree
        assert made["rules"] is None
        table = await wire("GET", roles, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
        assert table.tree["rows"][0]["cells"] == ["r", made["metadata"]["creationTimestamp"]]

    converse(scenario)


def test_what_is_always_there_says_so():
    async def scenario(wire: Wire) -> None:
        service = (await wire("GET", "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps")).tree
        assert [(each["type"], each["status"]) for each in service["status"]["conditions"]] == [("Available", "True")]
        schema = (await wire("GET", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/probes")).tree
        assert [(each["type"], each["status"]) for each in schema["status"]["conditions"]] == [("Dangling", "False")]
        assert (await wire("POST", f"{CORE}/configmaps", configmap("a"))).status == 201

    converse(scenario)
