"""Tokens of OpenID Connect issuers: who they say their bearer is, once the issuer's signature is found good.

What a token says is remembered as long as its issuer's keys stay the same; whether it is still its time is asked
at each request. A signature that no known key explains makes the keys be fetched anew: issuers change them.
https://kubernetes.io/docs/reference/access-authn-authz/authentication/#openid-connect-tokens
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jwt

from tiphys.apiserver.authn.outcome import Authenticated, Outcome, Refused
from tiphys.apiserver.authn.service_account import unverified_issuer
from tiphys.apiserver.authn.user import CREDENTIAL_ID, User
from tiphys.machinery import times
from tiphys.machinery.fields import quote
from tiphys.machinery.tree import Obj

ALGORITHMS = tuple(f"{family}{size}" for family in ("RS", "ES", "PS") for size in (256, 384, 512))
"""Of keys that have a public part. With a shared secret, or none, everybody who can check a token could also make one."""
LEEWAY = 60.0
"""Of the beginning alone, as upstream's library has it."""
MOST_REMEMBERED = 4096

_UNCHECKED: Any = {
    "verify_signature": True,
    **dict.fromkeys(("verify_exp", "verify_nbf", "verify_iat", "verify_aud", "verify_iss", "verify_sub", "verify_jti"), False),
}
_KINDS = {dict: "object", list: "array", bool: "bool", int: "number", float: "number", str: "string", type(None): "null"}


@dataclass(frozen=True, slots=True)
class Claim:
    name: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class JwtIssuer:
    url: str
    audiences: tuple[str, ...]
    """A token has to be meant for one of them."""
    username: Claim
    groups: Claim | None = None
    uid: str = ""
    required: tuple[tuple[str, str], ...] = ()
    """Claims and the values that they must have."""
    algorithms: tuple[str, ...] = ("RS256",)
    discovery_url: str = ""
    authority: bytes = b""


class Key(Protocol):
    """As jwt.PyJWK has it."""

    @property
    def key_id(self) -> str | None: ...

    @property
    def key(self) -> Any: ...


class KeySource(Protocol):
    """The keys of one issuer, as last fetched."""

    @property
    def keys(self) -> Sequence[Key]: ...

    async def refresh(self) -> None:
        """Fetch them, unless that has only just been done. Raises Refused if they cannot be had."""
        ...


@dataclass(slots=True)
class _Known:
    outcome: Authenticated
    expires: float
    begins: float | None
    keys: Sequence[Key]


class OpenIdTokens:
    def __init__(self, issuer: JwtIssuer, source: KeySource) -> None:
        self._issuer = issuer
        self._source = source
        self._known: dict[str, _Known] = {}

    def authenticate_token(self, token: str, audiences: tuple[str, ...], now: float) -> Outcome:  # noqa: ARG002
        known = self._known.get(token)
        if known is not None and known.keys is self._source.keys:
            _check_times(known.expires, known.begins, now)
            return known.outcome
        if unverified_issuer(token) != self._issuer.url:
            return None
        return self._examine(token, now)

    async def _examine(self, token: str, now: float) -> Authenticated:
        try:
            claims = await self._verify(token)
            expires, begins = _number(claims, "exp") or 0.0, _number(claims, "nbf")
            _check_times(expires, begins, now)
            self._check_audience(claims)
        except Refused as refusal:
            raise Refused(f"oidc: verify token: {refusal}") from None
        outcome = Authenticated(user_of(self._issuer, claims))
        if len(self._known) >= MOST_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[token] = _Known(outcome, expires, begins, self._source.keys)
        return outcome

    async def _verify(self, token: str) -> Obj:
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError as error:
            raise Refused(f"oidc: malformed jwt: {error}") from None
        algorithm, allowed = header.get("alg", ""), self._issuer.algorithms
        if algorithm not in allowed:
            expected = "[" + " ".join(map(quote, allowed)) + "]"
            raise Refused(f"oidc: id token signed with unsupported algorithm, expected {expected} got {quote(str(algorithm))}")
        key_id = header.get("kid")
        for refreshed in (False, True):
            if refreshed:
                await self._source.refresh()
            for key in self._source.keys:
                if key_id and key.key_id != key_id:
                    continue
                claims = _decoded(token, key, algorithm)
                if claims is not None:
                    return claims
        raise Refused("failed to verify signature: failed to verify id token signature")

    def _check_audience(self, claims: Obj) -> None:
        said = claims.get("aud")
        meant = [said] if isinstance(said, str) else [each for each in said or () if isinstance(each, str)]
        if not set(meant) & set(self._issuer.audiences):
            expected, got = sorted(self._issuer.audiences), meant
            raise Refused(f"oidc: expected audience in {_spell(expected)} got {_spell(got)}")


