"""Whatever comes over the wire, the answer is the client's fault or a success: never 5xx, and never a dead server.

The cluster fixture looks into the server's log at the end, so a contained bug fails these tests too.
"""

import http.client
import json
import socket
import ssl
import string
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.slow

FUZZ = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class Wire:
    """One connection, kept as clients keep theirs."""

    def __init__(self, cluster) -> None:
        self._cluster = cluster
        self._context = ssl.create_default_context(cafile=str(cluster.authority))
        self._connection: http.client.HTTPSConnection | None = None

    def __call__(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
        given = {"Authorization": f"Bearer {self._cluster.token}", **headers}
        for fresh in (False, True):
            if self._connection is None or fresh:
                self.close()
                self._connection = http.client.HTTPSConnection(
                    "127.0.0.1", self._cluster.port, context=self._context, timeout=60
                )
            try:
                self._connection.request(method, path, body, given)
                answer = self._connection.getresponse()
                return answer.status, answer.read()
            except (http.client.HTTPException, ConnectionError):
                # The server may end a connection after a request that it could not understand.
                if fresh:
                    raise
        raise AssertionError

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


@pytest.fixture(scope="module")
def wire(cluster) -> Iterator[Wire]:
    connected = Wire(cluster)
    yield connected
    connected.close()


@contextmanager
def raw(cluster) -> Iterator[ssl.SSLSocket]:
    context = ssl.create_default_context(cafile=str(cluster.authority))
    plain = socket.create_connection(("127.0.0.1", cluster.port), timeout=60)
    with context.wrap_socket(plain, server_hostname="localhost") as secure:
        yield secure


def answer_to(cluster, request: bytes) -> bytes:
    with raw(cluster) as connection:
        connection.sendall(request)
        try:
            return connection.recv(65536)
        except ConnectionError:
            return b""


scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64) | st.floats(allow_nan=False) | st.text(max_size=12)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=8
)

BODIES = {
    "pods": {
        "metadata": {"name": "p", "labels": {"a": "b"}, "annotations": {}, "finalizers": ["x/y"], "ownerReferences": []},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "i",
                    "env": [{"name": "E", "value": "v"}],
                    "ports": [{"containerPort": 80}],
                    "resources": {"requests": {"cpu": "1"}},
                    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
                    "livenessProbe": {"httpGet": {"port": 80}},
                }
            ],
            "volumes": [{"name": "v", "emptyDir": {}}],
            "tolerations": [{"key": "k"}],
            "affinity": {"podAntiAffinity": {}},
            "securityContext": {"runAsUser": 1},
        },
    },
    "services": {
        "metadata": {"name": "s"},
        "spec": {"ports": [{"port": 80, "targetPort": "web"}], "selector": {"a": "b"}, "type": "NodePort", "clusterIP": ""},
    },
    "resourcequotas": {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}, "scopes": ["BestEffort"]}},
    "limitranges": {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}},
    "secrets": {"metadata": {"name": "x"}, "data": {"k": "dg=="}, "type": "Opaque"},
}


def places(tree: object, at: tuple = ()) -> Iterator[tuple]:
    """Every path into a tree."""
    if at:
        yield at
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from places(value, (*at, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from places(value, (*at, index))


def with_changed(tree: dict, at: tuple, value: object) -> dict:
    made = json.loads(json.dumps(tree))
    inner = made
    for step in at[:-1]:
        inner = inner[step]
    inner[at[-1]] = value
    return made


ALL_PLACES = [(plural, at) for plural, tree in BODIES.items() for at in places(tree)]


@pytest.mark.parametrize("plural", BODIES)
@pytest.mark.parametrize("value", [None, True, -1, 1.5, "", "\x00", [], {}, [None], {"": None}, [[]], "9" * 400])
def test_each_field_with_a_wrong_value(wire, namespace, plural, value):
    for _, at in (each for each in ALL_PLACES if each[0] == plural):
        body = json.dumps(with_changed(BODIES[plural], at, value)).encode()
        status, answer = wire("POST", f"/api/v1/namespaces/{namespace}/{plural}?dryRun=All", body)
        assert status < 500, (plural, at, value, answer)


@FUZZ
@given(place=st.sampled_from(ALL_PLACES), value=values)
def test_bodies(wire, place, value):
    plural, at = place
    body = json.dumps(with_changed(BODIES[plural], at, value)).encode()
    status, answer = wire("POST", f"/api/v1/namespaces/default/{plural}?dryRun=All", body)
    assert status < 500, answer


KINDS_OF_BODY = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
    "application/cbor",
    "text/plain",
    "",
    "*/*",
    "application/json; charset=utf-8",
]


@FUZZ
@given(
    body=st.binary(max_size=200) | st.binary(max_size=100).map(lambda rest: b"k8s\0" + rest),
    media=st.sampled_from(KINDS_OF_BODY),
    method=st.sampled_from(["POST", "PUT", "PATCH", "DELETE"]),
)
def test_bodies_that_are_no_objects(wire, body, media, method):
    collection = "/api/v1/namespaces/default/configmaps"
    path = collection if method == "POST" else f"{collection}/none?fieldManager=fuzz"
    status, answer = wire(method, path, body, **{"Content-Type": media})
    assert status < 500, answer


@FUZZ
@given(patch=values, media=st.sampled_from([each for each in KINDS_OF_BODY if "patch" in each]))
def test_patches(wire, patch, media):
    body = json.dumps(patch).encode()
    path = "/api/v1/namespaces/default?dryRun=All&fieldManager=fuzz"
    status, answer = wire("PATCH", path, body, **{"Content-Type": media})
    assert status < 500, answer


segments = st.sampled_from(
    [
        "api",
        "apis",
        "v1",
        "apps",
        "namespaces",
        "default",
        "pods",
        "status",
        "log",
        "exec",
        "..",
        ".",
        "",
        "%2e%2e",
        "%2f",
        "%00",
        "healthz",
        "readyz",
        "openapi",
        "v3",
        "v2",
        "watch",
        "proxy",
        "scale",
        "metrics",
        "%",
        "%zz",
        "a" * 300,
        "é",
    ]
) | st.text(string.ascii_letters + string.digits + "-._~!$&'()*+,;=:@%", max_size=10)


@FUZZ
@given(parts=st.lists(segments, max_size=8), method=st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]))
def test_paths(wire, parts, method):
    if "watch" in parts or "proxy" in parts:
        parts = [each for each in parts if each not in ("watch", "proxy")]
    path = "/" + "/".join(part.replace("é", "%C3%A9") for part in parts)
    body = b"{}" if method in ("POST", "PUT", "PATCH") else None
    status, answer = wire(method, path + "?dryRun=All&timeoutSeconds=1", body)
    # A connection that is upgraded by nobody, or goes to a kubelet that is not there, is 5xx in upstream, too.
    assert status < 500, answer


