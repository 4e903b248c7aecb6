"""Our side of logind's D-Bus interface, over a real bus, against a service that speaks as logind does
(https://www.freedesktop.org/software/systemd/man/latest/org.freedesktop.login1.html)."""

import asyncio
import os
import shutil
import subprocess

import pytest
import uvloop

from tiphys.kubelet.shutdown.logind import Logind
from tiphys.kubelet.shutdown.manager import Unreachable

SYSTEM = """<busconfig><type>system</type><listen>unix:path=SOCKET</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/>
<allow receive_sender="*"/><allow own="*"/><allow user="*"/></policy></busconfig>"""
MANAGER = "org.freedesktop.login1.Manager"


class Service:
    """What logind and systemd answer; every lock is a pipe, whose other end tells when it is given back."""

    def __init__(self):
        self.asked, self.locks = [], []
        self.delay = 5_000_000

    async def serve(self, address):
        from dbus_fast import Message, MessageType, Variant
        from dbus_fast.aio import MessageBus

        self.bus = await MessageBus(bus_address=address, negotiate_unix_fd=True).connect()
        for name in ("org.freedesktop.login1", "org.freedesktop.systemd1"):
            await self.bus.request_name(name)

        def answer(message):
            if message.message_type is not MessageType.METHOD_CALL:
                return None
            self.asked.append((message.member, message.body))
            if message.member == "Get":
                return Message.new_method_return(message, "v", [Variant("t", self.delay)])
            if message.member == "Inhibit":
                kept, given = os.pipe()
                self.locks.append(kept)
                reply = Message.new_method_return(message, "h", [0], [given])
                # Once it has been sent it is the receiver's alone.
                self.bus.send(reply).add_done_callback(lambda _: os.close(given))
                return True
            if message.member == "KillUnit":
                self.delay = 30_000_000
                return Message.new_method_return(message)
            return None

        self.bus.add_message_handler(answer)

    async def say(self, going):
        from dbus_fast import Message

        await self.bus.send(
            Message.new_signal("/org/freedesktop/login1", MANAGER, "PrepareForShutdown", "b", [going]),
        )


@pytest.fixture
def address(tmp_path):
    if shutil.which("dbus-daemon") is None:
        pytest.skip("there is no dbus-daemon on this machine")
    socket, file = tmp_path / "bus", tmp_path / "bus.conf"
    file.write_text(SYSTEM.replace("SOCKET", str(socket)))
    command = ["dbus-daemon", f"--config-file={file}", "--nofork", "--print-address=1", "--nopidfile"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as daemon:
        try:
            yield daemon.stdout.readline().strip().split(",")[0]
        finally:
            daemon.terminate()


def play(address, scene):
    async def main():
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            service = Service()
            service.group = group
            await service.serve(address)
            try:
                await scene(service)
            finally:
                service.bus.disconnect()
                await service.bus.wait_for_disconnect()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main())


def test_the_lock_is_held_until_it_is_let_go_and_the_signal_is_heard(address, tmp_path):
    async def scene(service):
        logind = await Logind.connect(address, tmp_path / "conf.d")
        attending = service.group.create_task(logind.attend())
        assert await logind.delay() == 5.0
        await logind.allow(30)
        assert "InhibitDelayMaxSec=30\n" in (tmp_path / "conf.d" / "99-kubelet.conf").read_text()
        assert await logind.delay() == 30.0
        assert service.asked[1] == ("KillUnit", ["systemd-logind.service", "all", 1])
        await logind.hold()
        assert service.asked[-1][1][:2] == ["shutdown", "kubelet"]
        assert service.asked[-1][1][3] == "delay"
        await service.say(True)
        assert await logind.next() is True
        logind.let_go()
        # Nobody has the other end any more: this reads the end at once.
        assert await asyncio.to_thread(os.read, service.locks[0], 1) == b""
        await service.say(False)
        assert await logind.next() is False
        logind.close()
        await attending
        assert await logind.next() is None
        for each in service.locks:
            os.close(each)

    play(address, scene)


def test_what_logind_refuses_is_said(address, tmp_path):
    async def scene(service):
        logind = await Logind.connect(address, tmp_path)
        await service.bus.release_name("org.freedesktop.login1")
        with pytest.raises(Unreachable, match="failed creating systemd inhibitor"):
            await logind.hold()
        logind.close()

    play(address, scene)


def test_where_there_is_no_bus(tmp_path):
    with pytest.raises(Unreachable, match="No such file or directory"):
        asyncio.run(Logind.connect(f"unix:path={tmp_path}/none"))
