"""Start, find, keep, and end the containerd of a node."""

import asyncio
import os
import platform
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from tiphys.base.clock import Clock
from tiphys.base.log import Logger
from tiphys.base.tasks import first_done
from tiphys.kubelet.containerd import config, leftovers, shims
from tiphys.kubelet.containerd.archive import archive
from tiphys.kubelet.containerd.config import Layout
from tiphys.kubelet.containerd.ctr import CtrFailed, ctr
from tiphys.kubelet.containerd.leftovers import Leftovers
from tiphys.kubelet.containerd.pause import x86_64
from tiphys.kubelet.cri.connection import RuntimeFailed
from tiphys.kubelet.cri.runtime import Runtime

PAUSE_IMAGE = "tiphys.local/pause:1"
PLUGIN_FOLDERS = ("/usr/lib/cni", "/opt/cni/bin")
_NEEDED_PLUGINS = ("bridge", "host-local", "portmap", "loopback")
_SYS_RESOURCE = 24
_PATIENCE = 60.0
"""A busy machine needs longer than one would think."""
_STOP_SECONDS = 10.0
_LATE_SHIMS, _KNOWN_AFTER = 5.0, 30.0
_SWEEP_SECONDS, _SURELY_KNOWN_AFTER = 600.0, 300.0
"""Longer than the kubelet waits for a container to start."""
_AGAIN = 0.1
_LONGEST_AGAIN = 10.0


class CannotRun(Exception):
    """A sentence for the user: what this machine lacks."""


