"""What the server remembers of requests that wrote something about pods."""

import pytest

from tiphys.apiserver.pod_requests import PodRequest, PodRequests
from tiphys.apiserver.request import RequestInfo
from tiphys.machinery import errors


def info(verb="create", name="", resource="pods", subresource=""):
    return RequestInfo(verb, "", True, "", "v1", "default", resource, subresource, name)


def request(**given):
    return PodRequest(info(**given), 100.0, "me", "kubectl", 0.5, 0.0)


def test_a_request_is_found_by_the_pod_it_made_with_its_parts():
    kept, made = PodRequests(), request()
    with kept.remembering(made):
        made.mark("admit")
        made.key = "default/made-up"
    (told,) = kept.of("default/made-up")
    assert (told["verb"], told["user"], told["waitedSeconds"]) == ("create", "me", 0.5)
    assert [part["what"] for part in told["parts"]] == ["admit"]
    assert kept.of("default/other") == []


def test_a_refusal_is_remembered_under_the_name_in_the_path():
    kept = PodRequests()
    with pytest.raises(errors.ApiError), kept.remembering(request(verb="patch", name="p", subresource="status")):
        raise errors.not_found("", "pods", "p")
    assert kept.of("default/p")[0]["code"] == 404


@pytest.mark.parametrize(
    ("asked", "concerns"),
    [
        (info(), True),
        (info("patch", "p", subresource="status"), True),
        (info("get", "p"), False),
        (info(resource="nodes"), False),
    ],
)
def test_only_writes_about_pods_are_remembered(asked, concerns):
    assert PodRequests.concerns(asked) is concerns
