"""How a webhook is reached: a URL, or a Service in the cluster. Conversion webhooks of CRDs use it as well."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from tiphys.machinery.fields import FieldError, child, invalid, required
from tiphys.machinery.tree import Obj
from tiphys.machinery.validators import dns1123_subdomain, port_number

_FORM = "; desired format: https://host[/path]"


def default_client_config(config: Obj) -> None:
    service = config.get("service")
    if service is not None and service.get("port") is None:
        service["port"] = 443


def validate_client_config(config: Obj, at: str) -> Iterator[FieldError]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield required(at, "exactly one of url or service is required")
    elif url is not None:
        yield from _validate_url(url, child(at, "url"))
    elif service is not None:
        yield from _validate_service(service, child(at, "service"))


def _validate_url(url: str, at: str) -> Iterator[FieldError]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield required(at, f"url must be a valid URL: {error}{_FORM}")
        return
    user, _, host = parts.netloc.rpartition("@")
    if parts.scheme != "https":
        yield invalid(at, parts.scheme, "'https' is the only allowed URL scheme" + _FORM)
    if not host:
        yield invalid(at, host, "host must be specified" + _FORM)
    if "@" in parts.netloc:
        yield invalid(at, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid(at, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid(at, parts.query, "query parameters are not permitted in the URL")


def _validate_service(service: Obj, at: str) -> Iterator[FieldError]:
    # Upstream confuses the two names, and clients see it: a lack of one is reported at the other.
    if not service.get("namespace"):
        yield required(child(at, "name"))
    if not service.get("name"):
        yield required(child(at, "namespace"))
    port = service.get("port", 0)
    problems = port_number(port)
    if problems:
        yield invalid(child(at, "port"), port, "port is not valid: " + ", ".join(problems))
    path = service.get("path")
    if path:
        yield from _validate_path(path, child(at, "path"))


def _validate_path(path: str, at: str) -> Iterator[FieldError]:
    if path == "/":
        return
    if path == "//":
        yield invalid(at, path, "segment[0] may not be empty")
        return
    if not path.startswith("/"):
        yield invalid(at, path, "must start with a '/'")
    for position, step in enumerate(path[1:].removesuffix("/").split("/")):
        if not step:
            yield invalid(at, path, f"segment[{position}] may not be empty")
            continue
        for told in dns1123_subdomain(step):
            yield invalid(at, path, f"segment[{position}]: {told}")
