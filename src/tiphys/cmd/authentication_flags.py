"""Flags about outsiders who know users or rights: OpenID Connect, webhooks, configuration files; and what follows from them."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from tiphys.apiserver.authn import configuration, token_file
from tiphys.apiserver.authn.configuration import AuthenticationConfiguration
from tiphys.apiserver.authn.open_id import ALGORITHMS, Claim, JwtIssuer
from tiphys.apiserver.authn.user import User
from tiphys.cmd.authentication import TokenWebhook, Trusted, TrustedFiles
from tiphys.cmd.data_directory import Unusable
from tiphys.cmd.kubeconfigs import access_in
from tiphys.cmd.token_command import duration

VERSIONS = ("v1", "v1beta1")


def listed(value: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in value.split(",") if each.strip())


def pair(value: str) -> tuple[str, str]:
    name, equals, wanted = value.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{value!r} is not key=value")
    return name, wanted


def add_authentication(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--basic-auth-file", type=Path, metavar="F", help='CSV of passwords: password,user,uid[,"group1,group2"] (discouraged)')
    add("--authentication-config", type=Path, metavar="F", help="AuthenticationConfiguration: issuers of tokens, anonymous")
    add("--oidc-issuer-url", default="", metavar="URL", help="issuer of OpenID tokens")
    add("--oidc-client-id", default="", metavar="ID", help="for whom its tokens have to be meant")
    add("--oidc-ca-file", type=Path, metavar="F", help="authority of its certificate (default: those of this machine)")
    add("--oidc-username-claim", default="sub", metavar="C", help="claim that names the user (default: %(default)s)")
    add("--oidc-username-prefix", default="", metavar="P", help="put before the name; - for none (default: the issuer and #)")
    add("--oidc-groups-claim", default="", metavar="C", help="claim that lists the groups")
    add("--oidc-groups-prefix", default="", metavar="P", help="put before each group")
    add("--oidc-signing-algs", type=listed, default=("RS256",), metavar="A,...", help="believed signatures (default: RS256)")
    add("--oidc-required-claim", type=pair, action="append", default=[], metavar="K=V", help="a claim that has to be there")
    add("--authentication-token-webhook-config-file", type=Path, metavar="F", help="kubeconfig of who knows tokens")
    add("--authentication-token-webhook-version", choices=VERSIONS, default="v1beta1", help="(default: %(default)s)")
    add("--authentication-token-webhook-cache-ttl", type=duration, default=120.0, metavar="D", help="(default: 2m)")


def completed(trusted: Trusted, given: argparse.Namespace) -> Trusted:
    """`trusted` with what these flags say, and with the files that follow what they hold. Raises Unusable."""
    configured = _configuration(given, trusted)
    issuers = configured.issuers or _issuers_of_flags(given, trusted)
    anonymous = configured.anonymous
    passwords: Path | None = given.basic_auth_file
    if passwords is not None:
        print("warning: --basic-auth-file keeps passwords in the clear; upstream has dropped it", file=sys.stderr)
    return replace(
        trusted,
        passwords=_users(passwords) if passwords else {},
        issuers=issuers,
        token_webhook=_token_webhook(given),
        anonymous=anonymous.enabled if anonymous else trusted.anonymous,
        anonymous_paths=anonymous.paths if anonymous else (),
        files=TrustedFiles(
            given.client_ca_file, given.requestheader_client_ca_file, given.token_auth_file, given.basic_auth_file
        ),
    )


def _configuration(given: argparse.Namespace, trusted: Trusted) -> AuthenticationConfiguration:
    file: Path | None = given.authentication_config
    if file is None:
        return AuthenticationConfiguration()
    try:
        configured = configuration.parse(file.read_bytes(), trusted.accounts.issuers)
    except OSError as problem:
        raise Unusable(f"cannot read {file}: {problem.strerror}") from None
    except ValueError as problem:
        raise Unusable(f'failed to load authentication configuration from file "{file}": {problem}') from None
    if given.oidc_issuer_url or given.oidc_client_id:
        raise Unusable("authentication-config file and oidc-* flags are mutually exclusive")
    return configured


def _issuers_of_flags(given: argparse.Namespace, trusted: Trusted) -> tuple[JwtIssuer, ...]:
    url, client = given.oidc_issuer_url, given.oidc_client_id
    if not url and not client:
        return ()
    if not url or not client:
        raise Unusable("oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set")
    if not url.startswith("https://"):
        raise Unusable(f'oidc: --oidc-issuer-url: Invalid value: "{url}": URL scheme must be https')
    if url in trusted.accounts.issuers:
        raise Unusable(f"oidc: {url} issues service account tokens already")
    for algorithm in given.oidc_signing_algs:
        if algorithm not in ALGORITHMS:
            raise Unusable(f'oidc: unsupported signing alg: "{algorithm}"')
    prefix = given.oidc_username_prefix
    if not prefix and given.oidc_username_claim != "email":
        prefix = f"{url}#"
    try:
        authority = given.oidc_ca_file.read_bytes() if given.oidc_ca_file else b""
    except OSError as problem:
        raise Unusable(f"cannot read {given.oidc_ca_file}: {problem.strerror}") from None
    return (
        JwtIssuer(
            url,
            (client,),
            Claim(given.oidc_username_claim, "" if prefix == "-" else prefix),
            Claim(given.oidc_groups_claim, given.oidc_groups_prefix) if given.oidc_groups_claim else None,
            required=tuple(dict(given.oidc_required_claim).items()),
            algorithms=given.oidc_signing_algs,
            authority=authority,
        ),
    )


def _token_webhook(given: argparse.Namespace) -> TokenWebhook | None:
    file: Path | None = given.authentication_token_webhook_config_file
    if file is None:
        return None
    version, seconds = given.authentication_token_webhook_version, given.authentication_token_webhook_cache_ttl
    return TokenWebhook(access_in(file), version, seconds)


def _users(file: Path) -> dict[str, User]:
    try:
        return token_file.parse(file.read_text(), str(file))
    except OSError as problem:
        raise Unusable(f"cannot read {file}: {problem.strerror}") from None
    except ValueError as problem:
        raise Unusable(f"cannot use {file}: {problem}") from None
