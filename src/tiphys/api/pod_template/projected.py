"""Volumes that hold files made of other objects: keys of secrets and config maps, fields of the pod, tokens."""

from collections.abc import Callable, Iterator

from tiphys.api.pod_template.env import validate_field_reference, validate_resource_reference
from tiphys.api.pod_template.internal import told
from tiphys.api.pod_template.options import Options
from tiphys.api.pod_template.paths import local_unreserved
from tiphys.machinery import validators
from tiphys.machinery.fields import FieldError, forbidden, invalid, not_supported, required, too_long
from tiphys.machinery.selectors import validate_label_selector
from tiphys.machinery.tree import Obj

_VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_MODE_TOLD = "must be a number between 0 and 0777 (octal), both inclusive"
_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_DAY = 24 * 60 * 60
_MAX_CERTIFICATE_LIFE = 91 * _DAY
_CONFLICT = "conflicting duplicate paths"
_SOURCES = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")


def validate_mode(mode: int | None, at: str) -> Iterator[FieldError]:
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid(at, mode, _MODE_TOLD)


def validate_items(items: list[Obj], at: str) -> Iterator[FieldError]:
    for position, item in enumerate(items):
        yield from _validate_item(item, f"{at}[{position}]")


def _validate_item(item: Obj, at: str) -> Iterator[FieldError]:
    path = item.get("path") or ""
    if not item.get("key"):
        yield required(f"{at}.key")
    if not path:
        yield required(f"{at}.path")
    yield from local_unreserved(path, f"{at}.path")
    yield from validate_mode(item.get("mode"), f"{at}.mode")


def validate_downward(item: Obj, at: str) -> Iterator[FieldError]:
    """A file that holds a field of the pod. Upstream leaves the index out of its path."""
    path = item.get("path") or ""
    if not path:
        yield required(f"{at}.path")
    yield from local_unreserved(path, f"{at}.path")
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        yield from validate_field_reference(field, _VOLUME_FIELDS, f"{at}.fieldRef")
        if resource is not None:
            yield invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif resource is not None:
        yield from validate_resource_reference(resource, f"{at}.resourceFieldRef", in_volume=True)
    else:
        yield required(at, "one of fieldRef and resourceFieldRef is required")
    yield from validate_mode(item.get("mode"), f"{at}.mode")


def validate_projected(source: Obj, at: str, options: Options) -> Iterator[FieldError]:
    yield from validate_mode(source.get("defaultMode"), f"{at}.defaultMode")
    taken: set[str] = set()
    for position, projection in enumerate(source.get("sources") or ()):
        here = f"{at}.sources[{position}]"
        given = [kind for kind in _SOURCES if projection.get(kind) is not None]
        for kind in given:
            yield from _validate_projection(kind, projection[kind], taken, at, f"{here}.{kind}", options)
        if len(given) > 1:
            yield forbidden(here, "may not specify more than 1 volume type per source")


def _validate_projection(
    kind: str, source: Obj, taken: set[str], volume: str, at: str, options: Options
) -> Iterator[FieldError]:
    if kind in ("secret", "configMap"):
        yield from _validate_keys(source, taken, volume, at)
    elif kind == "downwardAPI":
        for item in source.get("items") or ():
            yield from validate_downward(item, at)
            yield from _take(item.get("path"), item.get("path"), taken, volume)
    elif kind == "serviceAccountToken":
        yield from _validate_token(source, volume, at, options)
    elif kind == "clusterTrustBundle":
        yield from _validate_trust_bundle(source, taken, volume, at)
    else:
        yield from _validate_certificate(source, taken, volume, at)


def _take(path: str | None, shown: str | None, taken: set[str], volume: str) -> Iterator[FieldError]:
    if path:
        if path in taken:
            yield invalid(volume, shown or "", _CONFLICT)
        taken.add(path)


def _validate_keys(source: Obj, taken: set[str], volume: str, at: str) -> Iterator[FieldError]:
    name = source.get("name") or ""
    if not name:
        yield required(f"{at}.name")
    for position, item in enumerate(source.get("items") or ()):
        yield from _validate_item(item, f"{at}.items[{position}]")
        yield from _take(item.get("path"), name, taken, volume)


