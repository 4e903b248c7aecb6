import pytest

from tiphys.api.batch.cronjobs import CRONJOBS
from tiphys.api.batch.jobs import JOBS
from tiphys.machinery import times

NOW = times.parse("2026-01-01T00:10:00Z")


def job(**spec):
    template = {
        "metadata": {"labels": {"app": "a"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "uid": "u"},
        "spec": {"template": template} | spec,
    }


def cells(kind, obj):
    return {column.name: column.value(obj, NOW) for column in kind.columns if callable(column.value)}


# v1.36.4 pkg/printers/internalversion/printers.go:1250 (printJob)
@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({"completions": 3}, {"succeeded": 1}, {"Status": "Running", "Completions": "1/3", "Duration": ""}),
        ({"parallelism": 1}, {}, {"Completions": "0/1"}),
        ({"parallelism": 4}, {}, {"Completions": "0/1 of 4"}),
        ({}, {"startTime": "2026-01-01T00:00:00Z"}, {"Duration": "10m"}),
        ({}, {"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:01:05Z"}, {"Duration": "65s"}),
        ({}, {"conditions": [{"type": "Failed", "status": "True"}]}, {"Status": "Failed"}),
        ({}, {"conditions": [{"type": "Complete", "status": "False"}]}, {"Status": "Running"}),
        ({}, {"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]}, {"Status": "SuccessCriteriaMet"}),
    ],
)
def test_cells_of_a_job(spec, status, expected):
    found = cells(JOBS, job(**spec) | {"status": status})
    assert {name: found[name] for name in expected} == expected


# v1.36.4 pkg/printers/internalversion/printers.go:1314 (printCronJob)
def test_cells_of_a_cron_job():
    spec = {"schedule": "@daily", "suspend": False, "jobTemplate": {"spec": job()["spec"]}}
    obj = {"metadata": {"name": "c"}, "spec": spec, "status": {"lastScheduleTime": "2026-01-01T00:00:00Z", "active": [{}, {}]}}
    assert cells(CRONJOBS, obj) == {
        "Schedule": "@daily",
        "Timezone": "<none>",
        "Suspend": "False",
        "Active": 2,
        "Last Schedule": "10m",
        "Containers": "c",
        "Images": "i",
        "Selector": "<none>",
    }


# v1.36.4 pkg/registry/batch/job/strategy.go:241 (generateSelector); the labels are one map in pkg/apis/batch/v1/defaults.go:53
@pytest.mark.parametrize(("given", "generated_too"), [(None, True), ({"own": "label"}, False), ({"app": "a"}, False)])
def test_generated_labels_reach_defaulted_metadata_only(given, generated_too):
    obj = job()
    if given:
        obj["metadata"]["labels"] = given
    JOBS.default(obj)
    JOBS.prepare_create(obj)
    assert obj["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert ("batch.kubernetes.io/job-name" in obj["metadata"]["labels"]) is generated_too
    assert list(JOBS.validate_create(obj)) == []


def test_selector_is_the_users_if_he_says_so():
    obj = job(manualSelector=True, selector={"matchLabels": {"app": "a"}})
    JOBS.default(obj)
    JOBS.prepare_create(obj)
    assert obj["spec"]["selector"] == {"matchLabels": {"app": "a"}}
    assert obj["spec"]["template"]["metadata"]["labels"] == {"app": "a"}


# v1.36.4 pkg/registry/batch/job/strategy.go:448
def test_selectable_field():
    assert JOBS.field_of["status.successful"](job() | {"status": {"succeeded": 3}}) == "3"
    assert JOBS.field_of["status.successful"](job()) == "0"
