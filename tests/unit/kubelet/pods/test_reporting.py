"""Writing the status of a pod that is another one by now (v1.36.4 plugin/pkg/admission/noderestriction/admission.go)."""

import asyncio
from types import SimpleNamespace

import pytest

from tiphys.kubelet.pods.reporting import Reporter
from tiphys.kubelet.pods.timeline import Timeline
from tiphys.machinery.errors import ApiError

POD = {"metadata": {"name": "db-0", "namespace": "default", "uid": "u", "resourceVersion": "5"}, "spec": {}}


class Client:
    def __init__(self, code, words):
        self.refusal = ApiError(code, "", words)

    async def patch(self, *_arguments, **_named):
        raise self.refusal


@pytest.mark.parametrize(
    ("code", "words", "is_told"),
    [
        (404, 'pods "db-0" not found', False),
        (422, "metadata.uid: Invalid value", False),
        (403, 'node "n1" can only update pod status for pods with spec.nodeName set to itself', False),
        (403, "pods is forbidden", True),
    ],
)
def test_what_is_refused(code, words, is_told):
    told = []
    log = SimpleNamespace(error=lambda said, **_: told.append(said))

    async def main():
        context = SimpleNamespace(client=Client(code, words), log=log)
        reporter = Reporter(context, POD, Timeline(lambda: 0.0))
        reporter.report({"phase": "Running"})
        await reporter.flush()

    asyncio.run(main())
    assert told == (["status refused"] if is_told else [])
