"""The controllers as a part of the process of the API server."""

from collections.abc import Awaitable, Callable
from ipaddress import ip_network

from cryptography import x509

from tiphys.apiserver.authn.user import MASTERS, User
from tiphys.apiserver.local_client import LocalClient
from tiphys.apiserver.pipeline import Pipeline
from tiphys.base.clock import Clock
from tiphys.base.http.messages import Response
from tiphys.base.log import Log, Logger
from tiphys.base.metrics import Registry
from tiphys.cmd import controller_flags
from tiphys.cmd.certificates import Certificates
from tiphys.cmd.controller_manager import AGENT, manager
from tiphys.cmd.options import UpOptions
from tiphys.controllers import node_ipam, serving
from tiphys.controllers.certificates import SIGNERS, Authority
from tiphys.controllers.manager import Manager
from tiphys.controllers.registry import OFF_BY_DEFAULT, Settings


def local_manager(pipeline: Pipeline, made: Certificates, options: UpOptions, clock: Clock, metrics: Registry) -> Manager:
    """In the process of the API server."""
    authority = made.authority
    client = LocalClient(pipeline, User("system:kube-controller-manager", (MASTERS, "system:authenticated")), AGENT)
    log = Logger(Log(verbosity=options.verbosity, clock=clock), "controllers", {})
    settings = Settings(
        root_ca=authority.certificate.decode(),
        signing=dict.fromkeys(SIGNERS, Authority.of(authority)),
        serial=x509.random_serial_number,
        pod_ranges=node_ipam.ranges(options.cluster_cidr),
        service_ranges=tuple(map(ip_network, options.service_cidr.split(","))),
        account_token=controller_flags.legacy_token(made.signing_key),
    )
    return manager(client, settings, f"*,{','.join(OFF_BY_DEFAULT)}", clock, metrics, log)


def explainer(manager: Manager) -> Callable[[str, str], Awaitable[Response]]:
    """For the API server in the same process."""

    async def answer(path: str, _query: str) -> Response:
        return serving.explained(manager.runners, path)

    return answer
