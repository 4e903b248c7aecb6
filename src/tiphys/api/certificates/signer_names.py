"""Names of signers: a domain and a path, `example.com/signer-name`."""

from collections.abc import Callable, Iterator

from tiphys.machinery.fields import FieldError, invalid, quote, required, too_long
from tiphys.machinery.validators import DNS1123_LABEL_MAX, DNS1123_SUBDOMAIN_MAX, dns1123_label, dns1123_subdomain

_MAX = 2 * DNS1123_SUBDOMAIN_MAX + DNS1123_LABEL_MAX + 2


def validate_signer_name(name: str, at: str) -> Iterator[FieldError]:
    if not name:
        yield required(at)
        return
    domain, _, path = name.partition("/")
    if name.count("/") != 1:
        yield invalid(at, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
        return
    if len(domain) > DNS1123_SUBDOMAIN_MAX:
        yield too_long(at, DNS1123_SUBDOMAIN_MAX)
    yield from _first_bad_label(domain, dns1123_label, at)
    if "." not in domain:
        yield invalid(at, domain, "should be a domain with at least two segments separated by dots")
    yield from _first_bad_label(path, dns1123_subdomain, at)
    if len(name) > _MAX:
        yield too_long(at, _MAX)


def _first_bad_label(segment: str, check: Callable[[str], list[str]], at: str) -> Iterator[FieldError]:
    for label in segment.split("."):
        problems = check(label)
        if problems:
            for told in problems:
                yield invalid(at, segment, f"validating label {quote(label)}: {told}")
            return
