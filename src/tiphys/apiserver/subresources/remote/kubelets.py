"""How this server shows itself to kubelets, and the connections it keeps to them and to pods."""

import asyncio
import socket
import ssl
from dataclasses import dataclass

from tiphys.apiserver.proxying import Forwarder
from tiphys.apiserver.subresources.remote import places
from tiphys.base.tls import Pair
from tiphys.base.tls_context import client_context
from tiphys.machinery import errors


@dataclass(frozen=True, slots=True)
class KubeletSettings:
    client: Pair | None = None
    """The certificate that this server shows to kubelets."""
    authority: bytes = b""
    """PEM; without one, the certificates of kubelets are taken as they are."""
    address_types: tuple[str, ...] = places.ADDRESS_TYPES
    port: int = places.KUBELET_PORT
    """Of kubelets that do not tell theirs."""


class Remote:
    def __init__(self, settings: KubeletSettings) -> None:
        self.settings = settings
        self.forwarder = Forwarder()
        self.unverified = client_context(pair=settings.client, insecure=True)
        self.kubelet = client_context([settings.authority], settings.client) if settings.authority else self.unverified
        self.pods = client_context(insecure=True)
        """For https to pods and services, whose certificates nobody here knows."""

    def context(self, *, to_kubelet: bool, insecure: bool = False) -> ssl.SSLContext:
        if not to_kubelet:
            return self.pods
        return self.unverified if insecure else self.kubelet


async def check_reachable(host: str) -> None:
    """Raises ApiError where the name of a node stands for an address that requests must not be sent to."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror:
        raise errors.bad_request(f"lookup {host}: no such host") from None
    if not all(places.reachable(str(address[0])) for _, _, _, _, address in found):
        raise errors.bad_request("address not allowed")