QUERIES = ["limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector", "timeoutSeconds"]
QUERIES += [
    "pretty",
    "dryRun",
    "fieldManager",
    "fieldValidation",
    "allowWatchBookmarks",
    "sendInitialEvents",
    "propagationPolicy",
]
words = st.text(string.printable, max_size=12) | st.sampled_from(
    ["0", "-1", "99999999999999999999", "a in (b,c)", "a notin ()", "!a", "a==b,,", "metadata.name=x", "Exact", "NotOlderThan"]
)


@FUZZ
@given(query=st.dictionaries(st.sampled_from(QUERIES), words, max_size=4), watched=st.booleans())
def test_queries(wire, query, watched):
    from urllib.parse import urlencode

    if watched:
        query = {**query, "watch": "1", "timeoutSeconds": "1"}
        # A watch without an end would only tell that it has none.
        query.pop("sendInitialEvents", None)
    if watched and query.get("resourceVersion", "").isdecimal():
        query.pop("resourceVersion")
    status, answer = wire("GET", "/api/v1/namespaces/absent/pods?" + urlencode(query)) if not watched else (200, b"")
    # A resourceVersion from the future is 504, as upstream's.
    assert status < 500 or (status == 504 and b"Too large resource version" in answer), answer


header_values = st.text(string.ascii_letters + string.digits + string.punctuation + " ", max_size=60)


@FUZZ
@given(
    name=st.sampled_from(
        [
            "Accept",
            "Accept-Encoding",
            "Impersonate-User",
            "Impersonate-Group",
            "Impersonate-Extra-x",
            "If-None-Match",
            "Authorization",
            "Content-Encoding",
            "Expect",
            "X-Remote-User",
            "Cookie",
            "Host",
            "Range",
            "Sec-WebSocket-Protocol",
        ]
    ),
    value=header_values,
)
def test_headers(wire, name, value):
    status, answer = wire("GET", "/api/v1/namespaces/default", **{name: value})
    assert status < 500 or (name.startswith("Impersonate") and b"without impersonating a user" in answer), answer


@pytest.mark.parametrize(
    "path",
    [
        "//",
        "/api//v1",
        "/api/v1/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/api/v1/namespaces/%2f/pods",
        "/api/v1/pods/",
        "/api/v1/namespaces/a%00b",
        "/openapi/v3/../v2",
        "/openapi/v3/%2e%2e",
        "/logs/../../etc/passwd",
        "/api/v1/namespaces/..",
        "*",
    ],
)
def test_tricks_with_paths(cluster, path):
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {cluster.token}\r\nConnection: close\r\n\r\n"
    answer = answer_to(cluster, request.encode())
    assert answer.startswith(b"HTTP/1.1 "), answer
    assert answer.split()[1][:1] in (b"2", b"3", b"4"), answer
    assert b"root:" not in answer


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x00" * 100,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
        b"GET /" + b"a" * 2_000_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 2_000_000 + b"\r\n\r\n",
    ],
    ids=lambda data: repr(data[:24]),
)
def test_what_is_no_http(cluster, wire, request_bytes):
    with raw(cluster) as connection:
        answer = b""
        try:
            connection.sendall(request_bytes)
            answer = connection.recv(4096)
        except OSError:
            # Cutting the connection off is an answer, too.
            pass
    assert answer == b"" or answer.split()[1].startswith(b"4"), answer
    assert wire("GET", "/readyz")[0] == 200


def test_too_large_a_body(wire):
    # v1.36 staging/src/k8s.io/apiserver/pkg/server/config.go: MaxRequestBodyBytes is 3 MiB.
    body = json.dumps({"metadata": {"name": "big"}, "data": {"k": "x" * (4 << 20)}}).encode()
    try:
        status, answer = wire("POST", "/api/v1/namespaces/default/configmaps", body)
    except OSError:
        return
    assert status == 413, answer


def test_a_client_that_is_slow_holds_up_nobody(cluster, wire):
    with raw(cluster) as slow:
        slow.sendall(b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        # It is answered, or not at all as long as the other one does not go on.
        assert wire("GET", "/api/v1/namespaces/default")[0] == 200


def test_many_idle_connections(cluster, wire):
    with ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(socket.create_connection(("127.0.0.1", cluster.port), timeout=60))
        for _ in range(20):
            stack.enter_context(raw(cluster))
        assert wire("GET", "/api/v1/namespaces/default")[0] == 200
    assert wire("GET", "/api/v1/namespaces/default")[0] == 200
