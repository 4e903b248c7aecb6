"""Tokens of service accounts: signed by this server, bound to objects, and valid as long as those exist.

Checking a signature costs more than everything else on the way of a request, so what a token says is remembered; whether it
still holds (its times, the account, pod or secret it is bound to) is asked each time.
"""

import base64
import binascii
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jwt
import orjson

from tiphys.apiserver.authn.outcome import Authenticated, Lookup, Refused
from tiphys.apiserver.authn.signing_keys import PublicKey, SigningKey, algorithm_of, public_key
from tiphys.apiserver.authn.user import (
    CREDENTIAL_ID,
    User,
    extra_of,
    service_account_groups,
    service_account_name,
    split_service_account,
)
from tiphys.machinery import times
from tiphys.machinery.fields import quote
from tiphys.machinery.tree import Obj, get

LEGACY_ISSUER = "kubernetes/serviceaccount"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
LEEWAY = 60.0
"""Clocks differ; upstream's library forgives a minute."""
MOST_REMEMBERED = 4096

_EXTRA = "authentication.kubernetes.io/"
_LEGACY = "kubernetes.io/serviceaccount/"
_UNCHECKED: Any = {
    "verify_signature": True,
    **dict.fromkeys(("verify_exp", "verify_nbf", "verify_iat", "verify_aud", "verify_iss", "verify_sub", "verify_jti"), False),
}
_AUTO_GENERATED = (
    "Use tokens from the TokenRequest API or manually created secret-based tokens "
    "instead of auto-generated secret-based tokens."
)
# Each claim of a legacy token, and what it is called where it is missing.
_LEGACY_CLAIMS = (
    (_LEGACY + "namespace", "namespace"),
    (_LEGACY + "secret.name", "secretName"),
    (_LEGACY + "service-account.name", "serviceAccountName"),
    (_LEGACY + "service-account.uid", "serviceAccountUID"),
)


@dataclass(frozen=True, slots=True)
class Bound:
    """An object that a token is bound to, by name and uid."""

    name: str
    uid: str = ""

    def to_tree(self) -> Obj:
        return {"name": self.name, "uid": self.uid} if self.uid else {"name": self.name}


def bound(obj: Obj) -> Bound:
    return Bound(obj["metadata"]["name"], obj["metadata"].get("uid", ""))


class Issuer:
    """Signs tokens. Who may have one, and for how long, has been decided before."""

    def __init__(self, issuer: str, key: SigningKey) -> None:
        self._issuer = issuer
        self._key = key
        self._algorithm = algorithm_of(key)
        # An empty type keeps the library from adding one; upstream's tokens have none.
        self._headers = {"kid": public_key(key.public_key()).key_id, "typ": ""}

    def issue(
        self,
        account: Obj,
        *,
        audiences: Sequence[str],
        seconds: int,
        now: float,
        token_id: str,
        pod: Bound | None = None,
        node: Bound | None = None,
        secret: Bound | None = None,
        warn_after: int = 0,
    ) -> str:
        """`node` beside `pod` is told, not bound to. `token_id` is a fresh uuid."""
        metadata, moment = account["metadata"], int(now)
        private: Obj = {"namespace": metadata["namespace"]}
        for field, each in (("node", node), ("pod", pod), ("secret", secret)):
            if each is not None:
                private[field] = each.to_tree()
        private["serviceaccount"] = bound(account).to_tree()
        if warn_after:
            private["warnafter"] = moment + warn_after
        claims = {
            "aud": list(audiences),
            "exp": moment + seconds,
            "iat": moment,
            "iss": self._issuer,
            "jti": token_id,
            "kubernetes.io": private,
            "nbf": moment,
            "sub": service_account_name(metadata["namespace"], metadata["name"]),
        }
        return jwt.encode(claims, self._key, algorithm=self._algorithm, headers=self._headers)

    def issue_legacy(self, account: Obj, secret: Obj) -> str:
        """The token that a Secret of type service-account-token holds: without an end."""
        metadata = account["metadata"]
        claims = {
            "iss": LEGACY_ISSUER,
            _LEGACY + "namespace": metadata["namespace"],
            _LEGACY + "secret.name": secret["metadata"]["name"],
            _LEGACY + "service-account.name": metadata["name"],
            _LEGACY + "service-account.uid": metadata["uid"],
            "sub": service_account_name(metadata["namespace"], metadata["name"]),
        }
        return jwt.encode(claims, self._key, algorithm=self._algorithm, headers=self._headers)


@dataclass(slots=True)
class _Known:
    """What a token with a good signature says."""

    issuer: str
    claims: Obj
    audiences: tuple[str, ...]
    bound: "_Binding | None" = None
    """None for a legacy token."""
    outcome: Authenticated | None = None
    """For who asks this server about itself. Made once: the caches behind know the user again by identity."""


