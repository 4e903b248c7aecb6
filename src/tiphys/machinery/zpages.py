"""/statusz and /flagz, the same for every program: since when it runs, of which version it is, and with which flags. Core.

KEP-4827 and KEP-4828. As text for people, with a separator that changes, so that nobody reads it with programs; for these as
JSON or YAML, where the Accept header names kind and version: `application/json;v=v1beta1;g=config.k8s.io;as=Flagz`.
"""

import html
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

import orjson

from tiphys import KUBERNETES_VERSION
from tiphys.base.http.accepting import by_quality
from tiphys.base.http.messages import Request, Response
from tiphys.machinery import errors, times
from tiphys.machinery.errors import ApiError
from tiphys.machinery.feature_gates import FLAGZ, STATUSZ, FeatureGates
from tiphys.machinery.go_yaml import to_yaml
from tiphys.machinery.tree import Obj

GROUP = "config.k8s.io"
PLAIN = "text/plain; charset=utf-8"
SEPARATORS = (":", ": ", "=", " ")

_DEPRECATED = "v1alpha1"
_VERSIONS = ("v1beta1", _DEPRECATED)
_JSON, _YAML = "application/json", "application/yaml"
_NOT_FOR_DEBUGGING = frozenset(("/api", "/apis", "/openid", "/openapi", "/.well-known"))
_HEAD = """
{} {}
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for \
debugging purposes only.
"""


def runtime_version() -> str:
    """What stands where upstream tells of its Go."""
    return f"{platform.python_implementation().lower()}{platform.python_version()}"


class ZPages:
    def __init__(
        self,
        component: str,
        gates: FeatureGates,
        flags: Mapping[str, str],
        started: float,
        now: Callable[[], float],
        choose: Callable[[Sequence[str]], str],
    ) -> None:
        """`choose` picks a separator."""
        self._component = component
        self._flags = flags
        self._started = started
        self._now = now
        self._choose = choose
        self.paths = tuple(path for path, gate in (("/flagz", FLAGZ), ("/statusz", STATUSZ)) if gates.on(gate))
        """Those that are served."""

    def answer(self, request: Request, paths: Iterable[str]) -> Response | None:
        """None where the request is for something else. `paths`: all that the program serves."""
        if request.path not in self.paths:
            return None
        accepted = request.headers.get("accept", "").strip()
        kind = request.path.removeprefix("/").capitalize()
        try:
            media, version, pretty = _form(accepted, kind) if accepted else ("text/plain", "", False)
        except ApiError as refused:
            return _refusal(refused, accepted)
        content = {"flags": dict(sorted(self._flags.items()))} if kind == "Flagz" else self._status(paths)
        if media == "text/plain":
            return Response(200, self._text(kind, content).encode(), PLAIN)
        obj: Obj = {"kind": kind, "apiVersion": f"{GROUP}/{version}", "metadata": {"name": self._component}, **content}
        pretty = pretty or "pretty=" in request.query
        body = to_yaml(obj) if media == _YAML else orjson.dumps(obj, option=orjson.OPT_INDENT_2 if pretty else None)
        old = f'299 - "This version of the {kind.lower()} endpoint is deprecated. Please use a newer version."'
        warnings = (("Warning", old),) if version == _DEPRECATED else ()
        return Response(200, body, f"{media};g={GROUP};v={version};as={kind}", warnings)

    def _status(self, paths: Iterable[str]) -> Obj:
        shown = {f"/{each.split('/')[1]}" for each in (*paths, *self.paths) if each.strip("/")} - _NOT_FOR_DEBUGGING
        version = KUBERNETES_VERSION.removeprefix("v")
        return {
            "startTime": times.rfc3339(self._started),
            "uptimeSeconds": max(0, int(self._now() - self._started)),
            "goVersion": runtime_version(),
            "binaryVersion": version,
            "emulationVersion": version.rpartition(".")[0],
            "paths": sorted(shown),
        }

    def _text(self, kind: str, content: Obj) -> str:
        between = self._choose(SEPARATORS)
        head = _HEAD.format(self._component, kind.lower())
        if kind == "Flagz":
            return head + "".join(f"{name}{between}{value}\n" for name, value in content["flags"].items())
        up = content["uptimeSeconds"]
        lines = {
            "Started": datetime.fromtimestamp(int(self._started), UTC).strftime("%a %b %e %H:%M:%S UTC %Y"),
            "Up": f"{up // 3600} hr {up // 60 % 60:02} min {up % 60:02} sec",
            "Go version": content["goVersion"],
            "Binary version": content["binaryVersion"],
            "Emulation version": content["emulationVersion"],
            "Paths": " ".join(content["paths"]),
        }
        return head + "\n" + "".join(f"{name}{between} {html.escape(value)}\n" for name, value in lines.items())


def _form(accepted: str, kind: str) -> tuple[str, str, bool]:
    """Media type, version, whether it is laid out for people. Raises ApiError 406."""
    for media, parameters in by_quality(accepted):
        named, version = parameters.get("as", ""), parameters.get("v", "")
        if not named and media in ("text/plain", "text/*", "*/*"):
            return "text/plain", "", False
        ours = (named, parameters.get("g")) == (kind, GROUP) and version in _VERSIONS
        if ours and media in (_JSON, _YAML, "application/*", "*/*"):
            return media.replace("*/*", _JSON).replace("/*", "/json"), version, parameters.get("pretty") == "1"
    raise errors.not_acceptable((_JSON, _YAML, "text/plain"))


def _refusal(refused: ApiError, accepted: str) -> Response:
    if by_quality(accepted)[:1] == [(_YAML, {})]:
        return Response(refused.code, to_yaml(refused.to_status()), _YAML)
    return Response(refused.code, orjson.dumps(refused.to_status()), _JSON)