class Containerd:
    """`start` takes over one that still runs from the same directory: containers outlive the node process."""

    def __init__(self, layout: Layout, *, plugins: Path | None = None) -> None:
        """`plugins`: the folder of network plugins, if it is not one of the usual."""
        self.layout = layout
        self.socket = Path(layout.socket)
        self._plugins = plugins
        self._pid_file = Path(layout.root) / "containerd.pid"
        self._child: subprocess.Popen[bytes] | None = None

    @staticmethod
    def plugins() -> Path:
        for folder in PLUGIN_FOLDERS:
            if all(Path(folder, name).exists() for name in _NEEDED_PLUGINS):
                return Path(folder)
        raise CannotRun("the CNI plugins are not installed (Debian: apt install containernetworking-plugins)")

    async def start(self) -> None:
        """Returns when it answers and has its pause image."""
        if os.geteuid() != 0:
            raise CannotRun("real containers need root")
        self._write()
        before = Leftovers(frozenset(), frozenset())
        pid = self.pid()
        if pid is None:
            await asyncio.to_thread(leftovers.remove_damaged_notes, self.layout)
            before = await asyncio.to_thread(leftovers.look, self.layout)
            pid = self._spawn()
        await self._answering()
        is_prepared = False

        async def prepare() -> None:
            nonlocal is_prepared
            await self._remove_unknown(before)
            await self._import_pause()
            is_prepared = True

        await first_done(prepare(), _ended(pid))
        if not is_prepared:
            raise CannotRun("containerd has ended while it was being prepared")

    async def _remove_unknown(self, before: Leftovers) -> None:
        """It serves before it knows its sandboxes again, and says so."""
        if not before:
            return
        runtime = Runtime(self.socket)
        try:
            async with _patience("containerd does not say which sandboxes it has"):
                while True:
                    try:
                        left = await leftovers.unknown(before, runtime, await self._tasks())
                    except RuntimeFailed:
                        await asyncio.sleep(0.05)
                    else:
                        break
        finally:
            await runtime.close()
        await asyncio.to_thread(leftovers.remove, left, self.layout, self._plugins or self.plugins())

    async def _tasks(self) -> list[str]:
        return (await self._ctr("tasks", "list", "--quiet")).split()

    async def keep(self, clock: Clock, log: Logger) -> None:
        """Start it again whenever it ends; containers go on meanwhile under their shims. Until cancelled."""
        wait = _AGAIN
        while True:
            if (pid := self.pid()) is not None:
                await first_done(_ended(pid), self._sweep(clock, log))
                if self._child is not None:
                    # Its last trace in the table of processes.
                    await asyncio.to_thread(self._child.wait)
                log.error("containerd has ended; it is started again", words=self._last_words())
            try:
                await self.start()
            except CannotRun as problem:
                log.error("containerd cannot be started", error=str(problem))
                await clock.sleep(wait)
                wait = min(2 * wait, _LONGEST_AGAIN)
            else:
                wait = _AGAIN

    async def _sweep(self, clock: Clock, log: Logger) -> None:
        """First for shims that were only just being started when the containerd before was killed; then, now and again, for
        those whose start came to nothing on a busy machine. Until cancelled."""
        wait, known_after = _LATE_SHIMS, _KNOWN_AFTER
        while True:
            await clock.sleep(wait)
            before = Leftovers(frozenset(), frozenset(), await asyncio.to_thread(shims.look, self.layout))
            # What is being started now is known by then, or will be tried again.
            await clock.sleep(known_after)
            await self._remove_shims(before, log)
            wait, known_after = _SWEEP_SECONDS, _SURELY_KNOWN_AFTER

    async def _remove_shims(self, before: Leftovers, log: Logger) -> None:
        runtime = Runtime(self.socket)
        try:
            left = await leftovers.unknown(before, runtime, await self._tasks())
            await asyncio.to_thread(shims.remove, left.shims, self.layout)
        except (CannotRun, RuntimeFailed) as problem:
            log.warning("containerd does not say what it runs", error=str(problem))
        finally:
            await runtime.close()

    def pid(self) -> int | None:
        """Of the running process."""
        try:
            pid = int(self._pid_file.read_text())
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (OSError, ValueError):
            return None
        return pid if str(self.layout.config).encode() in words else None

    def _write(self) -> None:
        for folder in (self.layout.root, self.layout.state, self.layout.network):
            Path(folder).mkdir(parents=True, exist_ok=True, mode=0o711)
        text = config.containerd(
            self.layout,
            pause_image=PAUSE_IMAGE,
            plugins=self._plugins or self.plugins(),
            restrict_oom_score=not _may(_SYS_RESOURCE),
        )
        Path(self.layout.config).write_text(text)

    def _spawn(self) -> int:
        with Path(self.layout.root, "containerd.log").open("ab") as log:
            try:
                self._child = subprocess.Popen(
                    ["containerd", "--config", str(self.layout.config), "--log-level", "warn"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            except FileNotFoundError:
                raise CannotRun("containerd is not installed (Debian: apt install containerd runc)") from None
        self._pid_file.write_text(str(self._child.pid))
        return self._child.pid

    async def _answering(self) -> None:
        async with _patience("containerd does not answer"):
            while True:
                if self._child is not None and self._child.poll() is not None:
                    raise CannotRun(f"containerd ended with {self._child.returncode}: {self._last_words()}")
                if self._child is None and self.pid() is None:
                    raise CannotRun("the containerd that ran here has just ended")
                try:
                    _, writer = await asyncio.open_unix_connection(str(self.socket))
                except OSError:
                    await asyncio.sleep(0.01)
                    continue
                writer.close()
                return

    def _last_words(self) -> str:
        log = Path(self.layout.root, "containerd.log").read_text(errors="replace").splitlines()
        return log[-1] if log else "it said nothing"

    async def _import_pause(self) -> None:
        if platform.machine() != "x86_64":
            raise CannotRun(f"there is no pause program for {platform.machine()}")
        await self.import_image(archive(PAUSE_IMAGE, {"pause": x86_64()}, entrypoint=["/pause"]))

    async def import_image(self, data: bytes) -> None:
        """A docker archive."""
        await self._ctr("images", "import", "-", data=data)

    async def _ctr(self, *arguments: str, data: bytes = b"") -> str:
        """Raises CannotRun."""
        try:
            return await ctr(self.socket, *arguments, data=data)
        except (CtrFailed, TimeoutError) as failed:
            raise CannotRun(f"ctr {' '.join(arguments)}: {failed}") from None

    def stop(self) -> None:
        """End the process; containers go on under their shims."""
        pid = self.pid()
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
            if not _is_gone(pid, _STOP_SECONDS):
                # It has hung, or the machine is very busy: nothing of it is lost.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                _is_gone(pid, _STOP_SECONDS)
            if self._child is not None:
                self._child.wait()
        self._pid_file.unlink(missing_ok=True)


@asynccontextmanager
async def _patience(told: str) -> AsyncIterator[None]:
    """Raises CannotRun when it is over."""
    try:
        async with asyncio.timeout(_PATIENCE):
            yield
    except TimeoutError:
        raise CannotRun(f"{told} for {_PATIENCE:.0f} s") from None


async def _ended(pid: int) -> None:
    loop, gone = asyncio.get_running_loop(), asyncio.Event()
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop.add_reader(handle, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def _is_gone(pid: int, seconds: float) -> bool:
    """Whether it ends within these seconds."""
    import select

    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def _may(capability: int) -> bool:
    """Whether this process holds the capability."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> capability & 1)
    return False
