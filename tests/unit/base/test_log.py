import orjson
import pytest

from tiphys.base.log import Log, Logger


class Stopped:
    def now(self) -> float:
        return 86400.5

    def monotonic(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None: ...


@pytest.fixture
def lines() -> list[str]:
    return []


def test_text_is_klogs(lines):
    # https://kubernetes.io/docs/concepts/cluster-administration/system-logs/#structured-logging
    log = Logger(Log(lines.append, clock=Stopped()), "scheduler", {}).named("binder", node="n1")
    log.info("Pod bound", pod="default/web", tries=2, forced=False)
    assert lines == ['I0102 00:00:00.500000 binder] "Pod bound" node="n1" pod="default/web" tries=2 forced=false\n']


def test_json(lines):
    Logger(Log(lines.append, style="json", clock=Stopped()), "x", {}).error("bad", thing={1, 2}.__class__)
    record = orjson.loads(lines[0])
    assert (record["ts"], record["level"], record["msg"], record["thing"]) == (86400.5, "E", "bad", "<class 'set'>")


def test_verbosity(lines):
    sink = Log(lines.append, verbosity=2, clock=Stopped())
    log = Logger(sink, "x", {})
    log.debug(2, "shown")
    log.debug(3, "not shown")
    assert (len(lines), log.on(2), log.on(3)) == (1, True, False)
    sink.configure(verbosity=3)
    assert log.on(3)


def test_an_exception_comes_with_its_traceback(lines):
    log = Logger(Log(lines.append, clock=Stopped()), "x", {})
    try:
        raise ValueError("no")
    except ValueError:
        log.exception("failed", key="a/b")
    first, *rest = lines[0].splitlines()
    assert first.endswith('"failed" key="a/b"')
    assert rest[-1] == "ValueError: no"
