"""Certificates on request: who asks for one that they may have gets it approved, signed, and in the end cleared away.

A kubelet that joins posts a CertificateSigningRequest; `approving.py` lets it pass if the asker may have such a
certificate, `signing.py` signs what is approved (by whomever) with the authority of its signer name, and `cleaning.py` deletes
requests that nobody will look at again. `requests.py` reads requests, `authority.py` knows what a signature may say.
"""

from tiphys.controllers.certificates.approving import RequestApproving
from tiphys.controllers.certificates.authority import Authority
from tiphys.controllers.certificates.cleaning import RequestCleaning
from tiphys.controllers.certificates.requests import SIGNERS
from tiphys.controllers.certificates.signing import RequestSigning

__all__ = ["SIGNERS", "Authority", "RequestApproving", "RequestCleaning", "RequestSigning"]
