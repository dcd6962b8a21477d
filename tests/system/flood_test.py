"""Strangers who reach pounced's ports and mean harm: they take neither its memory nor its descriptors."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import subprocess
import sys
from pathlib import Path

import cloudpickle
import pytest
import zmq
from daemon_world import program, running, wait
from fake_daemon import FakeClient
from zmq.utils.monitor import recv_monitor_message
from zmq_contexts import end, new_context

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # this file is not on the workers

MIB = 1024
PART = bytes(8000)  # within the limit of a frame
FEW_DESCRIPTORS = 512
HALF_OPEN = 1400


def peak_mib(pid: int) -> float:
    words = Path(f"/proc/{pid}/status").read_text().split()
    return int(words[words.index("VmHWM:") + 1]) / MIB


def tcp(endpoints: list[str]) -> str:
    return next(endpoint for endpoint in endpoints if endpoint.startswith("tcp"))


def address(endpoint: str) -> tuple[str, int]:
    host, _, port = endpoint.removeprefix("tcp://").rpartition(":")
    return host, int(port)


class Stranger:
    """One with a key of its own, that pounced does not know."""

    def __init__(self, endpoint: str, server_key: str):
        self.context = new_context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.curve_publickey, self.socket.curve_secretkey = zmq.curve_keypair()
        self.socket.curve_serverkey = server_key.encode()
        self.socket.sndtimeo = 5000
        self.monitor = self.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self.socket.connect(endpoint)

    def send_in_parts(self, mib: int):
        self.socket.send_multipart([PART] * (mib * 1024 * 1024 // len(PART)), copy=False)

    def was_cut(self) -> bool:
        return bool(self.monitor.poll(0)) and recv_monitor_message(self.monitor)["event"] == zmq.EVENT_DISCONNECTED

    def close(self):
        end(self.context, [self.socket, self.monitor])


@pytest.fixture
def stranger():
    strangers = []

    def make(*arguments) -> Stranger:
        strangers.append(Stranger(*arguments))
        return strangers[-1]

    yield make
    for one in strangers:
        one.close()


# libzmq keeps every part of a message until its last one has come: 300 MiB of them were all pounced's.
def test_a_stranger_whose_message_has_40_000_parts_takes_no_memory(home, stranger):
    endpoint = home.ensure()
    before = peak_mib(endpoint["pid"])
    attacker = stranger(tcp(endpoint["handshake"]), endpoint["key"])

    attacker.send_in_parts(mib=300)
    wait(lambda: attacker.was_cut() or peak_mib(endpoint["pid"]) > before + 40, "the end of the attack")

    assert peak_mib(endpoint["pid"]) < before + 40


@contextlib.contextmanager
def half_open(endpoints: list[str], count: int):
    """Connections that say nothing; those that are cut are not made again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * count)), hard))
    sockets = []
    try:
        for number in range(count):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(address(endpoints[number % len(endpoints)]))
            sockets.append(one)
        yield
    finally:
        for one in sockets:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def status_of(client) -> dict:
    client.say("status_ask", question=9)
    return json.loads(client.wait_for("status_is")["document"])


# They took its last descriptor, and libzmq aborted when somebody came to the local socket (Z12).
def test_a_crowd_that_says_nothing_ends_neither_pounced_nor_what_runs(home, enter):
    started = subprocess.run(["prlimit", f"--nofile={FEW_DESCRIPTORS}:{FEW_DESCRIPTORS}", program("pounced"), "ensure"],
                             env=home.environment, capture_output=True, text=True, check=True)
    endpoint = json.loads(started.stdout)
    alice = enter(endpoint)
    alice.open_session(home.folder)
    alice.demand(waiting=1)
    granted = alice.wait_for("granted")
    ports = [tcp(endpoint["handshake"]), tcp(alice.welcome["control"])]

    with half_open(ports, HALF_OPEN):
        wait(lambda: all(listener["times_full"] for listener in status_of(alice)["listeners"]), "both listeners to be full")
        another = enter(endpoint)
        assert [lease["worker_linked"] for lease in status_of(another)["leases"]] == [True]
        assert running(endpoint["pid"])

    wait(lambda: not any(listener["full"] for listener in status_of(alice)["listeners"]), "room for newcomers")
    assert another.hello("client", over="tcp")["error"]["code"] == "not_authenticated"
    assert [lease["lease"] for lease in status_of(alice)["leases"]] == [granted["lease"]]
    assert "listener takes nobody now" in Path(endpoint["log"]).read_text()


def open_files_until(stop: str) -> int:
    """In a task: most of the descriptors that its site leaves it, again and again. How often."""
    import os

    rounds = 0
    while rounds == 0 or not os.path.exists(stop):
        for descriptor in [os.open("/dev/null", os.O_RDONLY) for _ in range(160)]:
            os.close(descriptor)
        rounds += 1
    return rounds


# libzmq took them all, and the task's open() failed with EMFILE.
@pytest.mark.parametrize("world", [{"interpreter": ("/usr/bin/prlimit", "--nofile=256:4096", sys.executable)}], indirect=True)
def test_a_crowd_at_a_workers_port_takes_neither_the_tasks_descriptors_nor_the_place_of_a_client(world, tmp_path):
    up, stop = world.daemon.ready(), tmp_path / "stop"
    task = world.client.submit(open_files_until, str(stop))
    world.client.wait_for("started", task=task)

    with half_open([up["endpoint"]], HALF_OPEN):
        another = FakeClient(world.daemon).connect(up["endpoint"], up["key"])
    stop.touch()

    assert world.client.result(task) > 0
    assert another.result(another.submit(len, "four")) == 4
