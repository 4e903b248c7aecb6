"""Requests as kubelets and others make them."""

import base64
import ipaddress
from functools import cache

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tiphys.base import tls
from tiphys.controllers.certificates import Authority

NOW = 1_800_000_000.0
NODE = "system:node:n1"
CLIENT = ("digital signature", "client auth")


@cache
def key():
    return ec.generate_private_key(ec.SECP256R1())


@cache
def _pem(common_name, organizations, dns, ips, emails, uris):
    names = [*map(x509.DNSName, dns), *(x509.IPAddress(ipaddress.ip_address(each)) for each in ips)]
    names += [*map(x509.RFC822Name, emails), *map(x509.UniformResourceIdentifier, uris)]
    subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    subject.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(subject))
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(key(), hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def pem(common_name=NODE, organizations=("system:nodes",), dns=(), ips=(), emails=(), uris=()):
    return _pem(common_name, organizations, dns, ips, emails, uris)


def csr(asked=None, *, signer="kubernetes.io/kube-apiserver-client-kubelet", usages=CLIENT, conditions=(), **spec):
    request = base64.b64encode(pem() if asked is None else asked).decode()
    listed = [{"type": each, "status": "True"} if isinstance(each, str) else each for each in conditions]
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "csr-1", "uid": "1", "creationTimestamp": "2027-01-15T08:00:00Z"},
        "spec": {"request": request, "signerName": signer, "usages": list(usages), "username": "someone", **spec},
        "status": {"conditions": listed} if listed else {},
    }


@pytest.fixture(scope="session")
def authority():
    return Authority.of(tls.make_authority("test", now=NOW))
