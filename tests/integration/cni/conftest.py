"""Network namespaces that stand for nodes, pods and machines outside; they share the mounts of nobody and have no names."""

import ctypes
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

CLONE_NEWNET = 0x40000000
PATIENCE = 30.0
"""Seconds for what will come about, on a machine that may be busy with other things."""
IN_VAIN = 0.5
"""Seconds for what must not."""
_libc = ctypes.CDLL(None, use_errno=True)

ECHO = """
import socket, threading
for family, everywhere in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
    for port in (80, 81, 90):
        server = socket.socket(family, socket.SOCK_STREAM)
        flows = socket.socket(family, socket.SOCK_DGRAM)
        for each in (server, flows):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            each.bind((everywhere, port))
        server.listen()
        def connections(server=server):
            while True:
                peer, address = server.accept()
                def serve(peer=peer, address=address):
                    while data := peer.recv(100):
                        peer.sendall(address[0].encode())
                threading.Thread(target=serve, daemon=True).start()
        def datagrams(flows=flows):
            while True:
                _, peer = flows.recvfrom(100)
                flows.sendto(peer[0].encode(), peer)
        threading.Thread(target=connections, daemon=True).start()
        threading.Thread(target=datagrams, daemon=True).start()
print("up", flush=True)
threading.Event().wait()
"""


class Space:
    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "600"])
        self.servers = []
        mine = os.readlink("/proc/self/ns/net")
        until = time.monotonic() + PATIENCE
        while os.readlink(f"/proc/{self.holder.pid}/ns/net") == mine:
            assert time.monotonic() < until
            time.sleep(0.005)
        self.run("ip link set lo up")

    def command(self, *words):
        return ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net", "--", *words]

    def run(self, line, given=""):
        done = subprocess.run(self.command(*line.split()), input=given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        return done.stdout

    def python(self, code):
        done = subprocess.run(self.command(sys.executable, "-c", code), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def serve(self):
        server = subprocess.Popen(self.command(sys.executable, "-c", ECHO), stdout=subprocess.PIPE)
        self.servers.append(server)
        assert server.stdout.readline() == b"up\n"

    def inside(self, work):
        """What `work()` returns there; a thread has a network namespace of its own."""
        answers = []

        def go():
            with open(f"/proc/{self.holder.pid}/ns/net") as there:
                assert _libc.setns(there.fileno(), CLONE_NEWNET) == 0
            answers.append(work())

        thread = threading.Thread(target=go)
        thread.start()
        thread.join()
        return answers[0]

    def connect(self, address, port=80, *, udp=False):
        kind = socket.SOCK_DGRAM if udp else socket.SOCK_STREAM

        def work():
            asking = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
            asking.settimeout(PATIENCE)
            asking.connect((address, port))
            return asking

        return self.inside(work)

    def reaches(self, address, port=80, *, udp=False, seconds=PATIENCE):
        """As whom it is seen there; empty: not at all."""

        def work():
            kind = socket.SOCK_DGRAM if udp else socket.SOCK_STREAM
            with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind) as asking:
                asking.settimeout(seconds)
                try:
                    asking.connect((address, port))
                    return talk(asking)
                except TimeoutError:
                    return ""

        return self.inside(work)

    def is_kept_from(self, address, port=80, *, udp=False):
        return not self.reaches(address, port, udp=udp, seconds=IN_VAIN)

    def end(self):
        for each in (*self.servers, self.holder):
            each.kill()
            each.wait()
            if each.stdout is not None:
                each.stdout.close()


def talk(asking):
    asking.send(b"hello")
    return asking.recv(100).decode()


def link(one, its_name, other, other_name="eth0"):
    one.run(f"ip link add {its_name} type veth peer name {other_name} netns {other.holder.pid}")
    one.run(f"ip link set {its_name} up")
    other.run(f"ip link set {other_name} up")


def give(space, name, *addresses):
    for each in addresses:
        space.run(f"ip address add {each} dev {name} {'nodad' if ':' in each else ''}")


@contextmanager
def several(count):
    spaces = []
    try:
        # One by one: those that are there are ended, if a later one cannot be made.
        spaces.extend(Space() for _ in range(count))
        yield spaces
    finally:
        for each in spaces:
            each.end()