@dataclass(frozen=True, slots=True)
class _Binding:
    """The objects that have to exist as long as the token is to be good."""

    namespace: str
    account: Bound
    secret: Bound | None
    pod: Bound | None
    node: Bound | None


class ServiceAccountTokens:
    """Verifies. `issuers`: the first signs, the others are still believed; `audiences`: the names of this server."""

    def __init__(self, issuers: Sequence[str], keys: Iterable[PublicKey], audiences: Sequence[str], lookup: Lookup) -> None:
        self._issuers = frozenset((*issuers, LEGACY_ISSUER))
        self._audiences = tuple(audiences)
        self._lookup = lookup
        self._keys: dict[str, list[PublicKey]] = {}
        # By the token itself: a look-up compares hashes with a secret seed first, so that time tells nothing of a near miss.
        self._known: dict[str, _Known] = {}
        self.rotate(keys)

    def rotate(self, keys: Iterable[PublicKey]) -> None:
        """Believe these keys from now on, and none but these."""
        self._keys = {}
        for key in keys:
            self._keys.setdefault(key.key_id, []).append(key)
        self._known.clear()

    def authenticate_token(self, token: str, audiences: tuple[str, ...], now: float) -> Authenticated | None:
        known = self._known.get(token)
        if known is None:
            known = self._verify(token)
            if known is None:
                return None
            if len(self._known) >= MOST_REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[token] = known
        meant = known.outcome.audiences if known.outcome and not audiences else self._meant_for(known, audiences)
        _check_times(known.claims, now)
        if known.issuer == LEGACY_ISSUER:
            return self._legacy(known.claims, token, meant)
        return self._bound(known, meant, audiences, now)

    def _verify(self, token: str) -> _Known | None:
        """None for a token that somebody else has issued. Raises Refused for one that only says it is ours."""
        issuer = unverified_issuer(token)
        if issuer not in self._issuers:
            return None
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
        except jwt.PyJWTError:
            return None
        keys = self._keys.get(key_id, []) if key_id else [key for same in self._keys.values() for key in same]
        if not keys:
            raise Refused("invalid signature, no keys found")
        for key in keys:
            try:
                claims = jwt.decode(token, key.key, algorithms=[key.algorithm], options=_UNCHECKED)
            except jwt.PyJWTError:
                continue
            return _Known(issuer, claims, _audiences(claims))
        raise Refused("invalid signature")

    def _meant_for(self, known: _Known, asked: tuple[str, ...]) -> tuple[str, ...]:
        has, wanted = known.audiences or self._audiences, asked or self._audiences
        both = tuple(audience for audience in has if audience in wanted)
        if not both and self._audiences:
            raise Refused(f"token audiences {_spell(has)} is invalid for the target audiences {_spell(wanted)}")
        return both

    def _bound(self, known: _Known, meant: tuple[str, ...], asked: tuple[str, ...], now: float) -> Authenticated:
        bound = known.bound
        if bound is None:
            bound = known.bound = _binding(known.claims)
        namespace, account, secret, pod, node = bound.namespace, bound.account, bound.secret, bound.pod, bound.node
        gone_before = now - LEEWAY
        self._check_account(namespace, account, gone_before)
        if secret is not None:
            told = f"does not match service account secret ref claim ({secret.uid})"
            _check_bound("secret", self._lookup.secret(namespace, secret.name), secret, told, gone_before)
        if pod is not None:
            told = f"does not match service account pod ref claim ({pod.uid})"
            _check_bound("pod", self._lookup.pod(namespace, pod.name), pod, told, gone_before)
        elif node is not None:
            told = f"does not match service account node ref claim ({node.uid})"
            _check_bound("node", self._lookup.node(node.name), node, told, gone_before)
        outcome = known.outcome
        if outcome is None:
            user = user_of(namespace, account, pod, node, known.claims.get("jti", ""))
            outcome = Authenticated(user, meant)
            if not asked:
                known.outcome = outcome
        return outcome if not asked else Authenticated(outcome.user, meant)

    def _check_account(self, namespace: str, account: Bound, gone_before: float) -> None:
        found = self._lookup.service_account(namespace, account.name)
        if found is None:
            raise Refused(f"serviceaccounts {quote(account.name)} not found")
        metadata = found["metadata"]
        uid = metadata.get("uid", "")
        if uid != account.uid:
            raise Refused(f"service account UID ({uid}) does not match claim ({account.uid})")
        if "deletionTimestamp" in metadata and _is_gone(found, gone_before):
            raise Refused(f"service account {namespace}/{account.name} has been deleted")

    def _legacy(self, claims: Obj, token: str, meant: tuple[str, ...]) -> Authenticated:
        subject = claims.get("sub")
        if not subject:
            raise Refused("sub claim is missing")
        for field, told in _LEGACY_CLAIMS:
            if not claims.get(field):
                raise Refused(f"{told} claim is missing")
        namespace, secret_name, name, uid = (str(claims[field]) for field, _ in _LEGACY_CLAIMS)
        if split_service_account(str(subject)) != (namespace, name):
            raise Refused("sub claim is invalid")
        secret = self._lookup.secret(namespace, secret_name)
        if secret is None or get(secret, ("metadata", "deletionTimestamp")):
            raise Refused("Token has been invalidated")
        if not hmac.compare_digest(_stored_token(secret), token.encode()):
            raise Refused("Token does not match server's copy")
        account = self._legacy_account(namespace, name, uid)
        if get(secret, ("metadata", "labels", INVALID_SINCE)):
            raise Refused(_marked_invalid(namespace, secret_name, name))
        auto = any(each.get("name") == secret_name for each in account.get("secrets") or ())
        user = user_of(namespace, Bound(name, uid))
        return Authenticated(user, meant, _AUTO_GENERATED if auto else "", f"{namespace}/{secret_name}")

    def _legacy_account(self, namespace: str, name: str, uid: str) -> Obj:
        account = self._lookup.service_account(namespace, name)
        if account is None:
            raise Refused(f"serviceaccounts {quote(name)} not found")
        metadata = account["metadata"]
        if metadata.get("deletionTimestamp"):
            raise Refused(f"ServiceAccount {namespace}/{name} has been deleted")
        if metadata.get("uid", "") != uid:
            raise Refused(f"ServiceAccount UID ({metadata.get('uid', '')}) does not match claim ({uid})")
        return account


