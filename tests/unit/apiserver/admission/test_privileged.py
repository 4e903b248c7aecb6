"""v1.36.4 pkg/apis/core/validation/validation.go:8476, with capabilities.Setup(false)."""

import pytest

from tiphys.api.apps.deployments import DEPLOYMENTS
from tiphys.api.batch.cronjobs import CRONJOBS
from tiphys.api.core.pods import PODS
from tiphys.apiserver.admission.chain import Attributes
from tiphys.apiserver.admission.privileged import NoPrivileges
from tiphys.apiserver.authn.user import User
from tiphys.machinery.errors import ApiError


def spec(part="containers", **context):
    return {"containers": [{"name": "a"}], **({part: [{"name": "b", "securityContext": context}]} if context else {})}


def check(kind, obj, subresource="", operation="CREATE"):
    obj = {"metadata": {"name": "x"}, **obj}
    NoPrivileges().validate(Attributes(operation, kind, "default", "x", User("alice", ()), 0.0, subresource, obj))


def refused(kind, obj, **how):
    with pytest.raises(ApiError) as caught:
        check(kind, obj, **how)
    assert caught.value.code == 422
    return [(each["field"], each["message"]) for each in caught.value.to_status()["details"]["causes"]]


TOLD = "Forbidden: disallowed by cluster policy"


@pytest.mark.parametrize("part", ["containers", "initContainers", "ephemeralContainers"])
def test_no_container_is_privileged(part):
    told = [(f"spec.{part}[0].securityContext.privileged", TOLD)]
    assert refused(PODS, {"spec": spec(part, privileged=True)}) == told
    assert refused(PODS, {"spec": spec(part, privileged=True)}, subresource="ephemeralcontainers", operation="UPDATE") == told


def test_nor_one_that_a_template_would_make():
    at = "template.spec.containers[0].securityContext.privileged"
    template = {"spec": {"template": {"spec": spec(privileged=True)}}}
    assert refused(DEPLOYMENTS, template) == [(f"spec.{at}", TOLD)]
    assert refused(CRONJOBS, {"spec": {"jobTemplate": template}}) == [(f"spec.jobTemplate.spec.{at}", TOLD)]


def test_nor_a_process_of_a_windows_host():
    told = [("spec", "Forbidden: hostProcess containers are disallowed by cluster policy")]
    assert refused(PODS, {"spec": {**spec(), "securityContext": {"windowsOptions": {"hostProcess": True}}}}) == told
    assert refused(PODS, {"spec": spec(windowsOptions={"hostProcess": True})}) == told


def test_what_is_not_privileged_passes():
    check(PODS, {"spec": spec()})
    check(PODS, {"spec": spec(privileged=False, runAsUser=0)})
    check(PODS, {"spec": spec(privileged=True)}, subresource="status", operation="UPDATE")
