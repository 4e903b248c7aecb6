"""The keys of an OpenID Connect issuer, fetched when they are needed: its discovery document, and the key set named there.

An edge: which tokens the keys explain is decided in `open_id.py`.
"""

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import jwt
import orjson

from tiphys.apiserver.authn.outcome import Refused
from tiphys.base.clock import Clock
from tiphys.base.http.client import HttpClient
from tiphys.base.tls_context import client_context
from tiphys.machinery.fields import quote

WELL_KNOWN = "/.well-known/openid-configuration"
LEAST_INTERVAL = 1.0
"""Seconds between two fetches, whatever tokens are shown: bad ones must not make us a nuisance to the issuer."""
PATIENCE = 30.0


class IssuerKeys:
    """Implements open_id.KeySource. `discovery_url`: where the document is, if not under the issuer's own URL."""

    def __init__(self, issuer: str, clock: Clock, *, discovery_url: str = "", authority: bytes = b"") -> None:
        self.keys: Sequence[jwt.PyJWK] = ()
        self._issuer = issuer
        self._clock = clock
        self._discovery_url = discovery_url or issuer.rstrip("/") + WELL_KNOWN
        self._authorities = (authority,) if authority else ()
        self._key_set_url = ""
        self._fetched_at = float("-inf")
        self._turn = asyncio.Lock()

    async def refresh(self) -> None:
        async with self._turn:
            # Who has waited for somebody else's fetch has what that one brought.
            if self._clock.monotonic() - self._fetched_at < LEAST_INTERVAL:
                return
            self._fetched_at = self._clock.monotonic()
            if not self._key_set_url:
                self._key_set_url = await self._discover()
            self._take(await self._get(self._key_set_url))

    async def _discover(self) -> str:
        document = await self._get(self._discovery_url)
        told = document.get("issuer")
        if told != self._issuer:
            expected = f"expected {quote(self._issuer)} got {quote(str(told))}"
            raise Refused(f"oidc: issuer did not match the issuer returned by provider, {expected}")
        url = document.get("jwks_uri")
        if not isinstance(url, str) or not url:
            raise Refused("provider did not return JWKS URL")
        return url

    def _take(self, key_set: dict[str, Any]) -> None:
        """Keys of a kind that we do not know are left out, as they may be meant for others."""
        found = []
        for each in key_set.get("keys") or ():
            if not isinstance(each, dict) or each.get("use", "sig") != "sig":
                continue
            try:
                found.append(jwt.PyJWK(each))
            except (jwt.PyJWTError, ValueError, TypeError):
                continue
        self.keys = tuple(found)

    async def _get(self, url: str) -> dict[str, Any]:
        parts = urlsplit(url)
        if parts.scheme != "https" or not parts.hostname:
            raise Refused(f"oidc: cannot fetch {quote(url)}: only https URLs are")
        client = HttpClient(parts.hostname, parts.port or 443, ssl_context=client_context(self._authorities), keep=0)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            reply = await client.request("GET", path, (("Accept", "application/json"),), timeout=PATIENCE)
        except (OSError, TimeoutError) as error:
            raise Refused(f"oidc: fetching {url} failed: {error}") from None
        if reply.status != 200:
            raise Refused(f"oidc: fetching {url} failed: {reply.status}")
        try:
            document = orjson.loads(reply.body)
        except orjson.JSONDecodeError as error:
            raise Refused(f"oidc: {url} answers no JSON: {error}") from None
        if not isinstance(document, dict):
            raise Refused(f"oidc: {url} answers no JSON object")
        return document