def user_of(namespace: str, account: Bound, pod: Bound | None = None, node: Bound | None = None, token_id: str = "") -> User:
    extra: dict[str, tuple[str, ...]] = {}
    if pod is not None and pod.name and pod.uid:
        extra[_EXTRA + "pod-name"], extra[_EXTRA + "pod-uid"] = (pod.name,), (pod.uid,)
    if token_id:
        extra[CREDENTIAL_ID] = (f"JTI={token_id}",)
    if node is not None and node.name:
        extra[_EXTRA + "node-name"] = (node.name,)
        if node.uid:
            extra[_EXTRA + "node-uid"] = (node.uid,)
    name = service_account_name(namespace, account.name)
    return User(name, service_account_groups(namespace), account.uid, extra_of(extra))


def unverified_issuer(token: str) -> str:
    parts = token.split(".")
    if len(parts) != 3:
        return ""
    try:
        payload = orjson.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError):
        return ""
    issuer = payload.get("iss") if isinstance(payload, dict) else None
    return issuer if isinstance(issuer, str) else ""


def _audiences(claims: Obj) -> tuple[str, ...]:
    said: Any = claims.get("aud") or ()
    return (said,) if isinstance(said, str) else tuple(each for each in said if isinstance(each, str))


def _spell(audiences: Iterable[str]) -> str:
    return "[" + " ".join(quote(each) for each in audiences) + "]"


def _check_times(claims: Obj, now: float) -> None:
    get_claim = claims.get
    starts, ends, made = get_claim("nbf"), get_claim("exp"), get_claim("iat")
    if starts is not None and now + LEEWAY < starts:
        raise Refused("service account token is not valid yet")
    if ends is not None and now - LEEWAY > ends:
        raise Refused("service account token has expired")
    if made is not None and now + LEEWAY < made:
        raise Refused("service account token is issued in the future")


def _binding(claims: Obj) -> _Binding:
    private = claims.get("kubernetes.io")
    if not isinstance(private, dict):
        raise Refused("service account token claims could not be validated")
    secret, pod, node = (_reference(private, field) for field in ("secret", "pod", "node"))
    return _Binding(private.get("namespace", ""), _reference(private, "serviceaccount") or Bound(""), secret, pod, node)


def _reference(private: Obj, field: str) -> Bound | None:
    found = private.get(field)
    return Bound(found.get("name", ""), found.get("uid", "")) if isinstance(found, dict) else None


def _check_bound(what: str, found: Obj | None, reference: Bound, told: str, gone_before: float) -> None:
    if found is None:
        raise Refused("service account token has been invalidated")
    uid = found["metadata"].get("uid", "")
    if uid != reference.uid:
        raise Refused(f"{what} UID ({uid}) {told}")
    if _is_gone(found, gone_before):
        raise Refused("service account token has been invalidated")


def _is_gone(obj: Obj, gone_before: float) -> bool:
    since = obj["metadata"].get("deletionTimestamp")
    return bool(since) and times.parse(since) < gone_before


def _stored_token(secret: Obj) -> bytes:
    try:
        return base64.b64decode(get(secret, ("data", "token"), ""))
    except (binascii.Error, ValueError):
        return b""


def _marked_invalid(namespace: str, secret: str, account: str) -> str:
    return (
        f"the token in secret {namespace}/{secret} for service account {namespace}/{account} has been marked invalid. "
        "Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the "
        f"'{INVALID_SINCE}' label from the secret to temporarily allow use of this token"
    )
