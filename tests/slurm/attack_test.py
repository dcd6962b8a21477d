"""The attacks of tests/system/attacks on a real cluster, where the proof is a MUNGE credential, and the wire between
login node and compute node: what alice sends is not to be found in a capture of the bridge between them.
"""

from __future__ import annotations

import pwd
import secrets
import sys

import pytest
from bridge import Capture
from conftest import worker_number
from hunt import forms
from login_node import ROOT, SHARED, LoginNode, User

sys.path.insert(0, str(ROOT / "tests" / "system"))
from attacks import ATTACKS
from attacks.table import SLURM
from attacks.target import Target, opened

BRIDGE, NODES = f"pounce{SHARED}", f"10.77.{SHARED}."


@pytest.fixture(scope="module")
def target(cluster):
    node = LoginNode(80 + worker_number())
    node.connect()
    users = {name: User(node, name, idle_release_s=2) for name in ("alice", "bob", "mallory")}
    target = Target(SLURM, lambda user, words: node.command(user, words, users[user].environment({})),
                    lambda user: pwd.getpwnam(user).pw_dir, {"class": "cheetah"})
    with opened(target):
        yield target
    node.disconnect()


@pytest.mark.xdist_group("bob")  # one target for all of them; he has jobs meanwhile, and other tests look at the whole of his queue
@pytest.mark.parametrize("attack", [pytest.param(attack, id=attack.name) for attack in ATTACKS if SLURM in attack.where])
def test_attack(target, attack):
    attack.check(target)


# ---- the wire ----------------------------------------------------------------------------------------------------------

TLS_HELLO = b"\x16\x03"
MARKED_TASK = """
    import pounce
    marker = bytes.fromhex("{marker}")
    def work(small, large):
        print("printed", small.hex(), flush=True)
        return small, large
    client = pounce.Client()
    small, large = client.submit(work, marker, marker * 300_000).result(60)
    report(same=small == marker and large == marker * 300_000)
    client.close()
"""
IN_CLEAR = """
    import socket, sys
    with socket.create_connection(("{host}", {port})) as peer:
        peer.sendall(bytes.fromhex("{marker}"))
        peer.recv(1)
    report(sent=True)
"""
LISTEN = """
    import socket
    with socket.create_server(("{host}", 0)) as server:
        report(port=server.getsockname()[1])
        peer, _ = server.accept()
        while len(peer.recv(32, socket.MSG_WAITALL)) < 32:
            pass
        peer.sendall(b"k")
"""


def test_nothing_that_alice_sends_returns_or_prints_can_be_read_on_the_wire(make_user):
    alice = make_user(idle_release_s=2)
    marker = secrets.token_bytes(32)

    with Capture(BRIDGE) as capture:
        run = alice.python(MARKED_TASK.format(marker=marker.hex())).ended(90)
        sent = capture.stop()

    assert run.reported("same") and "printed " + marker.hex() in run.output
    assert sent.between(alice.node.address, NODES) > 19_200_000  # the large argument there and back
    assert sent.streams_that_begin_with(TLS_HELLO) >= 1  # over the bulk lane
    assert [form for form in forms(marker) if sent.contains(form)] == []


def test_the_capture_would_have_shown_it(make_user):
    """The control: a peer on the same bridge that sends the marker in clear is seen to."""
    alice = make_user()
    marker = secrets.token_bytes(32)

    with Capture(BRIDGE) as capture:
        listener = alice.python(LISTEN.format(host=alice.node.address))
        port = listener.reported("port")
        make_user().python(IN_CLEAR.format(host=alice.node.address, port=port, marker=marker.hex())).ended(30)
        listener.ended()
        sent = capture.stop()

    assert sent.contains(marker)
