"""Fetching an issuer's keys from a server of our own that plays the issuer."""

import asyncio

import jwt
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from tiphys.apiserver.authn import issuer_keys
from tiphys.apiserver.authn.issuer_keys import WELL_KNOWN, IssuerKeys
from tiphys.apiserver.authn.outcome import Refused
from tiphys.base import tls
from tiphys.base.clock import RealClock
from tiphys.base.http.messages import Response
from tiphys.base.http.server import Server
from tiphys.base.tls_context import Serving

NOW = RealClock().now()
AUTHORITY = tls.make_authority("issuer", now=NOW)
PAIR = tls.issue(AUTHORITY, tls.Subject("issuer"), ["server"], now=NOW, names=["127.0.0.1"])
RSA, CURVE = rsa.generate_private_key(public_exponent=65537, key_size=2048), ec.generate_private_key(ec.SECP256R1())


class StillClock(RealClock):
    """Time passes when the test says so."""

    def __init__(self):
        self.at = 100.0

    def monotonic(self):
        return self.at


def jwk(key, key_id):
    algorithm = jwt.algorithms.RSAAlgorithm if key is RSA else jwt.algorithms.ECAlgorithm
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": key_id, "use": "sig"}


class Issuer:
    def __init__(self):
        self.asked = []
        self.url = ""
        self.document = {}
        self.key_set = {"keys": [jwk(RSA, "one"), {"kty": "strange"}, {**jwk(CURVE, "enc"), "use": "enc"}, "no key"]}

    async def handle(self, request):
        self.asked.append(request.path)
        if request.path == WELL_KNOWN:
            return Response(200, orjson.dumps({"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.document}))
        if request.path == "/keys":
            return Response(200, orjson.dumps(self.key_set))
        return Response(404, b"no")


def with_issuer(talk):
    async def main():
        issuer = Issuer()
        server = Server(issuer.handle, ssl_context=Serving(PAIR).context)
        _, port = await server.listen("127.0.0.1", 0)
        issuer.url = f"https://127.0.0.1:{port}"
        try:
            await talk(issuer)
        finally:
            await server.shutdown(0)

    asyncio.run(main())


def test_keys_are_found_by_way_of_the_discovery_document():
    async def talk(issuer):
        keys = IssuerKeys(issuer.url, StillClock(), authority=AUTHORITY.certificate)
        assert keys.keys == ()
        await keys.refresh()
        assert [key.key_id for key in keys.keys] == ["one"]
        assert issuer.asked == [WELL_KNOWN, "/keys"]

    with_issuer(talk)


def test_many_who_need_the_keys_at_once_fetch_them_once_and_bad_tokens_do_not_make_us_a_nuisance():
    async def talk(issuer):
        clock = StillClock()
        keys = IssuerKeys(issuer.url, clock, authority=AUTHORITY.certificate)
        async with asyncio.TaskGroup() as group:
            for _ in range(20):
                group.create_task(keys.refresh())
        assert issuer.asked == [WELL_KNOWN, "/keys"]
        clock.at += issuer_keys.LEAST_INTERVAL / 2
        await keys.refresh()
        assert len(issuer.asked) == 2
        clock.at += issuer_keys.LEAST_INTERVAL
        issuer.key_set = {"keys": [jwk(CURVE, "two")]}
        await keys.refresh()
        assert issuer.asked[2:] == ["/keys"]
        assert [key.key_id for key in keys.keys] == ["two"]

    with_issuer(talk)


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"issuer": "https://evil.example"}, "issuer did not match the issuer returned by provider"),
        ({"jwks_uri": ""}, "provider did not return JWKS URL"),
        ({"jwks_uri": "http://127.0.0.1/keys"}, "only https"),
        ({"jwks_uri": "file:///etc/passwd"}, "only https"),
    ],
)
def test_documents_that_cannot_be_meant(document, problem):
    async def talk(issuer):
        issuer.document = document
        keys = IssuerKeys(issuer.url, StillClock(), authority=AUTHORITY.certificate)
        with pytest.raises(Refused, match=problem):
            await keys.refresh()
        assert keys.keys == ()

    with_issuer(talk)


def test_the_issuer_has_to_show_the_right_certificate_and_to_answer():
    async def talk(issuer):
        stranger = tls.make_authority("stranger", now=NOW).certificate
        with pytest.raises(Refused, match="failed"):
            await IssuerKeys(issuer.url, StillClock(), authority=stranger).refresh()
        with pytest.raises(Refused, match="404"):
            await IssuerKeys(f"{issuer.url}/other", StillClock(), authority=AUTHORITY.certificate).refresh()
        with pytest.raises(Refused, match="failed"):
            await IssuerKeys("https://127.0.0.1:1", StillClock(), authority=AUTHORITY.certificate).refresh()

    with_issuer(talk)


def test_the_document_may_be_elsewhere():
    async def talk(issuer):
        issuer.document = {"issuer": "https://public.example"}
        elsewhere = issuer.url + WELL_KNOWN
        keys = IssuerKeys("https://public.example", StillClock(), discovery_url=elsewhere, authority=AUTHORITY.certificate)
        await keys.refresh()
        assert [key.key_id for key in keys.keys] == ["one"]

    with_issuer(talk)