def _decoded(token: str, key: Key, algorithm: str) -> Obj | None:
    try:
        claims: Obj = jwt.decode(token, key.key, algorithms=[algorithm], options=_UNCHECKED)
    except (jwt.PyJWTError, TypeError, ValueError):
        # A key of another kind than the algorithm is for is not the one.
        return None
    return claims


def _check_times(expires: float, begins: float | None, now: float) -> None:
    if expires < now:
        raise Refused(f"oidc: token is expired (Token Expiry: {times.rfc3339(expires)})")
    if begins is not None and now + LEEWAY < begins:
        raise Refused(f"oidc: current time {times.rfc3339(now)} before the nbf (not before) time: {times.rfc3339(begins)}")


def user_of(issuer: JwtIssuer, claims: Obj) -> User:
    """Whom the claims name. Raises Refused."""
    name = _username(issuer.username, claims)
    groups = _groups(issuer.groups, claims)
    uid = ""
    if issuer.uid:
        uid = _text(claims, issuer.uid, f"oidc: parse uid claim {quote(issuer.uid)}")
    for claim, wanted in issuer.required:
        if claim not in claims:
            raise Refused(f"oidc: required claim {claim} not present in ID token")
        value = _text(claims, claim, f"oidc: parse claim {claim}")
        if value != wanted:
            raise Refused(f"oidc: required claim {claim} value does not match. Got = {value}, want = {wanted}")
    token_id = claims.get("jti")
    extra = ((CREDENTIAL_ID, (f"JTI={token_id}",)),) if token_id and isinstance(token_id, str) else ()
    return User(name, groups, uid, extra)


def _username(claim: Claim, claims: Obj) -> str:
    name = _text(claims, claim.name, f"oidc: parse username claims {quote(claim.name)}")
    verified = claims.get("email_verified", True)
    if claim.name == "email" and verified is not True:
        if verified is not False:
            raise Refused(f"oidc: parse 'email_verified' claim: {_wrong_kind(verified, 'bool')}")
        raise Refused("oidc: email not verified")
    return claim.prefix + name


def _groups(claim: Claim | None, claims: Obj) -> tuple[str, ...]:
    """One group may be told as a string."""
    if claim is None or claim.name not in claims:
        return ()
    said = claims[claim.name]
    listed = [said] if isinstance(said, str) else said or ()
    if not isinstance(listed, list | tuple) or not all(isinstance(each, str) for each in listed):
        problem = _wrong_kind(said, "string")
        raise Refused(f"oidc: parse groups claim {quote(claim.name)}: {problem}")
    return tuple(claim.prefix + each for each in listed)


def _text(claims: Obj, name: str, doing: str) -> str:
    if name not in claims:
        raise Refused(f"{doing}: claim not present")
    value = claims[name]
    if not isinstance(value, str):
        raise Refused(f"{doing}: {_wrong_kind(value, 'string')}")
    return value


def _wrong_kind(value: object, wanted: str) -> str:
    return f"json: cannot unmarshal {_KINDS.get(type(value), 'value')} into Go value of type {wanted}"


def _number(claims: Obj, name: str) -> float | None:
    value = claims.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _spell(values: Sequence[str]) -> str:
    return "[" + " ".join(map(quote, values)) + "]"
