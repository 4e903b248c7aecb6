"""When a request goes. v1.36.4 pkg/controller/certificates/cleaner/cleaner_test.go."""

import base64

import pytest
from tests.unit.controllers.certificates.conftest import NOW, csr

from tiphys.base import tls
from tiphys.base.tls import Subject
from tiphys.controllers.certificates.cleaning import RequestCleaning, World
from tiphys.controllers.plan import Delete
from tiphys.machinery import times

HOUR, DAY = 3600.0, 86400.0


def aged(kind, age):
    return {"type": kind, "status": "True", "lastUpdateTime": times.rfc3339(NOW - age)}


def certificate(days):
    authority = tls.make_authority("test", now=NOW - 10 * DAY)
    issued = tls.issue(authority, Subject("a"), ["client"], now=NOW - 10 * DAY, days=days)
    return base64.b64encode(issued.certificate).decode()


def given(*conditions, created=NOW, signed=0):
    request = csr(conditions=conditions)
    request["metadata"]["creationTimestamp"] = times.rfc3339(created)
    if signed:
        request["status"]["certificate"] = certificate(signed)
    return request


@pytest.mark.parametrize(
    ("request_", "goes_in"),
    [
        (given(), DAY),
        (given(created=NOW - DAY - 2), 0),
        (given(aged("Approved", 60), signed=100), HOUR - 60),
        (given(aged("Approved", HOUR + 2), signed=100), 0),
        (given(aged("Approved", HOUR + 2)), DAY - HOUR - 2),
        (given(aged("Approved", DAY + 2)), 0),
        (given(aged("Denied", 60)), HOUR - 60),
        (given(aged("Denied", HOUR + 2)), 0),
        (given(aged("Approved", 10), aged("Failed", HOUR + 2)), 0),
        (given(aged("Approved", 10), signed=9), 0),
        (given({"type": "Approved", "status": "True"}), None),
    ],
)
def test_each_goes_when_its_time_has_come(request_, goes_in):
    plan = RequestCleaning.reconcile(World(request_, NOW))
    if goes_in == 0:
        (delete,) = plan.writes
        assert isinstance(delete, Delete)
    else:
        assert not plan.writes
        assert plan.again_in == (None if goes_in is None else goes_in + 1)