def _validate_token(source: Obj, volume: str, at: str, options: Options) -> Iterator[FieldError]:
    lifetime, path = source.get("expirationSeconds") or 0, source.get("path") or ""
    if lifetime < 600:
        yield invalid(f"{at}.expirationSeconds", lifetime, "may not specify a duration less than 10 minutes")
    if lifetime > 1 << 32:
        yield invalid(f"{at}.expirationSeconds", lifetime, "may not specify a duration larger than 2^32 seconds")
    if not path:
        yield required(f"{volume}.path")
    elif not options.non_local_token_path:
        yield from local_unreserved(path, f"{volume}.path")


def _validate_trust_bundle(source: Obj, taken: set[str], volume: str, at: str) -> Iterator[FieldError]:
    name, signer, selector = source.get("name"), source.get("signerName"), source.get("labelSelector")
    if name is not None and signer is not None:
        shown = told(source, "ClusterTrustBundleProjection")
        yield invalid(at, shown, "only one of name and signerName may be used")
    elif name is not None:
        if not name:
            yield required(f"{at}.name", "must be a valid object name")
        for problem in _trust_bundle_name(name):
            yield invalid(f"{at}.name", name, f"not a valid clustertrustbundlename: {problem}")
        if selector is not None:
            yield invalid(f"{at}.labelSelector", selector, "labelSelector must be unset if name is specified")
    elif signer is not None:
        if not signer:
            yield required(f"{at}.signerName", "must be a valid signer name")
        yield from validate_signer_name(signer, f"{at}.signerName")
        yield from validate_label_selector(selector, f"{at}.labelSelector")
    else:
        yield required(at, "either name or signerName must be specified")
    path = source.get("path") or ""
    if not path:
        yield required(f"{at}.path")
    yield from local_unreserved(path, f"{at}.path")
    if path in taken:
        yield invalid(volume, path, _CONFLICT)
    taken.add(path)


def _trust_bundle_name(name: str) -> list[str]:
    """`signer.example.com:path:name` belongs to a signer; a name without colons to none."""
    return validators.dns1123_subdomain(name.rpartition(":")[2])


def validate_signer_name(name: str, at: str) -> Iterator[FieldError]:
    if not name:
        yield required(at)
        return
    if name.count("/") != 1:
        yield invalid(at, name, "must be a fully qualified domain and path of the form 'example.com/signer-name'")
        return
    domain, _, path = name.partition("/")
    if len(domain) > validators.DNS1123_SUBDOMAIN_MAX:
        yield too_long(at, validators.DNS1123_SUBDOMAIN_MAX)
    yield from _validate_segment(domain, validators.dns1123_label, at)
    if "." not in domain:
        yield invalid(at, domain, "should be a domain with at least two segments separated by dots")
    yield from _validate_segment(path, validators.dns1123_subdomain, at)
    longest = 2 * validators.DNS1123_SUBDOMAIN_MAX + validators.DNS1123_LABEL_MAX + 2
    if len(name) > longest:
        yield too_long(at, longest)


def _validate_segment(segment: str, check: Callable[[str], list[str]], at: str) -> Iterator[FieldError]:
    """Of the first label that is wrong."""
    for label in segment.split("."):
        problems = check(label)
        if problems:
            yield from (invalid(at, segment, f'validating label "{label}": {problem}') for problem in problems)
            return


def _validate_certificate(source: Obj, taken: set[str], volume: str, at: str) -> Iterator[FieldError]:
    signer, key_type = source.get("signerName") or "", source.get("keyType") or ""
    yield from validate_signer_name(signer, f"{at}.signerName")
    for name in source.get("userAnnotations") or ():
        yield from validators.domain_prefixed_key(name.lower(), f"{at}.userAnnotations")
    if key_type not in _KEY_TYPES:
        yield not_supported(f"{at}.keyType", key_type, _KEY_TYPES)
    life = source.get("maxExpirationSeconds")
    if life is not None:
        host = signer.partition("/")[0]
        longest = _DAY if host == "kubernetes.io" or host.endswith(".kubernetes.io") else _MAX_CERTIFICATE_LIFE
        if life < 3600:
            yield invalid(f"{at}.maxExpirationSeconds", life, "if provided, maxExpirationSeconds must be >= 3600")
        if life > longest:
            yield invalid(f"{at}.maxExpirationSeconds", life, f"if provided, maxExpirationSeconds must be <= {longest}")
    paths = [name for name in ("credentialBundlePath", "keyPath", "certificateChainPath") if source.get(name)]
    for name in paths:
        yield from local_unreserved(source[name], f"{at}.{name}")
        yield from _take(source[name], source[name], taken, volume)
    if not paths:
        yield required(at, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath")
