"""The file of --authentication-config: AuthenticationConfiguration of apiserver.config.k8s.io, read and checked.

Everything but expressions (CEL), which are refused: a rule that is left out would let in whom it is meant to keep away.
https://kubernetes.io/docs/reference/access-authn-authz/authentication/#using-authentication-configuration
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import yaml
from cryptography import x509

from tiphys.apiserver.authn.open_id import ALGORITHMS, Claim, JwtIssuer
from tiphys.machinery.fields import FieldError, child, duplicate, forbidden, index, invalid, required
from tiphys.machinery.tree import Obj

GROUP = "apiserver.config.k8s.io/"
VERSIONS = ("v1", "v1beta1", "v1alpha1")
NO_EXPRESSIONS = "expressions (CEL) are not supported here; use claims"

_FIELDS = {
    "": ("apiVersion", "kind", "jwt", "anonymous"),
    "anonymous": ("enabled", "conditions"),
    "jwt": ("issuer", "claimValidationRules", "claimMappings", "userValidationRules"),
    "issuer": (
        "url",
        "discoveryURL",
        "certificateAuthority",
        "audiences",
        "audienceMatchPolicy",
        "egressSelectorType",
    ),
    "claimMappings": ("username", "groups", "uid", "extra"),
}


@dataclass(frozen=True, slots=True)
class AnonymousSettings:
    enabled: bool = True
    paths: tuple[str, ...] = ()
    """The only ones that may be asked for; empty: all."""


@dataclass(frozen=True, slots=True)
class AuthenticationConfiguration:
    issuers: tuple[JwtIssuer, ...] = ()
    anonymous: AnonymousSettings | None = None


def parse(data: bytes, not_issuers: Iterable[str] = ()) -> AuthenticationConfiguration:
    """ValueError tells all that is wrong. `not_issuers`: of service account tokens, which are checked otherwise."""
    try:
        tree = yaml.safe_load(data)
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {error}") from None
    if not isinstance(tree, dict) or tree.get("kind") != "AuthenticationConfiguration":
        raise ValueError("it has no AuthenticationConfiguration")
    if tree.get("apiVersion") not in [GROUP + version for version in VERSIONS]:
        raise ValueError(f'no kind "AuthenticationConfiguration" is registered for version "{tree.get("apiVersion")}"')
    problems = [*_unknown(tree), *_check(tree, frozenset(not_issuers))]
    if problems:
        told = [str(each) for each in problems]
        raise ValueError(told[0] if len(told) == 1 else f"[{', '.join(told)}]")
    return AuthenticationConfiguration(tuple(_issuer(each) for each in tree.get("jwt") or ()), _anonymous(tree))


def _unknown(tree: Obj) -> Iterator[FieldError]:
    yield from _only(tree, "", "")
    yield from _only(tree.get("anonymous"), "anonymous", "anonymous")
    for number, each in enumerate(tree.get("jwt") or ()):
        at = index("jwt", number)
        yield from _only(each, at, "jwt")
        for part in ("issuer", "claimMappings"):
            yield from _only(each.get(part), child(at, part), part)


def _only(tree: Any, at: str, kind: str) -> Iterator[FieldError]:
    for name in tree or ():
        if name not in _FIELDS[kind]:
            yield forbidden(child(at, str(name)) if at else str(name), "unknown field")


def _check(tree: Obj, not_issuers: frozenset[str]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for number, each in enumerate(tree.get("jwt") or ()):
        at = index("jwt", number)
        yield from _check_issuer(each.get("issuer") or {}, child(at, "issuer"), not_issuers)
        yield from _check_rules(each, at)
        yield from _check_mappings(each.get("claimMappings") or {}, child(at, "claimMappings"))
        url = (each.get("issuer") or {}).get("url", "")
        if url in seen:
            yield duplicate(child(at, "issuer", "url"), url)
        seen.add(url)
    anonymous = tree.get("anonymous") or {}
    if anonymous.get("conditions") and not anonymous.get("enabled"):
        told = "enabled should be set to true when conditions are defined"
        yield invalid("anonymous.conditions", anonymous["conditions"], told)


def _check_issuer(issuer: Obj, at: str, not_issuers: frozenset[str]) -> Iterator[FieldError]:
    url, discovery = issuer.get("url", ""), issuer.get("discoveryURL", "")
    yield from _check_url(url, child(at, "url"))
    if url in not_issuers:
        told = f"URL must not overlap with disallowed issuers: [{' '.join(sorted(not_issuers))}]"
        yield invalid(child(at, "url"), url, told)
    if discovery:
        yield from _check_url(discovery, child(at, "discoveryURL"))
        if url.rstrip("/") == discovery.rstrip("/"):
            yield invalid(child(at, "discoveryURL"), discovery, "discoveryURL must be different from URL")
    audiences, policy = issuer.get("audiences") or [], issuer.get("audienceMatchPolicy", "")
    listed = child(at, "audiences")
    if not audiences:
        yield required(listed, f"at least one {listed} is required")
    for number, each in enumerate(audiences):
        if not each:
            yield required(index(listed, number))
        if each in audiences[:number]:
            yield duplicate(index(listed, number), each)
    if len(audiences) > 1 and policy != "MatchAny":
        told = "audienceMatchPolicy must be MatchAny for multiple audiences"
        yield invalid(child(at, "audienceMatchPolicy"), policy, told)
    elif policy not in ("", "MatchAny"):
        told = "audienceMatchPolicy must be empty or MatchAny for single audience"
        yield invalid(child(at, "audienceMatchPolicy"), policy, told)
    if issuer.get("certificateAuthority"):
        try:
            x509.load_pem_x509_certificates(issuer["certificateAuthority"].encode())
        except ValueError:
            told = "data does not contain any valid RSA or ECDSA certificates"
            yield invalid(child(at, "certificateAuthority"), "<omitted>", told)
    if issuer.get("egressSelectorType"):
        yield forbidden(child(at, "egressSelectorType"), "there are no egress selectors here")


def _check_url(url: str, at: str) -> Iterator[FieldError]:
    if not url:
        yield required(at)
        return
    parts = urlsplit(url)
    if parts.scheme != "https":
        yield invalid(at, url, "URL scheme must be https")
    if parts.username is not None or parts.password is not None:
        yield invalid(at, url, "URL must not contain a username or password")
    if parts.query:
        yield invalid(at, url, "URL must not contain a query")
    if parts.fragment:
        yield invalid(at, url, "URL must not contain a fragment")


def _check_rules(authenticator: Obj, at: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for number, rule in enumerate(authenticator.get("claimValidationRules") or ()):
        here = index(child(at, "claimValidationRules"), number)
        if rule.get("expression"):
            yield forbidden(child(here, "expression"), NO_EXPRESSIONS)
        elif not rule.get("claim"):
            yield required(here, "claim or expression is required")
        elif rule.get("message"):
            yield invalid(child(here, "message"), rule["message"], "may not be specified when claim is set")
        elif rule["claim"] in seen:
            yield duplicate(child(here, "claim"), rule["claim"])
        seen.add(rule.get("claim", ""))
    if authenticator.get("userValidationRules"):
        yield forbidden(child(at, "userValidationRules"), NO_EXPRESSIONS)


def _check_mappings(mappings: Obj, at: str) -> Iterator[FieldError]:
    for name in ("username", "groups", "uid"):
        mapping = mappings.get(name) or {}
        here = child(at, name)
        if mapping.get("expression"):
            yield forbidden(child(here, "expression"), NO_EXPRESSIONS)
        elif mapping.get("claim"):
            if name != "uid" and mapping.get("prefix") is None:
                told = "prefix is required when claim is set. It can be set to an empty string to disable prefixing"
                yield required(child(here, "prefix"), told)
        elif name == "username":
            yield required(here, "claim or expression is required")
        elif mapping.get("prefix"):
            yield invalid(child(here, "prefix"), mapping["prefix"], "may not be specified when claim is not set")
    if mappings.get("extra"):
        yield forbidden(child(at, "extra"), NO_EXPRESSIONS)


def _issuer(authenticator: Obj) -> JwtIssuer:
    issuer, mappings = authenticator["issuer"], authenticator["claimMappings"]
    username, groups = mappings["username"], mappings.get("groups") or {}
    rules = authenticator.get("claimValidationRules") or ()
    return JwtIssuer(
        issuer["url"],
        tuple(issuer["audiences"]),
        Claim(username["claim"], username["prefix"]),
        Claim(groups["claim"], groups["prefix"]) if groups.get("claim") else None,
        (mappings.get("uid") or {}).get("claim", ""),
        tuple((rule["claim"], rule.get("requiredValue", "")) for rule in rules),
        ALGORITHMS,
        issuer.get("discoveryURL", ""),
        issuer.get("certificateAuthority", "").encode(),
    )


def _anonymous(tree: Obj) -> AnonymousSettings | None:
    said = tree.get("anonymous")
    if said is None:
        return None
    return AnonymousSettings(bool(said.get("enabled")), tuple(each["path"] for each in said.get("conditions") or ()))
