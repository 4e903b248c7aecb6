"""Which form an answer takes: the Accept header against what we can write. Core.

We read protobuf but never write it: a client that lists protobuf first also lists JSON and gets that; one that accepts
protobuf only is told 406.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from tiphys.base.http.accepting import by_quality
from tiphys.machinery import errors
from tiphys.machinery.errors import ApiError, Details

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
OFFERED = (JSON, YAML, PROTOBUF)
STREAMED = ("application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch")
"""What a watch can be, as far as clients are told."""

_VIEWS = frozenset(("Table", "PartialObjectMetadata", "PartialObjectMetadataList"))
_JSON_RANGES = frozenset(("*/*", "application/*", JSON))

_MEDIA_TYPE = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PARAMETER = re.compile(r'\s*[!#$%&\'*+.^_`|~0-9A-Za-z-]+=(?:[!#$%&\'*+.^_`|~0-9A-Za-z-]+|"(?:[^"\\]|\\.)*")\s*')


@dataclass(frozen=True, slots=True)
class Form:
    yaml: bool = False
    view: str = ""
    """Table, PartialObjectMetadata, PartialObjectMetadataList, or the object itself."""
    view_version: str = ""
    pretty: bool = False

    @property
    def plain(self) -> bool:
        """The stored bytes can be sent as they are."""
        return not self.yaml and not self.view and not self.pretty


PLAIN = Form()


@lru_cache(maxsize=512)
def accept(header: str, *, streamed: bool = False) -> Form:
    """The first acceptable form. Raises ApiError 406. Cached: clients repeat a handful of headers.

    `streamed`: the same path offers watches, too, which a refusal tells.
    """
    if not header:
        return PLAIN
    ranges = by_quality(header)
    for media, parameters in ranges:
        view = parameters.get("as", "")
        if view and (
            view not in _VIEWS
            or parameters.get("g", "meta.k8s.io") != "meta.k8s.io"
            or parameters.get("v") not in ("v1", "v1beta1")
        ):
            continue
        version = parameters.get("v", "") if view else ""
        pretty = parameters.get("pretty") == "1"
        if media in _JSON_RANGES:
            return Form(False, view, version, pretty)
        if media == YAML and parameters.get("stream") != "watch":
            return Form(True, view, version)
    if not any(media in _JSON_RANGES or media in OFFERED for media, _ in ranges):
        raise _no_representation((*OFFERED, *STREAMED) if streamed else OFFERED)
    raise errors.not_acceptable(OFFERED)


@lru_cache(maxsize=512)
def discovery(header: str, *, aggregated: bool, routed: bool) -> Form | None:
    """How a discovery document is wanted; None: everything at once, where that is offered (`aggregated`). Raises ApiError 406,
    in the words of upstream's router where it has one before the document (`routed`)."""
    ranges = by_quality(header) if header else [("*/*", {})]
    for media, parameters in ranges:
        if parameters.get("as"):
            if aggregated and media in _JSON_RANGES and all(parameters.get(key) == value for key, value in _AGGREGATED):
                return None
        elif media in _JSON_RANGES:
            return PLAIN
        elif media == YAML:
            return Form(yaml=True)
    if routed and not any(media in _JSON_RANGES or media in OFFERED for media, _ in ranges):
        raise _no_representation(OFFERED)
    raise errors.not_acceptable(OFFERED)


_AGGREGATED = (("as", "APIGroupDiscoveryList"), ("g", "apidiscovery.k8s.io"), ("v", "v2"))


def _no_representation(offered: tuple[str, ...]) -> ApiError:
    """Refused by upstream's router, before anybody looks at the parameters of a media type."""
    told = f"406: Not Acceptable\n\nAvailable representations: {', '.join(offered)}"
    return ApiError(406, "NotAcceptable", told, Details())


@lru_cache(maxsize=512)
def content_type(header: str) -> str:
    """Media type of a request body; empty for a header that cannot be read. None given means JSON, as upstream reads it."""
    if not header:
        return JSON
    media, *parameters = header.split(";")
    media = media.strip()
    # One empty parameter at the end is forgiven.
    if parameters and not parameters[-1].strip():
        parameters.pop()
    if not _MEDIA_TYPE.fullmatch(media) or not all(_PARAMETER.fullmatch(each) for each in parameters):
        return ""
    return media.lower()
