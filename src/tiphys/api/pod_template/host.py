"""Names and addresses of a pod: DNS, hosts file, host name, ports of the host."""

from collections.abc import Iterator

from tiphys.api.ip import validate_legacy
from tiphys.machinery import validators
from tiphys.machinery.fields import FieldError, forbidden, invalid, required, too_long
from tiphys.machinery.tree import Obj

_MAX_NAMESERVERS = 3
_MAX_SEARCHES = 32
_MAX_SEARCH_CHARACTERS = 2048
_MAX_HOSTNAME = 64


def validate_dns(spec: Obj, at: str) -> Iterator[FieldError]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(at, "must provide `dnsConfig` when `dnsPolicy` is None")
        elif not config.get("nameservers"):
            yield required(f"{at}.nameservers", "must provide at least one DNS nameserver when `dnsPolicy` is None")
            return
    if config is None:
        return
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > _MAX_NAMESERVERS:
        yield invalid(f"{at}.nameservers", servers, f"must not have more than {_MAX_NAMESERVERS} nameservers")
    for position, server in enumerate(servers):
        yield from validate_legacy(server, f"{at}.nameservers[{position}]")
    if len(searches) > _MAX_SEARCHES:
        yield invalid(f"{at}.searches", searches, f"must not have more than {_MAX_SEARCHES} search paths")
    if len(" ".join(searches)) > _MAX_SEARCH_CHARACTERS:
        told = f"must not have more than {_MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        yield invalid(f"{at}.searches", searches, told)
    for position, search in enumerate(searches):
        if search != ".":
            plain = search.removesuffix(".")
            for problem in validators.dns1123_subdomain_with_underscore(plain):
                yield invalid(f"{at}.searches[{position}]", plain, problem)
    for position, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield required(f"{at}.options[{position}]", "must not be empty")


def validate_host_aliases(aliases: list[Obj], at: str) -> Iterator[FieldError]:
    for position, alias in enumerate(aliases):
        yield from validate_legacy(alias.get("ip") or "", f"{at}[{position}].ip")
        for place, name in enumerate(alias.get("hostnames") or ()):
            for problem in validators.dns1123_subdomain(name):
                yield invalid(f"{at}[{position}].hostnames[{place}]", name, problem)


def validate_hostname_override(spec: Obj, at: str) -> Iterator[FieldError]:
    name = spec["hostnameOverride"]
    if spec.get("setHostnameAsFQDN"):
        yield forbidden(at, "may not be specified when setHostnameAsFQDN is true")
    if spec.get("hostNetwork"):
        yield forbidden(at, "may not be specified when hostNetwork is true")
    if validators.size(name) > _MAX_HOSTNAME:
        yield too_long(at, _MAX_HOSTNAME)
    for problem in validators.dns1123_subdomain(name):
        yield invalid(at, name, problem)


def validate_host_network_ports(spec: Obj, at: str, is_pod: bool) -> Iterator[FieldError]:
    """A template may leave the host port out: the pod will get it."""
    for position, container in enumerate(spec.get("containers") or ()):
        for place, port in enumerate(container.get("ports") or ()):
            host_port, own = port.get("hostPort") or 0, port.get("containerPort") or 0
            if (is_pod or host_port) and host_port != own:
                why = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(f"{at}.containers[{position}].ports[{place}].hostPort", host_port, why)
