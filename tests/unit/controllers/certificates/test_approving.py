"""Whose requests are approved. v1.36.4 pkg/controller/certificates/approver/sarapprove.go, pkg/apis/certificates/helpers.go."""

import pytest
from tests.unit.controllers.certificates.conftest import CLIENT, NODE, csr, pem

from tiphys.controllers.certificates.approving import RequestApproving, World, recognized
from tiphys.controllers.certificates.requests import client_kubelet_problem, parse, serving_kubelet_problem
from tiphys.controllers.plan import Inquire, Update

decide = RequestApproving.reconcile


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        (csr(username=NODE), ("selfnodeclient", "nodeclient")),
        (csr(username="system:bootstrap:abcdef"), ("nodeclient",)),
        (csr(signer="kubernetes.io/kube-apiserver-client"), ()),
        (csr(usages=("client auth",)), ()),
        (csr(pem(organizations=("system:masters",))), ()),
        (csr(pem(dns=("n1",))), ()),
    ],
)
def test_what_is_recognized(request_, wanted):
    assert recognized(request_) == wanted


@pytest.mark.parametrize(
    ("asked", "usages", "problem"),
    [
        (pem(), CLIENT, ""),
        (pem(), (*CLIENT, "key encipherment"), ""),
        (pem(organizations=("system:nodes", "a")), CLIENT, "subject organization is not system:nodes"),
        (pem(dns=("n",)), CLIENT, "DNS subjectAltNames are not allowed"),
        (pem(emails=("a@example.com",)), CLIENT, "Email subjectAltNames are not allowed"),
        (pem(ips=("10.0.0.1",)), CLIENT, "IP subjectAltNames are not allowed"),
        (pem(uris=("https://example.com",)), CLIENT, "URI subjectAltNames are not allowed"),
        (pem("mike"), CLIENT, "subject common name does not begin with system:node:"),
        (pem(), ("server auth",), "usages did not match [client auth digital signature key encipherment]"),
    ],
)
def test_client_certificates_of_kubelets(asked, usages, problem):
    assert client_kubelet_problem(parse(csr(asked)), usages) == problem


SERVING = ("digital signature", "server auth")


@pytest.mark.parametrize(
    ("asked", "usages", "problem"),
    [
        (pem(dns=("n",)), SERVING, ""),
        (pem(ips=("10.0.0.1",)), (*SERVING, "key encipherment"), ""),
        (pem(), SERVING, "DNS or IP subjectAltName is required"),
        (pem(dns=("n",), emails=("a@example.com",)), SERVING, "Email subjectAltNames are not allowed"),
        (pem(dns=("n",), uris=("https://example.com",)), SERVING, "URI subjectAltNames are not allowed"),
        (pem("mike", dns=("n",)), SERVING, "subject common name does not begin with system:node:"),
        (pem(dns=("n",)), CLIENT, "usages did not match [digital signature key encipherment server auth]"),
    ],
)
def test_serving_certificates_of_kubelets(asked, usages, problem):
    assert serving_kubelet_problem(parse(csr(asked)), usages) == problem


def test_the_server_is_asked_before_anything_is_approved():
    (inquiry,) = decide(World(csr(username=NODE), None)).writes
    assert isinstance(inquiry, Inquire)
    assert inquiry.arguments["tried"] == ("selfnodeclient", "nodeclient")


def test_who_may_is_approved():
    (update,) = decide(World(csr(username=NODE), "selfnodeclient")).writes
    assert isinstance(update, Update)
    assert update.subresource == "approval"
    assert update.obj["status"]["conditions"] == [
        {
            "type": "Approved",
            "status": "True",
            "reason": "AutoApproved",
            "message": "Auto approving self kubelet client certificate after SubjectAccessReview.",
        }
    ]


def test_who_may_not_is_asked_about_again_later():
    plan = decide(World(csr(username=NODE), ""))
    assert not plan.writes
    told = 'recognized csr "csr-1" as [selfnodeclient nodeclient] but subject access review was not approved'
    assert plan.retry == told


@pytest.mark.parametrize("conditions", [("Approved",), ("Denied",), ("Approved", "Denied")])
def test_what_is_decided_stays(conditions):
    plan = decide(World(csr(conditions=conditions), None))
    assert not plan.writes
    assert not plan.retry
