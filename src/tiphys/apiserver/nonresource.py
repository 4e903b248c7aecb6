"""Everything that is not a resource: discovery, OpenAPI, version, health, metrics, the issuer's keys."""

import hashlib
import platform
from collections.abc import Awaitable, Callable, Mapping

import orjson

from tiphys import KUBERNETES_VERSION
from tiphys.apiserver import negotiate
from tiphys.apiserver.catalogue import Catalogue
from tiphys.apiserver.discovery import Discovery
from tiphys.apiserver.health import Health
from tiphys.apiserver.openapi import protobuf
from tiphys.apiserver.openapi.documents import OpenApi
from tiphys.apiserver.request import Query, RequestInfo
from tiphys.apiserver.rest import answers
from tiphys.base.http.messages import Answer, Request, Response
from tiphys.machinery import errors
from tiphys.machinery.go_yaml import to_yaml
from tiphys.machinery.tree import Obj
from tiphys.machinery.zpages import ZPages, runtime_version

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

Explainer = Callable[[str, str], Awaitable[Response]]
"""What a component has to say of its decisions, from the rest of the path below /explain/NAME/ and the query."""
EXPLAIN = "/explain/"


def version() -> Obj:
    major, minor = KUBERNETES_VERSION.removeprefix("v").split(".")[:2]
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": KUBERNETES_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": runtime_version(),
        "compiler": platform.python_implementation().lower(),
        "platform": f"linux/{_architecture()}",
    }


def _architecture() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


