"""CertificateSubjectRestriction: nobody gets into system:masters by asking for a client certificate."""

from cryptography.x509.oid import NameOID

from tiphys.apiserver.admission.certificates import REQUESTS, parsed
from tiphys.apiserver.admission.chain import CREATE, Attributes
from tiphys.apiserver.authn.user import MASTERS

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"


class CertificateSubjectRestriction:
    name = "CertificateSubjectRestriction"
    operations = CREATE
    resources = REQUESTS

    def validate(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.obj is None or attributes.obj["spec"].get("signerName") != CLIENT_SIGNER:
            return
        try:
            subject = parsed(attributes.obj["spec"].get("request", "")).subject
        except ValueError as problem:
            raise attributes.forbidden(f"failed to parse CSR: {problem}") from None
        if any(each.value == MASTERS for each in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)):
            raise attributes.forbidden(f"use of {CLIENT_SIGNER} signer with {MASTERS} group is not allowed")
