"""What /healthz, /livez and /readyz look at, and how they tell it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from tiphys.apiserver.request import Query
from tiphys.apiserver.rest import answers
from tiphys.base.http.messages import Response
from tiphys.machinery.fields import quote
from tiphys.store.interface import Store, Unavailable

Check = Callable[[], Awaitable[str]]
"""Empty when all is well, else what is wrong."""

READY_ONLY = frozenset({"etcd-readiness", "informer-sync", "shutdown"})
"""A server of which these fail lives all the same, and must not be restarted for it."""

_STORE_SECONDS = 2.0
_PLAIN_TEXT = "text/plain; charset=utf-8"
_NOT_SNIFFED = (("X-Content-Type-Options", "nosniff"),)


async def fine() -> str:
    return ""


def unless(trouble: Callable[[], str]) -> Check:
    async def check() -> str:
        return trouble()

    return check


def store_answers(store: Store) -> Check:
    """Whether a read gets an answer in time."""

    async def check() -> str:
        try:
            async with asyncio.timeout(_STORE_SECONDS):
                await store.get("health", "health")
        except Unavailable as problem:
            return str(problem)
        except TimeoutError:
            return "the store does not answer"
        return ""

    return check


class Health:
    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = checks

    def paths(self) -> list[str]:
        return [f"/{root}/{name}" for root in ("healthz", "livez", "readyz") for name in self._of(root)]

    def _of(self, root: str) -> Mapping[str, Check]:
        return {name: check for name, check in self._checks.items() if root == "readyz" or name not in READY_ONLY}

    async def answer(self, root: str, path: str, query: Query) -> Response:
        checks = self._of(root)
        one = path.removeprefix(f"/{root}").strip("/")
        if one:
            if one not in checks:
                return answers.page_not_found()
            wrong = await checks[one]()
            body = f"internal server error: {wrong}\n" if wrong else "ok"
            return Response(500 if wrong else 200, body.encode(), _PLAIN_TEXT)
        excluded = {name for value in query.get("exclude", ()) for name in value.split(",") if name}
        lines, failed = [], False
        for name, check in checks.items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
                continue
            wrong = await check()
            failed = failed or bool(wrong)
            lines.append(f"[-]{name} failed: reason withheld" if wrong else f"[+]{name} ok")
        if unknown := sorted(excluded - checks.keys()):
            told = ", ".join(quote(each) for each in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {told}")
        if failed:
            body = "\n".join([*lines, f"{root} check failed", ""])
            return Response(500, body.encode(), _PLAIN_TEXT, _NOT_SNIFFED)
        body = "\n".join([*lines, f"{root} check passed", ""]) if "verbose" in query else "ok"
        return Response(200, body.encode(), _PLAIN_TEXT, _NOT_SNIFFED)
