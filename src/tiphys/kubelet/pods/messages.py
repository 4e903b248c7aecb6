"""The termination message of a container that has ended: what it wrote, or the end of its log where it asked for that."""

from dataclasses import replace
from pathlib import PurePath

from tiphys.kubelet.cri.observed import MESSAGE_PATH, MESSAGE_POLICY, Container
from tiphys.kubelet.logs import parse_line
from tiphys.kubelet.volumes import host
from tiphys.kubelet.volumes.plan import PodFolder

LONGEST = 4096
LONGEST_FROM_LOG = 2048
LINES_FROM_LOG = 80


def with_message(container: Container, folder: PodFolder, logs: PurePath) -> Container:
    if not container.annotations.get(MESSAGE_PATH):
        return container
    written = host.read_start(folder.message(container.name, container.attempt), LONGEST)
    if not written and container.annotations.get(MESSAGE_POLICY) == "FallbackToLogsOnError" and container.exit_code:
        # Half as much again: each line carries a time and the name of its stream.
        tail = host.read_tail(logs / container.name / f"{container.attempt}.log", 4 * LONGEST_FROM_LOG)
        lines = [parse_line(line) for line in tail.splitlines(keepends=True)[-LINES_FROM_LOG:]]
        written = b"".join(line.content for line in lines if line is not None)[-LONGEST_FROM_LOG:]
    return replace(container, message=written.decode(errors="replace")) if written else container
