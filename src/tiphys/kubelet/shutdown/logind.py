"""systemd-logind over D-Bus: its inhibitor locks, and its word that the machine is being shut down.

While somebody holds a `delay` lock, logind says PrepareForShutdown(true) and waits until the lock's file descriptor is closed,
for InhibitDelayMaxSec at most (https://systemd.io/INHIBITOR_LOCKS/).
"""

import asyncio
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiphys.kubelet.shutdown.manager import Unreachable

if TYPE_CHECKING:
    from dbus_fast import Message
    from dbus_fast.aio import MessageBus

_SERVICE, _PATH, _MANAGER = "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager"
_SYSTEMD, _SYSTEMD_PATH = "org.freedesktop.systemd1", "/org/freedesktop/systemd1"
_BUS, _BUS_PATH = "org.freedesktop.DBus", "/org/freedesktop/DBus"
_HANG_UP = 1
_MICROSECONDS = 1_000_000
OVERRIDES = Path("/etc/systemd/logind.conf.d")


class Logind:
    def __init__(self, bus: "MessageBus", overrides: Path) -> None:
        self._bus = bus
        self._overrides = overrides
        self._lock = -1
        self._said: asyncio.Queue[bool | None] = asyncio.Queue()

    @classmethod
    async def connect(cls, address: str = "", overrides: Path = OVERRIDES) -> "Logind":
        """To the system's bus, or the one at `address`. Raises Unreachable."""
        # Most machines and all tests do without.
        from dbus_fast import BusType
        from dbus_fast.aio import MessageBus

        try:
            bus = MessageBus(bus_address=address or None, bus_type=BusType.SYSTEM, negotiate_unix_fd=True)
            made = cls(await bus.connect(), overrides)
        except Exception as problem:  # noqa: BLE001 - the library raises what it likes
            raise Unreachable(f"cannot connect to the system bus: {problem}") from None
        try:
            await made._listen()
        except BaseException:
            made.close()
            raise
        return made

    async def delay(self) -> float:
        words = "failed reading InhibitDelayMaxUSec property from logind"
        interface = "org.freedesktop.DBus.Properties"
        answer = await self._call(words, _SERVICE, _PATH, interface, "Get", "ss", [_MANAGER, "InhibitDelayMaxUSec"])
        return float(answer.body[0].value) / _MICROSECONDS

    async def allow(self, seconds: int) -> None:
        try:
            await asyncio.to_thread(_override, self._overrides, seconds)
        except OSError as problem:
            told = f"unable to override inhibit delay by shutdown manager: {problem}"
            raise Unreachable(told) from None
        unit = ["systemd-logind.service", "all", _HANG_UP]
        words = "unable to reload logind conf"
        await self._call(words, _SYSTEMD, _SYSTEMD_PATH, "org.freedesktop.systemd1.Manager", "KillUnit", "ssi", unit)

    async def hold(self) -> None:
        said = ["shutdown", "kubelet", "Kubelet needs time to handle node shutdown", "delay"]
        words = "failed creating systemd inhibitor"
        answer = await self._call(words, _SERVICE, _PATH, _MANAGER, "Inhibit", "ssss", said)
        taken = answer.unix_fds[answer.body[0]]
        self.let_go()
        self._lock = taken

    def let_go(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    async def attend(self) -> None:
        # That the connection has broken off says no more than that it has ended.
        with contextlib.suppress(Exception):
            await self._bus.wait_for_disconnect()  # type: ignore[no-untyped-call]
        self._said.put_nowait(None)

    async def next(self) -> bool | None:
        return await self._said.get()

    def close(self) -> None:
        self.let_go()
        self._bus.disconnect()

    async def _listen(self) -> None:
        self._bus.add_message_handler(self._hear)
        rule = f"type='signal',interface='{_MANAGER}',member='PrepareForShutdown',path='{_PATH}'"
        await self._call("failed to monitor shutdown", _BUS, _BUS_PATH, _BUS, "AddMatch", "s", [rule])

    def _hear(self, message: "Message") -> None:
        if message.interface == _MANAGER and message.member == "PrepareForShutdown" and message.body:
            self._said.put_nowait(bool(message.body[0]))

    async def _call(
        self, words: str, service: str, path: str, interface: str, member: str, signature: str, body: list[Any]
    ) -> "Message":
        from dbus_fast import Message, MessageType

        sent = Message(destination=service, path=path, interface=interface, member=member, signature=signature, body=body)
        try:
            answer = await self._bus.call(sent)
        except Exception as problem:  # noqa: BLE001 - the library raises what it likes
            raise Unreachable(f"{words}: {problem}") from None
        if answer is None or answer.message_type is MessageType.ERROR:
            raise Unreachable(f"{words}: {answer.body[0] if answer is not None and answer.body else 'no answer'}")
        return answer


def _override(folder: Path, seconds: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "99-kubelet.conf").write_text(f"# Kubelet logind override\n[Login]\nInhibitDelayMaxSec={seconds}\n")
