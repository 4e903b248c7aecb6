"""`tiphys apiserver`: flags to settings, and the server until it is told to stop."""

import argparse
import asyncio
import ipaddress
import sys
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from ssl import TLSVersion
from typing import Any, TypeVar

from tiphys.apiserver.authn import signing_keys, token_file
from tiphys.apiserver.authn.trust import Trust
from tiphys.apiserver.authz import abac
from tiphys.base import tls
from tiphys.base.clock import RealClock
from tiphys.base.log import log
from tiphys.base.tasks import spawn, start
from tiphys.base.tls import Pair
from tiphys.cmd import (
    api_flags,
    authentication_flags,
    authorization_flags,
    certificates,
    flags,
    gate_flags,
    idle_flags,
    kubelet_client_flags,
    writing_flags,
)
from tiphys.cmd.addresses import check_ranges
from tiphys.cmd.api_server import ApiServerSettings, Pace, open_api_server
from tiphys.cmd.apiserver_flags import ISSUER, parser
from tiphys.cmd.authentication import FrontProxy, ServiceAccounts, Trusted
from tiphys.cmd.certificates import Certificates
from tiphys.cmd.data_directory import DataDirectory, Unusable
from tiphys.cmd.process import run_until_stopped, settle_memory
from tiphys.cmd.renewal import keep_renewed
from tiphys.cmd.stores import EMBEDDED, StoreSettings
from tiphys.machinery import feature_gates

__all__ = ["main", "parser"]

T = TypeVar("T")
_TLS = {"VersionTLS12": TLSVersion.TLSv1_2, "VersionTLS13": TLSVersion.TLSv1_3}


def main(name: str, arguments: list[str]) -> int:
    known = parser(name)
    given = known.parse_args(arguments)
    authorization_flags.settle(given, flags.named(known, arguments))
    idle_flags.tell(given)
    _check(given)
    with ExitStack() as stack:
        made = _made(given, stack)
        settings = replace(
            writing_flags.completed(_settings(given, made), given),
            gates=gate_flags.gates(given.feature_gates, feature_gates.API_SERVER),
            flags=flags.shown(known, given),
        )
        run_until_stopped(lambda: _serve(settings, None if made is None else _renewing(given, made)))
    return 0


async def _serve(settings: ApiServerSettings, renewing: Coroutine[Any, Any, None] | None) -> None:
    async with open_api_server(settings, RealClock()) as opened, asyncio.TaskGroup() as group:
        await start(group, opened.run, name="apiserver")
        host, port = opened.server.address
        settle_memory()
        print(f"Serving on https://{f'[{host}]' if ':' in host else host}:{port}", flush=True)
        if renewing is not None:
            spawn(group, renewing, name="certificates")


def _renewing(given: argparse.Namespace, made: Certificates) -> Coroutine[Any, Any, None]:
    logger = log.named("certificates")
    return keep_renewed(_data(given).pki, _addresses(given), made, RealClock(), logger, lambda _: None)


def _addresses(given: argparse.Namespace) -> list[str]:
    """That the serving certificate has to name."""
    return [each for each in (given.bind_address, given.advertise_address) if each]


def _check(given: argparse.Namespace) -> None:
    """Raises Unusable for flags that contradict each other or make no sense."""
    for name in ("request_timeout", "min_request_timeout", "shutdown_delay_duration"):
        if getattr(given, name) < 0:
            raise Unusable(f"--{name.replace('_', '-')} can not be negative value")
    for first, second in (("tls_cert_file", "tls_private_key_file"), ("etcd_certfile", "etcd_keyfile")):
        if (getattr(given, first) is None) != (getattr(given, second) is None):
            raise Unusable(f"--{first.replace('_', '-')} and --{second.replace('_', '-')} go together")
    if not given.etcd_servers and given.store not in EMBEDDED:
        raise Unusable(f"--store is {' or '.join(EMBEDDED)}, not {given.store!r}; an etcd is named by --etcd-servers")
    for url in given.etcd_servers:
        if not url.startswith(("http://", "https://")):
            raise Unusable(f"--etcd-servers are URLs like http://127.0.0.1:2379, not {url!r}")
    if not 0 <= given.secure_port <= 65535:
        raise Unusable(f"--secure-port is a number from 0 to 65535, not {given.secure_port}")
    try:
        for address in filter(None, (given.bind_address, given.advertise_address)):
            ipaddress.ip_address(address)
        check_ranges("service-cluster-ip-range", given.service_cluster_ip_range, least=8)
    except ValueError as problem:
        raise Unusable(str(problem)) from None


def _made(given: argparse.Namespace, stack: ExitStack) -> Certificates | None:
    """From the data directory, held as long as `stack`; None where the flags say everything."""
    needs_files = given.tls_cert_file is None or given.service_account_signing_key_file is None
    needs_store = not given.etcd_servers and given.store == "sqlite"
    if not needs_files and not needs_store:
        return None
    data = _data(given)
    data.prepare()
    stack.enter_context(data.lock())
    return certificates.ensure(data.pki, _addresses(given), RealClock()) if needs_files else None


