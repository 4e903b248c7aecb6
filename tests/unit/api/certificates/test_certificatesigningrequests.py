"""What becomes of a certificate request after its creation."""

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tiphys.api.certificates import certificatesigningrequests as csr
from tiphys.api.certificates.pem import request_problem


def condition(kind, status="True", **more):
    return {"type": kind, "status": status, **more}


def request(*conditions, certificate=None, **spec):
    status = {"conditions": list(conditions)} if conditions else {}
    if certificate is not None:
        status["certificate"] = certificate
    return {"metadata": {"name": "x"}, "spec": spec, "status": status}


def told(problems):
    return [str(problem) for problem in problems]


def pem(kind="CERTIFICATE", content=None):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "a")])
    made = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    der = content if content is not None else made.public_bytes(serialization.Encoding.DER)
    body = base64.encodebytes(der).decode()
    return base64.b64encode(f"-----BEGIN {kind}-----\n{body}-----END {kind}-----\n".encode()).decode()


# v1.36.4 pkg/registry/certificates/certificates/strategy.go:80
def test_who_asks_is_the_servers_to_say():
    made = request(condition("Approved"), username="root", groups=["system:masters"], uid="0", extra={"a": ["b"]})
    csr.prepare_create(made)
    assert made["spec"] == {}
    assert made["status"] == {}
    csr.asked_by(made, "alice", "1", ("devs",), {"scopes": ("a",)})
    assert made["spec"] == {"username": "alice", "uid": "1", "groups": ["devs"], "extra": {"scopes": ["a"]}}


def test_a_request_does_not_change():
    new, old = request(request="other"), request(request="mine")
    csr.prepare_update(new, old)
    assert new["spec"] == old["spec"]


# v1.36.4 pkg/apis/certificates/validation/validation.go:255
@pytest.mark.parametrize(
    ("new", "old", "problems"),
    [
        (request(condition("Failed")), request(), []),
        (request(condition("Foo", "Unknown")), request(), []),
        (request(condition("Foo", "")), request(), ["status.conditions[0].status: Required value"]),
        (
            request(condition("Failed", "False")),
            request(),
            ['status.conditions[0].status: Unsupported value: "False": supported values: "True"'],
        ),
        (request(condition("")), request(), ["status.conditions[0].type: Required value"]),
        (
            request(condition("Foo"), condition("Foo")),
            request(),
            ['status.conditions[1].type: Duplicate value: "Foo"'],
        ),
        (
            request(condition("Approved")),
            request(),
            ['status.conditions: Forbidden: updates may not add a condition of type "Approved"'],
        ),
        (
            request(),
            request(condition("Denied"), condition("Failed")),
            [
                'status.conditions: Forbidden: updates may not remove a condition of type "Denied"',
                'status.conditions: Forbidden: updates may not remove a condition of type "Failed"',
            ],
        ),
        (
            request(condition("Approved"), certificate="b3RoZXI="),
            request(condition("Approved"), certificate="bWluZQ=="),
            [
                'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
                "status.certificate: Forbidden: updates may not modify existing certificate content",
            ],
        ),
        (
            request(certificate=pem("PRIVATE KEY")),
            request(),
            [
                'status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, '
                'found "PRIVATE KEY"'
            ],
        ),
    ],
)
def test_status(new, old, problems):
    assert told(csr.validate_status(new, old)) == problems


@pytest.mark.parametrize(
    ("new", "old", "problems"),
    [
        (request(condition("Approved")), request(), []),
        (
            request(condition("Approved"), condition("Denied")),
            request(),
            ['status.conditions: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive'],
        ),
        (
            request(condition("Denied")),
            request(condition("Approved")),
            ['status.conditions: Forbidden: updates may not remove a condition of type "Approved"'],
        ),
    ],
)
def test_approval(new, old, problems):
    assert told(csr.validate_approval(new, old)) == problems


def test_a_status_write_leaves_decisions_alone():
    old = request(condition("Approved", message="by me"), signerName="a.b/c")
    new = request(condition("Approved", message="by others"), condition("Failed"), signerName="x.y/z")
    csr.prepare_status(new, old)
    assert new["spec"] == old["spec"]
    assert new["status"]["conditions"] == [condition("Approved", message="by me"), condition("Failed")]


def test_approval_changes_conditions_only():
    old = request(certificate="mine", signerName="a.b/c")
    new = request(condition("Approved"), certificate="other", signerName="x.y/z")
    csr.prepare_approval(new, old)
    assert new["spec"] == old["spec"]
    assert new["status"] == {"certificate": "mine", "conditions": [condition("Approved")]}


# v1.36.4 pkg/registry/certificates/certificates/strategy.go:245
def test_conditions_get_the_times_they_lack():
    old = request(condition("A", lastTransitionTime="before"), condition("B", lastTransitionTime="before"))
    new = request(condition("A"), condition("B", "False"), condition("C", lastUpdateTime="mine", lastTransitionTime="mine"))
    csr.stamp_conditions(new, old, "now")
    times = [(each["lastUpdateTime"], each["lastTransitionTime"]) for each in new["status"]["conditions"]]
    assert times == [("now", "before"), ("now", "now"), ("mine", "mine")]


# v1.36.4 pkg/apis/certificates/helpers.go:29
def test_the_request_itself():
    assert request_problem(pem("CERTIFICATE REQUEST")) == ""
    assert request_problem(pem("NEW CERTIFICATE REQUEST")) == "PEM block type must be CERTIFICATE REQUEST"
    assert request_problem(pem("CERTIFICATE REQUEST", b"\x30\x03\x02\x01\x00")).startswith("x509: malformed")
    assert request_problem("not base64!") == "PEM block type must be CERTIFICATE REQUEST"


# v1.36.4 pkg/printers/internalversion/printers.go:2324
@pytest.mark.parametrize(
    ("shown", "cell"),
    [
        (request(), "Pending"),
        (request(condition("Approved")), "Approved"),
        (request(condition("Approved"), condition("Denied")), "Denied"),
        (request(condition("Approved"), certificate="x"), "Approved,Issued"),
        (request(condition("Approved"), condition("Failed")), "Approved,Failed"),
    ],
)
def test_the_condition_column(shown, cell):
    assert csr.decision(shown, 0.0) == cell


def test_the_other_columns():
    shown = request(expirationSeconds=3600, username="alice")
    cells = {column.name: column.value for column in csr.CERTIFICATE_SIGNING_REQUESTS.columns}
    assert cells["RequestedDuration"](shown, 0.0) == "60m"
    assert cells["RequestedDuration"](request(), 0.0) == "<none>"
    assert cells["SignerName"](shown, 0.0) == "<none>"
    assert cells["Requestor"](shown, 0.0) == "alice"
