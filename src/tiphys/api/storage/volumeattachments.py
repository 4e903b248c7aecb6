"""VolumeAttachment: this volume is to be attached to this node."""

from collections.abc import Iterator

from tiphys.api.kind import AGE, Column, Kind, Strategy
from tiphys.api.pod_template.internal import told
from tiphys.api.storage.names import validate_driver
from tiphys.machinery.fields import FieldError, child, forbidden, invalid, required, too_long
from tiphys.machinery.tree import Obj, get
from tiphys.machinery.validators import IMMUTABLE, dns1123_subdomain, in_range, size

LARGEST_METADATA = 256 * 1024
LONGEST_MESSAGE = 1024
ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def default(attachment: Obj) -> None:
    spec = attachment.setdefault("spec", {})
    spec.setdefault("attacher", "")
    spec.setdefault("nodeName", "")
    spec.setdefault("source", {})
    attachment.setdefault("status", {}).setdefault("attached", False)


def prepare_create(attachment: Obj) -> None:
    attachment["status"] = {"attached": False}


def validate(attachment: Obj) -> Iterator[FieldError]:
    spec = attachment["spec"]
    yield from validate_driver(spec.get("attacher", ""), "spec.attacher")
    yield from _validate_source(spec.get("source") or {}, "spec.source")
    for problem in dns1123_subdomain(spec.get("nodeName", "")):
        yield invalid("spec.nodeName", spec.get("nodeName", ""), problem)
    yield from _validate_status(attachment.get("status") or {})
    volume = get(spec, ("source", "persistentVolumeName"))
    for problem in dns1123_subdomain(volume) if volume is not None else ():
        yield invalid("spec.source.persistentVolumeName", volume, problem)


def _validate_source(source: Obj, at: str) -> Iterator[FieldError]:
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    if inline is None and name is None:
        yield required(at, ONE_SOURCE)
    elif inline is not None and name is not None:
        yield forbidden(at, ONE_SOURCE)
    elif name == "":
        yield required(child(at, "persistentVolumeName"), "must specify non empty persistentVolumeName")


def _validate_status(status: Obj) -> Iterator[FieldError]:
    metadata = status.get("attachmentMetadata") or {}
    if sum(size(key) + size(value) for key, value in metadata.items()) > LARGEST_METADATA:
        yield too_long("status.attachmentMetadata", LARGEST_METADATA)
    for name in ("attachError", "detachError"):
        problem = status.get(name) or {}
        if size(problem.get("message", "")) > LONGEST_MESSAGE:
            # Upstream tells the limit of the metadata here.
            yield too_long(f"status.{name}.message", LARGEST_METADATA)
        code = problem.get("errorCode")
        if code is not None and code < 0:
            yield invalid(f"status.{name}.errorCode", code, in_range(code, 0, 2**31 - 1)[0])


def validate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from validate(new)
    if new["spec"] != old["spec"]:
        yield invalid("spec", told(new["spec"], "VolumeAttachmentSpec"), IMMUTABLE)


def validate_status(new: Obj, _old: Obj) -> Iterator[FieldError]:
    yield from validate(new)


VOLUMEATTACHMENTS = Kind(
    group="storage.k8s.io",
    version="v1",
    kind="VolumeAttachment",
    plural="volumeattachments",
    singular="volumeattachment",
    namespaced=False,
    schema="io.k8s.api.storage.v1.VolumeAttachment",
    default=default,
    prepare_create=prepare_create,
    validate_create=validate,
    validate_update=validate_update,
    validate_status=validate_status,
    strategy=Strategy(status=True, unconditional_update=False, status_keeps_metadata=True, returns_deleted=True),
    columns=(
        Column("Attacher", lambda each, _now: get(each, ("spec", "attacher"), ""), format="name"),
        Column("PV", lambda each, _now: get(each, ("spec", "source", "persistentVolumeName"), "")),
        Column("Node", lambda each, _now: get(each, ("spec", "nodeName"), "")),
        Column("Attached", lambda each, _now: get(each, ("status", "attached"), False), type="boolean"),
        AGE,
    ),
)