def _data(given: argparse.Namespace) -> DataDirectory:
    return DataDirectory(given.data_dir.expanduser().absolute())


def _settings(given: argparse.Namespace, made: Certificates | None) -> ApiServerSettings:
    certificate, key = given.tls_cert_file, given.tls_private_key_file
    policy_file: Path | None = given.authorization_policy_file
    return ApiServerSettings(
        store=StoreSettings(
            ",".join(given.etcd_servers) or given.store,
            _data(given).store,
            given.etcd_cafile,
            given.etcd_certfile,
            given.etcd_keyfile,
            given.etcd_prefix,
        ),
        host=given.bind_address,
        port=given.secure_port,
        serving=_pair(certificate, key) if certificate else _of(made).serving,
        serving_files=(certificate, key) if certificate else certificates.files(_data(given).pki, "apiserver"),
        trusted=authentication_flags.completed(_trusted(given, made), given),
        service_cidrs=given.service_cluster_ip_range,
        advertise=given.advertise_address,
        authorizers=authorization_flags.steps(given),
        authorization_file=given.authorization_config,
        policies=tuple(_parsed(policy_file, lambda data: abac.parse(data.decode(), str(policy_file)))) if policy_file else (),
        node_ports=given.service_node_port_range,
        kubelets=kubelet_client_flags.settings(given, made.kubelet_client if made is not None else None),
        node_metrics=given.node_metrics,
        verbosity=given.v,
        shutdown_grace=given.shutdown_grace,
        pace=Pace(given.request_timeout, given.min_request_timeout, given.shutdown_delay_duration),
        tls_minimum=_TLS[given.tls_min_version],
        event_ttl=given.event_ttl,
        seats=given.max_requests_inflight + given.max_mutating_requests_inflight,
        enablement=api_flags.enabled(given),
    )


def _of(made: Certificates | None) -> Certificates:
    if made is None:
        raise AssertionError("what no flag names is made")
    return made


def _trusted(given: argparse.Namespace, made: Certificates | None) -> Trusted:
    tokens: Path | None = given.token_auth_file
    anonymous = given.anonymous_auth
    if anonymous and "AlwaysAllow" in given.authorization_mode:
        print(
            "AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to false. "
            "You should use a different authorizer",
            file=sys.stderr,
        )
        anonymous = False
    client_authority = _authority(given.client_ca_file)
    return Trusted(
        _accounts(given, made),
        client_authority=client_authority or (made.authority.certificate if made and not given.tls_cert_file else b""),
        front_proxy=_front_proxy(given),
        tokens=_parsed(tokens, lambda data: token_file.parse(data.decode(), str(tokens))) if tokens else {},
        anonymous=anonymous,
        bootstrap_tokens=given.enable_bootstrap_token_auth,
    )


def _front_proxy(given: argparse.Namespace) -> FrontProxy | None:
    authority = _authority(given.requestheader_client_ca_file)
    if not authority:
        return None
    return FrontProxy(
        authority,
        given.requestheader_allowed_names,
        given.requestheader_username_headers,
        given.requestheader_uid_headers,
        given.requestheader_group_headers,
        given.requestheader_extra_headers_prefix,
    )


def _accounts(given: argparse.Namespace, made: Certificates | None) -> ServiceAccounts:
    file: Path | None = given.service_account_signing_key_file
    key = _parsed(file, signing_keys.load_signing_key) if file else signing_keys.load_signing_key(_of(made).signing_key)
    believed = [each for path in given.service_account_key_file for each in _parsed(path, signing_keys.load_public_keys)]
    issuers = tuple(given.service_account_issuer) or (ISSUER,)
    return ServiceAccounts(
        key,
        tuple(believed or [signing_keys.public_key(key.public_key())]),
        issuers,
        given.api_audiences or issuers[:1],
        max_seconds=int(given.service_account_max_token_expiration),
        extend=given.service_account_extend_token_expiration,
        keys_url=given.service_account_jwks_uri,
    )


def _authority(file: Path | None) -> bytes:
    if file is None:
        return b""
    _parsed(file, Trust.from_pem)
    return file.read_bytes()


def _pair(certificate: Path, key: Path) -> Pair:
    pair = Pair(_parsed(certificate, bytes), _parsed(key, bytes))
    if not _parsed(certificate, lambda _: tls.belongs(pair)):
        raise Unusable(f"{key} is not the key of {certificate}")
    return pair


def _parsed(file: Path, parse: Callable[[bytes], T]) -> T:
    try:
        return parse(file.read_bytes())
    except OSError as problem:
        raise Unusable(f"cannot read {file}: {problem.strerror}") from None
    except ValueError as problem:
        raise Unusable(f"cannot use {file}: {problem}") from None