class Documents:
    """Documents as bytes, kept until the catalogue changes."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._generation = -1
        self._kept: dict[str, tuple[bytes, str]] = {}

    def get(self, key: str, make: Callable[[], bytes]) -> tuple[bytes, str]:
        """The document and its ETag."""
        if self._generation != self._catalogue.generation:
            self._kept.clear()
            self._generation = self._catalogue.generation
        found = self._kept.get(key)
        if found is None:
            body = make()
            found = self._kept[key] = body, '"' + hashlib.sha512(body).hexdigest().upper() + '"'
        return found

    def tagged(self, request: Request, key: str, media: str, make: Callable[[], bytes], *more: tuple[str, str]) -> Response:
        """For clients that keep what they know and ask whether it is still so."""
        body, etag = self.get(key, make)
        headers = (("ETag", etag), ("Vary", "Accept"), *more)
        if etag in request.headers.get("if-none-match", ""):
            return Response(304, b"", "", headers)
        return Response(200, body, media, headers)


class NonResource:
    def __init__(
        self,
        catalogue: Catalogue,
        discovery: Discovery,
        openapi: OpenApi,
        health: Health,
        metrics: Callable[[], bytes],
        issuer: Mapping[str, Callable[[], bytes]],
        explainers: Mapping[str, Explainer],
        pages: ZPages | None = None,
    ) -> None:
        """`issuer`: path -> document, for the service account issuer's discovery. `explainers` may come and go."""
        self._explainers = explainers
        self._pages = pages
        self._discovery = discovery
        self._openapi = openapi
        self._health = health
        self._metrics = metrics
        self._issuer = issuer
        self._catalogue = catalogue
        self._documents = Documents(catalogue)

    async def answer(self, request: Request, info: RequestInfo, query: Query) -> Answer:
        if self._pages is not None and (found := self._pages.answer(request, self._paths())) is not None:
            return found
        path = info.path.rstrip("/") or "/"
        root = path.removeprefix("/").partition("/")[0]
        if root in ("healthz", "livez", "readyz"):
            return await self._health.answer(root, path, query)
        if path in ("/", "/index.html"):
            return Response(200, orjson.dumps({"paths": sorted(self._paths())}, option=orjson.OPT_INDENT_2))
        if root in ("api", "apis"):
            return self._discover(request, path)
        if path == "/version":
            _only_get(request)
            return Response(200, orjson.dumps(version(), option=orjson.OPT_INDENT_2))
        if path.startswith("/openapi/"):
            return self._describe(request, path, query)
        if path == "/metrics":
            return Response(200, self._metrics(), "text/plain; version=0.0.4; charset=utf-8")
        if path.startswith(EXPLAIN):
            return await self._explain(request, info.path)
        if path in self._issuer:
            media = "application/jwk-set+json" if path.endswith("jwks") else "application/json"
            return Response(200, self._issuer[path](), media, (("Cache-Control", "public, max-age=3600"),))
        return answers.page_not_found()

    async def _explain(self, request: Request, path: str) -> Response:
        _only_get(request)
        name, _, rest = path.removeprefix(EXPLAIN).partition("/")
        explainer = self._explainers.get(name)
        return answers.page_not_found() if explainer is None else await explainer(rest, request.query)

    def _paths(self) -> list[str]:
        groups = self._discovery.group_list()["groups"]
        apis = [f"/apis/{each['name']}" for each in groups]
        versions = [f"/apis/{version['groupVersion']}" for each in groups for version in each["versions"]]
        fixed = [
            "/api",
            "/api/v1",
            "/apis",
            "/healthz",
            "/livez",
            "/readyz",
            "/metrics",
            "/openapi/v2",
            "/openapi/v3",
            "/version",
        ]
        explained = [f"{EXPLAIN}{name}" for name in self._explainers]
        pages = self._pages.paths if self._pages is not None else ()
        return [*fixed, *pages, *apis, *versions, *self._health.paths(), *self._issuer, *explained]

    def _discover(self, request: Request, path: str) -> Response:
        parts = path.strip("/").split("/")
        make = self._document(parts)
        if make is None:
            # A group that is not built in is no path at all; a version of one that is built in is.
            if parts[0] == "apis" and self._catalogue.is_custom_group(parts[1]):
                return answers.page_not_found()
            raise errors.no_such_path()
        _only_get(request)
        accepted = request.headers.get("accept", "")
        form = negotiate.discovery(accepted, aggregated=len(parts) == 1, routed=path != "/apis")
        if form is None:
            core = parts[0] == "api"
            whole = lambda: orjson.dumps(self._discovery.aggregated(core))  # noqa: E731
            return self._documents.tagged(request, f"{path}+", AGGREGATED, whole, ("Cache-Control", "public"))
        if form.yaml:
            return Response(200, self._documents.get(f"{path} yaml", lambda: to_yaml(make()))[0], negotiate.YAML)
        return Response(200, self._documents.get(path, lambda: orjson.dumps(make()))[0])

    def _document(self, parts: list[str]) -> Callable[[], Obj] | None:
        """What makes the document at a path below /api or /apis; None if there is none."""
        match parts:
            case ["api"]:
                return self._discovery.api_versions
            case ["apis"]:
                return self._discovery.group_list
            case ["apis", group]:
                found = self._discovery.group(group)
            case ["api", version]:
                found = self._discovery.resources("", version)
            case ["apis", group, version]:
                found = self._discovery.resources(group, version)
            case _:
                found = None
        return None if found is None else lambda: found

    def _describe(self, request: Request, path: str, query: Query) -> Response:
        if path == "/openapi/v2":
            accepted = request.headers.get("accept", "")
            # Clients that ask for it take nothing else.
            if any(each in accepted for each in protobuf.ACCEPTED):
                whole = lambda: protobuf.document(self._openapi.v2())  # noqa: E731
                return self._documents.tagged(request, f"{path} protobuf", protobuf.MEDIA, whole)
            if accepted and not any(each in accepted for each in ("json", "*/*")):
                return Response(406, b"", "", (("Vary", "Accept"),))
            return self._documents.tagged(request, path, negotiate.JSON, lambda: orjson.dumps(self._openapi.v2()))
        if path == "/openapi/v3":
            # Upstream leaves it to Go to guess what this is.
            body, _ = self._documents.get(path, lambda: orjson.dumps(self._openapi.v3_index()))
            return Response(200, body, "text/plain; charset=utf-8")
        root = path.removeprefix("/openapi/v3/")
        if not self._openapi.has_v3(root):
            return Response(404, b"", "")
        make = lambda: orjson.dumps(self._openapi.v3(root))  # noqa: E731
        asked = query.get("hash", [""])[0]
        if not asked:
            return self._documents.tagged(request, path, negotiate.JSON, make)
        right = self._openapi.hash_of(root)
        if asked != right:
            return Response(301, b"", negotiate.JSON, (("Location", f"{path}?hash={right}"), ("Vary", "Accept")))
        return self._documents.tagged(request, path, negotiate.JSON, make, ("Cache-Control", "public, immutable"))


def _only_get(request: Request) -> None:
    if request.method != "GET":
        raise errors.method_not_allowed()
