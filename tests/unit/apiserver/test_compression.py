"""Large answers for clients that take gzip. Authority: v1.36.4 apiserver/pkg/endpoints/handlers/responsewriters/writers.go."""

import gzip

from tests.wire import Wire, configmap, converse

MAPS = "/api/v1/namespaces/kube-public/configmaps"


def test_only_large_answers_and_only_for_those_who_take_them():
    async def scenario(wire: Wire) -> None:
        await wire("POST", MAPS, configmap("small"))
        small = await wire("GET", MAPS, headers={"accept-encoding": "gzip"})
        assert small.header("Content-Encoding") == []
        for index in range(3):
            await wire("POST", MAPS, {**configmap(f"large{index}"), "data": {"a": "x" * 60_000}})
        plain = await wire("GET", MAPS)
        assert plain.header("Content-Encoding") == []
        packed = await wire("GET", MAPS, headers={"accept-encoding": "br, gzip"})
        assert (packed.header("Content-Encoding"), packed.header("Vary")) == (["gzip"], ["Accept-Encoding"])
        assert len(packed.body) < len(plain.body) / 10
        assert gzip.decompress(packed.body) == plain.body

    converse(scenario)
