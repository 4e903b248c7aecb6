"""Where a request goes: the container of a pod, the kubelet of a node, the address behind pod, service and node names. Core."""

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

from tiphys.machinery import errors
from tiphys.machinery.fields import Verbatim, show
from tiphys.machinery.tree import Obj, get

ADDRESS_TYPES = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
"""In the order in which upstream prefers them."""
KUBELET_PORT = 10250

_KINDS_OF_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_SAFE_IN_PATHS = "/$&+,:;=@~"


@dataclass(frozen=True, slots=True)
class Named:
    """`name`, `name:port` or `scheme:name:port`."""

    name: str
    port: str = ""
    scheme: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    host: str
    port: int
    scheme: str = ""


def named(text: str, what: str) -> Named:
    found = Named("")
    parts = text.split(":")
    if len(parts) == 1:
        found = Named(text)
    elif len(parts) == 2:
        found = Named(parts[0], parts[1])
    elif len(parts) == 3 and parts[0] in ("", "http", "https"):
        scheme, name, port = parts
        found = Named(name, port, scheme)
    if not found.name:
        raise errors.bad_request(f"invalid {what} request {show(text)}")
    return found


_SIMULATED = "sim://"


def container(pod: Obj, asked: str) -> str:
    """The container that is meant: the only one, or the one that is named and exists."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    everyone = [each["name"] for kind in _KINDS_OF_CONTAINERS for each in spec.get(kind) or ()]
    if asked:
        if asked not in everyone:
            raise errors.bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    regular = list(spec.get("containers") or ())
    if len(regular) == 1:
        only: str = regular[0]["name"]
        return only
    told = f"a container name must be specified for pod {name}"
    raise errors.bad_request(f"{told}, choose one of: [{' '.join(everyone)}]" if regular else told)


def kubelet(node: Obj, address_types: Iterable[str] = ADDRESS_TYPES, default_port: int = KUBELET_PORT) -> Place:
    """Where the node says that its kubelet listens."""
    if str(get(node, ("status", "nodeInfo", "containerRuntimeVersion"), "")).startswith(_SIMULATED):
        # Its addresses lead nowhere, or to somebody else.
        raise errors.ApiError(500, "", f"node {node['metadata']['name']} is simulated: its pods have no containers to reach")
    addresses = get(node, ("status", "addresses"), ())
    for wanted in address_types:
        for address in addresses:
            if address.get("type") == wanted:
                port = get(node, ("status", "daemonEndpoints", "kubeletEndpoint", "Port"), 0)
                return Place(address["address"], port if port > 0 else default_port, "https")
    known = " ".join("{" + f"{each.get('type')} {each.get('address')}" + "}" for each in addresses)
    raise errors.ApiError(500, "", f"no preferred addresses found; known addresses: [{known}]")


def pod_place(pod: Obj, asked: Named) -> Place:
    """The port is the one asked for, or the first that a container declares."""
    port = asked.port
    if not port:
        declared = (each["ports"][0] for each in pod["spec"].get("containers") or () if each.get("ports"))
        port = str(next((first["containerPort"] for first in declared), ""))
    addresses = get(pod, ("status", "podIPs"), ())
    address = addresses[0].get("ip", "") if addresses else ""
    if not reachable(address):
        raise errors.bad_request("address not allowed")
    return Place(address, numbered(port, asked.scheme), asked.scheme)


def reachable(address: str) -> bool:
    """Not the server itself, a neighbour on the link, or many at once: requests must not be sent there by a pod's word."""
    try:
        read = ipaddress.ip_address(address)
    except ValueError:
        return False
    if address == "255.255.255.255":
        return False
    return not (read.is_unspecified or read.is_loopback or read.is_multicast or read.is_link_local)


def numbered(port: str, scheme: str) -> int:
    if not port:
        return 443 if scheme == "https" else 80
    if not (port.isascii() and port.isdecimal() and int(port) <= 65535):
        told = f"error trying to reach service: dial tcp: lookup tcp/{port}: unknown port"
        raise errors.service_unavailable(told)
    return int(port)


def service_port_name(service: Obj, asked: Named) -> str:
    """A number means the port of the service; endpoints know it by its name."""
    if not asked.port.lstrip("+-").isdecimal():
        return asked.port
    number = int(asked.port)
    for port in service["spec"].get("ports") or ():
        if port["port"] == number:
            name: str = port.get("name", "")
            return name
    raise errors.service_unavailable(f"no service port {number} found for service {show(asked.name)}")


def service_addresses(endpoints: Obj, port_name: str, chance: float) -> Iterator[tuple[Obj, int]]:
    """Every address with that port, from one picked by `chance` on."""
    subsets = endpoints.get("subsets") or ()
    for subset in _rotated(list(subsets), chance):
        for port in subset.get("ports") or ():
            if port.get("name", "") == port_name:
                for address in _rotated(list(subset.get("addresses") or ()), chance):
                    yield address, port["port"]


def belongs(address: Obj, pod: Obj) -> bool:
    """Whether an endpoint's address is really that of its pod: anybody may write endpoints, to anywhere."""
    return any(each.get("ip") == address["ip"] for each in get(pod, ("status", "podIPs"), ()))


def path_below(rest: str, sent: str) -> str:
    """What follows `/proxy`, for the target: empty steps dropped, a slash at the end kept."""
    steps = [each for each in rest.split("/") if each]
    path = "/" + "/".join(steps) if steps else ""
    if sent.endswith("/") and not path.endswith("/"):
        path += "/"
    return quote(_resolved(path), safe=_SAFE_IN_PATHS)


def _resolved(path: str) -> str:
    """Without `.` and `..` steps, none of which leads above the root."""
    if "/." not in path:
        return path
    kept: list[str] = []
    for step in path.split("/")[1:]:
        if step == "..":
            del kept[-1:]
        elif step != ".":
            kept.append(step)
    return "/" + "/".join(kept)


def _rotated(items: list[Obj], chance: float) -> list[Obj]:
    at = int(chance * len(items))
    return items[at:] + items[:at]


def refused_log(status: int, text: str, name: str) -> errors.ApiError:
    """What a kubelet answered in place of a log, as the client is told it."""
    if status == 500:
        return errors.internal(text)
    if status == 400:
        return errors.bad_request(text)
    reasons = {
        401: ("Unauthorized", "the server has asked for the client to provide credentials"),
        403: ("Forbidden", text),
        404: ("NotFound", "the server could not find the requested resource"),
        405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
        429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
        503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
        504: (
            "Timeout",
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
    }
    other = f"an error on the server ({show(Verbatim(show(text)))}) has prevented the request from succeeding"
    unknown = f"the server responded with the status code {status} but did not return more information"
    reason, told = reasons.get(status, ("InternalError", other) if status >= 500 else ("", unknown))
    return errors.ApiError(status, reason, f"{told} ( pods/log {name})", errors.Details(name, "", "pods/log"))
