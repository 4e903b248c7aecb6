import asyncio
from dataclasses import dataclass, field

import orjson
import pytest
import uvloop

from tiphys.api.kind import Kind
from tiphys.base.http.messages import Answer, Channel, Request, Response, Stream
from tiphys.base.http.server import Server
from tiphys.client.interface import Client, Watched
from tiphys.client.kubeconfig import Access
from tiphys.client.rest import RestClient
from tiphys.machinery import errors
from tiphys.machinery.errors import ApiError

POD = Kind("", "v1", "Pod", "pods", "io.k8s.api.core.v1.Pod")
NODE = Kind("", "v1", "Node", "nodes", "io.k8s.api.core.v1.Node", namespaced=False)
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments", "io.k8s.api.apps.v1.Deployment")


@dataclass
class FakeClock:
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return 0.0

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def run(handler, talk, *, base: str = "", clock: FakeClock | None = None, **access) -> None:
    async def main() -> None:
        server = Server(handler)
        host, port = await server.listen("127.0.0.1", 0)
        client = RestClient(Access(f"http://{host}:{port}{base}", **access), clock=clock or FakeClock())
        try:
            async with asyncio.timeout(10):
                await talk(client)
        finally:
            client.close()
            await server.shutdown(1)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


async def mirror(request: Request) -> Answer:
    """What was asked, as an object."""
    headers = {name: request.headers.get(name, "") for name in ("content-type", "authorization", "impersonate-user")}
    body = orjson.loads(request.body) if request.body else None
    told = {"asked": f"{request.method} {request.path}?{request.query}", "body": body, **headers}
    return Response(200, orjson.dumps(told))


@pytest.mark.parametrize(
    ("call", "asked", "content"),
    [
        (lambda c: c.get(POD, "a", "ns"), "GET /x/api/v1/namespaces/ns/pods/a?", ""),
        (lambda c: c.get(NODE, "a:b", params={"z": "1"}), "GET /x/api/v1/nodes/a%3Ab?z=1", ""),
        (lambda c: c.create(DEPLOYMENT, {}, "ns"), "POST /x/apis/apps/v1/namespaces/ns/deployments?", "application/json"),
        (
            lambda c: c.create(POD, {}, "ns", name="a", subresource="binding"),
            "POST /x/api/v1/namespaces/ns/pods/a/binding?",
            "application/json",
        ),
        (
            lambda c: c.update(POD, {"metadata": {"name": "a", "namespace": "ns"}}, subresource="status"),
            "PUT /x/api/v1/namespaces/ns/pods/a/status?",
            "application/json",
        ),
        (
            lambda c: c.patch(POD, "a", {}, "ns", patch_type="strategic"),
            "PATCH /x/api/v1/namespaces/ns/pods/a?",
            "application/strategic-merge-patch+json",
        ),
        (
            lambda c: c.patch(NODE, "a", {}, patch_type="apply", params={"fieldManager": "m"}),
            "PATCH /x/api/v1/nodes/a?fieldManager=m",
            "application/apply-patch+yaml",
        ),
        (lambda c: c.delete(POD, "a", "ns"), "DELETE /x/api/v1/namespaces/ns/pods/a?", ""),
    ],
)
def test_paths_and_content_types(call, asked, content):
    # https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris
    async def talk(client: Client) -> None:
        told = await call(client)
        assert (told["asked"], told["content-type"]) == (asked, content)

    run(mirror, talk, base="/x")


def test_credentials(tmp_path):
    file = tmp_path / "token"
    file.write_text("from-file\n")

    async def expect(client: RestClient, authorization: str) -> None:
        assert (await client.get(NODE, "a"))["authorization"] == authorization

    run(mirror, lambda client: expect(client, "Bearer t"), token="t")
    run(mirror, lambda client: expect(client, "Bearer from-file"), token_file=str(file))
    run(mirror, lambda client: expect(client, "Basic dTpw"), basic=("u", "p"))

    async def impersonated(client: RestClient) -> None:
        assert (await client.get(NODE, "a"))["impersonate-user"] == "jane"

    run(mirror, impersonated, impersonate=(("Impersonate-User", "jane"),))


def test_a_list_names_the_kind_of_its_items():
    async def handler(request: Request) -> Answer:
        assert request.query == "limit=1&labelSelector=a%3Db&fieldSelector=spec.nodeName%3Dn"
        return Response(200, b'{"metadata":{"resourceVersion":"7","continue":"c"},"items":[{"metadata":{"name":"a"}}]}')

    async def talk(client: Client) -> None:
        listed = await client.list(POD, labels="a=b", fields="spec.nodeName=n", params={"limit": "1"})
        assert listed.items == [{"metadata": {"name": "a"}, "apiVersion": "v1", "kind": "Pod"}]
        assert (listed.revision, listed.continue_token) == ("7", "c")

    run(handler, talk)


def test_watch():
    async def handler(request: Request) -> Answer:
        assert request.query == "watch=true&resourceVersion=5"

        async def events(channel: Channel) -> None:
            channel.write(b'{"type":"ADDED","object":{"a":1}}\n')
            channel.write(b'{"type":"DELETED","object":{"a":2}}\n')

        return Stream(events)

    async def talk(client: Client) -> None:
        events = [event async for event in client.watch(POD, params={"resourceVersion": "5"})]
        assert events == [Watched("ADDED", {"a": 1}), Watched("DELETED", {"a": 2})]

    run(handler, talk)


@pytest.mark.parametrize(
    "error",
    [
        errors.not_found("apps", "deployments", "x"),
        errors.conflict("", "pods", "x"),
        errors.expired("too old", "token"),
        errors.unauthorized(),
    ],
)
def test_errors_come_back_as_they_were(error):
    async def handler(_: Request) -> Answer:
        return Response(error.code, orjson.dumps(error.to_status()))

    async def talk(client: Client) -> None:
        for call in (client.get(POD, "x"), anext(aiter(client.watch(POD)))):
            with pytest.raises(ApiError) as raised:
                await call
            assert raised.value.to_status() == error.to_status()

    run(handler, talk)


def test_an_answer_that_is_no_status():
    async def handler(_: Request) -> Answer:
        return Response(503, b"upstream is down", "text/plain")

    async def talk(client: Client) -> None:
        with pytest.raises(ApiError, match="upstream is down") as raised:
            await client.get(POD, "x")
        assert (raised.value.code, raised.value.reason) == (503, "ServiceUnavailable")

    run(handler, talk)


def test_a_busy_server_is_tried_again_when_it_says():
    # client-go rest/with_retry.go
    clock = FakeClock()
    asked = 0

    async def handler(_: Request) -> Answer:
        nonlocal asked
        asked += 1
        if asked < 3:
            return Response(429, b"", headers=(("Retry-After", "2"),))
        return Response(200, b"{}")

    async def talk(client: Client) -> None:
        assert await client.get(POD, "x") == {}

    run(handler, talk, clock=clock)
    assert clock.slept == [2, 2]
