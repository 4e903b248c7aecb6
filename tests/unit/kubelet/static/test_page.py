"""Static pods at a URL: whatever goes wrong with an answer, they stay what they were (pkg/kubelet/config/http.go)."""

import asyncio

import orjson
import pytest

from tiphys.base.clock import RealClock
from tiphys.base.http.messages import Response
from tiphys.base.http.server import Server
from tiphys.base.log import Log, Logger
from tiphys.kubelet.configuration import checking, with_defaults
from tiphys.kubelet.static.page import Page


@pytest.mark.parametrize("url", ["ftp://where", "http://where:port/", "where", "http://"])
def test_a_url_that_is_none_is_refused(url):
    told = f"invalid configuration: staticPodURL (--manifest-url) {url} is no URL of HTTP"
    assert checking.problems(with_defaults({"staticPodURL": url})) == [told]


def manifest(name):
    spec = {"containers": [{"name": "c", "image": "web:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def with_page(talk):
    async def main():
        asked, answers, lines = [], [], []

        async def answer(request):
            asked.append(request)
            status, body = answers[-1]
            return Response(status, body)

        server = Server(answer)
        _, port = await server.listen("127.0.0.1", 0)
        headers = {"X-Who": ["kubelet"], "Authorization": ["Bearer x"]}
        url = f"http://127.0.0.1:{port}/pods?of=n1"
        page = Page(url, headers, 20.0, "n1", RealClock(), Logger(Log(lines.append), "test", {}))

        async def look(status, body):
            answers.append((status, body))
            found = await page.look()
            return found and [each["metadata"]["name"] for each in found]

        try:
            await talk(look, asked, lines, url)
            await server.shutdown(0)
            return await look(200, b"")
        finally:
            await server.shutdown(0)

    return asyncio.run(main())


def test_a_pod_or_a_list_is_read_with_the_headers_that_were_given():
    async def talk(look, asked, lines, _url):
        assert await look(200, orjson.dumps(manifest("a"))) == ["a-n1"]
        assert (asked[0].path, asked[0].query) == ("/pods", "of=n1")
        assert (asked[0].headers["x-who"], asked[0].headers["authorization"]) == ("kubelet", "Bearer x")
        several = {"apiVersion": "v1", "kind": "PodList", "items": [manifest("b"), manifest("c")]}
        assert await look(200, orjson.dumps(several)) == ["b-n1", "c-n1"]
        assert lines == []

    with_page(talk)


def test_what_was_there_stays_and_the_reason_is_said():
    async def talk(look, _asked, lines, url):
        assert await look(404, b"none") is None
        assert f"{url}: 404 Not Found" in lines[-1]
        assert await look(200, orjson.dumps(manifest("a"))) == ["a-n1"]
        assert "Successfully read pods from URL" in lines[-1]
        for status, body, words in (
            (500, orjson.dumps(manifest("b")), "500 Internal Server Error"),
            (200, b"kind: Service", "couldn't parse as single"),
            (200, orjson.dumps(manifest("")), "invalid pod: name is needed for the pod"),
        ):
            assert await look(status, body) == ["a-n1"]
            assert "Failed to read pods from URL" in lines[-1]
            assert words in lines[-1]
        assert await look(403, b"") == ["a-n1"]
        assert "Dropping verbosity of this message to V(4)" in lines[-1]
        told = len(lines)
        assert await look(403, b"") == ["a-n1"]
        assert len(lines) == told

    # Nobody listens any more.
    assert with_page(talk) == ["a-n1"]


def test_an_empty_answer_wants_no_pods():
    async def talk(look, _asked, lines, url):
        assert await look(200, orjson.dumps(manifest("a"))) == ["a-n1"]
        assert await look(200, b"") == []
        assert f"zero-length data received from {url}" in lines[-1]
        assert await look(200, orjson.dumps(manifest("a"))) == ["a-n1"]

    with_page(talk)
