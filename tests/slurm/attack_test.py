"""The attacks of tests/system/attacks.py on a real cluster, where the proof is a MUNGE credential, and the wire between
login node and compute node: what alice sends is not to be found in a capture of the bridge between them.
"""

from __future__ import annotations

import base64
import secrets
import subprocess
import sys

import pytest
from bridge import Capture
from conftest import worker_number
from login_node import ROOT, LoginNode, User

sys.path.insert(0, str(ROOT / "tests" / "system"))
from attacks import Attacks, Target, live_session, refused, welcomed


@pytest.fixture(scope="module")
def login(cluster):
    node = LoginNode(80 + worker_number())
    node.connect()
    yield node
    node.disconnect()


@pytest.fixture(scope="module")
def target(login):
    alice = User(login, "alice", idle_release_s=2)
    target = Target(lambda user, words: login.command(user, words, alice.environment({})), alice.endpoint(), {})
    with live_session(target, **{"class": "cheetah"}) as live:
        yield live


class TestWithMunge(Attacks):
    def test_mallorys_own_credential_makes_her_neither_client_nor_worker(self, target):
        assert target.endpoint["proof"] == "munge"
        for role in ("client", "worker"):
            assert refused(target.hello("mallory", role=role, proof="munge"), "another user's")
        assert welcomed(target.own_hello())
        assert welcomed(target.own_hello(role="worker", subject="ab" * 8))

    def test_a_credential_is_good_once(self, target):
        first = target.own_hello()
        again = target.own_hello(credential=first["credential"], keys=first["keys"])
        assert welcomed(first) and refused(again, "Replayed")

    def test_a_credential_that_is_no_credential_is_refused(self, target):
        for nonsense in (b"", b"MUNGE:", b"MUNGE:AwQDAACxs0V7:", secrets.token_bytes(400)):
            assert refused(target.hello("mallory", proof="munge", credential=nonsense.hex()), "not accepted")

    def test_what_slurm_shows_of_the_job_is_its_tag_and_opens_nothing(self, target):
        """squeue tells mallory instance and lease; the environment and script of the job hold no key but the daemon's."""
        shown = target.command("mallory", ["squeue", "--noheader", "--format=%u|%k"])
        assert f"alice|pounce:1:{target.endpoint['instance']}:{target.worker['lease']}" in output_of(shown)
        script = output_of(target.command("alice", ["scontrol", "write", "batch_script", str(job_of(target)), "-"]))
        assert target.endpoint["key"] in script
        assert target.live["public"] not in script and target.worker["key"] not in script


def output_of(words: list[str]) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def job_of(target: Target) -> int:
    rows = output_of(target.command("alice", ["squeue", "--noheader", "--me", "--format=%i|%k"])).splitlines()
    return next(int(row.split("|")[0]) for row in rows if row.endswith(target.worker["lease"]))


# ---- the wire ----------------------------------------------------------------------------------------------------------

MARKED_TASK = """
    import pounce
    marker = bytes.fromhex("{marker}")
    def work(small, large):
        print("printed", small.hex(), flush=True)
        return small, large
    client = pounce.Client()
    small, large = client.submit(work, marker, marker * 100_000).result(60)
    report(same=small == marker and large == marker * 100_000)
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


def forms(marker: bytes) -> list[bytes]:
    """As it is, and as text might carry it."""
    encoded = [base64.b64encode(bytes(shift) + marker)[4:-4] for shift in range(3)]  # wherever a group of three begins
    return [marker, marker.hex().encode(), marker.hex().upper().encode(), *encoded]


def test_nothing_that_alice_sends_returns_or_prints_can_be_read_on_the_wire(make_user):
    alice = make_user(idle_release_s=2)
    marker = secrets.token_bytes(32)

    with Capture("pounce0") as capture:
        run = alice.python(MARKED_TASK.format(marker=marker.hex())).ended(90)
        sent = capture.stop()

    assert run.reported("same") and "printed " + marker.hex() in run.output
    assert sent.between(alice.node.address, "10.77.0.") > 6_400_000  # the large argument there and back
    assert [form for form in forms(marker) if sent.contains(form)] == []


def test_the_capture_would_have_shown_it(make_user):
    """The control: a peer on the same bridge that sends the marker in clear is seen to."""
    alice = make_user()
    marker = secrets.token_bytes(32)

    with Capture("pounce0") as capture:
        listener = alice.python(LISTEN.format(host=alice.node.address))
        port = listener.reported("port")
        make_user().python(IN_CLEAR.format(host=alice.node.address, port=port, marker=marker.hex())).ended(30)
        listener.ended()
        sent = capture.stop()

    assert sent.contains(marker)
