"""What mallory tries, with every public value in her hands. A folder's attack_test.py gives the `target`: a pounced of
alice's with a live worker, and the means to run mallory.py as either of them in the same place.

Each attack has its control: the same program, run as alice (or with the right value), gets what mallory is refused.
"""

from __future__ import annotations

import contextlib
import json
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

PYTHON = "/opt/pounce-demo/bin/python"
HERE = Path(__file__).parent
ANSWER_S = 90
OTHER_KEY = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"  # of nobody here: the example of the Z85 specification


def uid_of(user: str) -> int:
    return pwd.getpwnam(user).pw_uid


@dataclass
class Target:
    """`command(user, words)` gives the words that run a program as that user where pounced runs."""

    command: object
    endpoint: dict          # alice's endpoint file
    live: dict              # what her session got: granted, attached, control channel, public, session
    folder: Path = field(default_factory=lambda: shared_copy())

    def start(self, user: str, request: str, **fields) -> subprocess.Popen:
        words = self.command(user, [PYTHON, "-I", str(self.folder / "mallory.py")])
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdin.write(json.dumps({"question": request, **fields}) + "\n")
        process.stdin.flush()
        return process

    def run(self, user: str, request: str, **fields) -> dict:
        process = self.start(user, request, **fields)
        output, errors = process.communicate(timeout=ANSWER_S)
        assert process.returncode == 0, errors
        return json.loads(output.splitlines()[-1])

    # ---- the public values

    def handshake(self, over: str) -> str:
        return next(handshake for handshake in self.endpoint["handshake"] if handshake.startswith(over))

    @property
    def control(self) -> str:
        return next(control for control in self.live["control"] if control.startswith("tcp"))

    @property
    def worker(self) -> dict:
        return self.live["granted"]

    def hello(self, user: str, over: str = "tcp", role: str = "client", **fields) -> dict:
        """A hello with the values everybody can know; the session's and the lease's ids are alice's own."""
        subject = self.live["session"] if role == "client" else self.worker["lease"]
        usual = {"role": role, "subject": subject, "daemon_key": self.endpoint["key"], "endpoint": self.handshake(over),
                 "munge_socket": self.endpoint["munge_socket"], "uid": uid_of("alice")}
        return self.run(user, "hello", **{**usual, **fields})

    def own_hello(self, **fields) -> dict:
        """Alice's own, with the proof that her pounced asks for; a session of its own, so that the live one stays."""
        proof = {"proof": self.endpoint["proof"]} | ({"key_file": self.endpoint["key_file"]} if self.endpoint["key_file"] else {})
        return self.hello("alice", **{"subject": "ab" * 16, **proof, **fields})


def shared_copy() -> Path:
    """mallory.py where every user can read it."""
    folder = Path(tempfile.mkdtemp(prefix="pounce-attack-"))
    folder.chmod(0o755)
    shutil.copy(HERE / "mallory.py", folder)
    (folder / "mallory.py").chmod(0o644)
    return folder


@contextlib.contextmanager
def live_session(target: Target, **fields):
    """A whole client of alice's, in plain pyzmq, with a worker; on leaving it closes its session."""
    version = subprocess.run(target.command("alice", ["pounced", "--version"]), capture_output=True, text=True, check=True)
    request = {"endpoint": target.handshake("ipc"), "daemon_key": target.endpoint["key"], "proof": "peer", "python": "3.11",
               "pounce": version.stdout.split()[-1], "interpreter": [PYTHON], "environment": {}, "class": "",
               "directory": pwd.getpwnam("alice").pw_dir, **fields}
    process = target.start("alice", "session", **request)
    first = process.stdout.readline()
    try:
        assert first, process.stderr.read()
        target.live = json.loads(first)
        assert target.live.get("attached", {}).get("type") == "attached", first
        yield target
    finally:
        process.communicate("\n", timeout=ANSWER_S)
        shutil.rmtree(target.folder)


def refused(outcome: dict, *words: str) -> bool:
    answer = outcome["answer"]
    return (outcome["handshake"] == "succeeded" and answer is not None and answer["type"] == "refused"
            and all(word in answer["error"]["text"] for word in words))


def welcomed(outcome: dict) -> bool:
    return outcome["answer"] is not None and outcome["answer"]["type"] == "welcome"


class Attacks:
    """Collected by the classes that inherit it; `target` is a fixture of theirs."""

    # ---- no key, or a key nobody knows

    def test_the_handshake_lets_a_stranger_handshake_with_curve_and_with_nothing_else(self, target):
        handshake = {"endpoint": target.handshake("tcp"), "server_key": target.endpoint["key"]}
        assert target.run("mallory", "handshake", mechanism="curve", **handshake) == {"handshake": "succeeded"}
        for mechanism in ("null", "plain"):
            assert target.run("mallory", "handshake", mechanism=mechanism, **handshake)["handshake"] != "succeeded", mechanism
        wrong = {**handshake, "server_key": OTHER_KEY}
        assert target.run("mallory", "handshake", mechanism="curve", **wrong)["handshake"] != "succeeded"

    def test_the_control_is_closed_to_a_key_that_was_not_welcomed(self, target):
        control = {"endpoint": target.control, "server_key": target.endpoint["key"]}
        for mechanism in ("curve", "null", "plain"):
            assert target.run("mallory", "handshake", mechanism=mechanism, **control)["handshake"] != "succeeded", mechanism
        alice = target.own_hello()
        assert welcomed(alice)
        assert target.run("alice", "handshake", mechanism="curve", keys=alice["keys"], **control) == {"handshake": "succeeded"}

    def test_the_workers_data_socket_is_closed_to_a_key_that_pounced_did_not_introduce(self, target):
        data = {"endpoint": target.worker["endpoint"], "server_key": target.worker["key"]}
        for mechanism in ("curve", "null", "plain"):
            assert target.run("mallory", "handshake", mechanism=mechanism, **data)["handshake"] != "succeeded", mechanism
        # Not even alice's, when pounced did not grant it this worker. That hers which was granted it got in: target.live.
        assert target.run("alice", "handshake", mechanism="curve", keys=target.own_hello()["keys"], **data)["handshake"] != "succeeded"
        assert target.live["attached"]["host"]

    # ---- proofs

    def test_the_kernel_vouches_for_nobody_over_tcp(self, target):
        for role in ("client", "worker"):
            assert refused(target.hello("mallory", role=role, proof="peer"), "does not vouch")
        assert welcomed(target.own_hello(over="ipc", proof="peer"))

    def test_a_hello_with_another_key_than_the_connections_is_refused(self, target):
        assert refused(target.hello("mallory", proof="peer", claimed_key=target.live["public"]), "not the key of the connection")

    def test_a_proof_of_alices_is_worth_nothing_on_mallorys_connection(self, target):
        stolen = target.own_hello()
        assert welcomed(stolen)
        for role in ("client", "worker"):
            outcome = target.hello("mallory", role=role, proof=target.endpoint["proof"], credential=stolen["credential"])
            assert refused(outcome), outcome
        borrowed = target.hello("mallory", proof=target.endpoint["proof"], credential=stolen["credential"],
                                claimed_key=stolen["keys"][0])
        assert refused(borrowed, "not the key of the connection")

    def test_a_proof_of_another_kind_than_the_daemons_is_refused(self, target):
        other = "munge" if target.endpoint["proof"] == "key_file" else "key_file"
        assert refused(target.hello("mallory", proof=other, credential="00" * 32), "another kind of proof")

    # ---- sizes and shapes

    def test_a_hello_that_is_too_large_is_cut_or_refused_and_the_handshake_stays_open(self, target):
        cut = target.hello("mallory", proof="peer", credential="00" * (9 * 1024))
        assert cut["handshake"] == "succeeded" and cut["answer"] is None and cut["link"] == "cut"
        assert refused(target.hello("mallory", proof="peer", credential="00" * 8100), "at most 8 KiB")
        assert refused(target.hello("mallory", proof="peer", extra_frames=[1]), "two frames")
        assert welcomed(target.own_hello())

    def test_a_name_that_a_peer_gives_itself_brings_it_no_answer_of_alices(self, target):
        name = target.live["session"]
        first = target.hello("mallory", proof="peer", identity=name)
        assert refused(first)
        alice = target.own_hello(identity=name)  # whoever holds the name, each is answered along its own connection
        assert welcomed(alice)
        assert refused(target.hello("mallory", proof="peer", identity=name))

    # ---- the places on disk

    def test_another_users_program_cannot_reach_the_local_sockets(self, target):
        for name in ("handshake", "control"):
            path = target.handshake("ipc").removeprefix("ipc://").removesuffix("handshake") + name
            assert target.run("mallory", "enter", unix=path) == {"entered": False, "error": "PermissionError"}
            assert target.run("alice", "enter", unix=path) == {"entered": True}

    def test_another_user_cannot_read_the_state_folder(self, target):
        state = Path(target.endpoint["log"]).parent
        listed = {user: subprocess.run(target.command(user, ["ls", str(state)]), capture_output=True, text=True)
                  for user in ("mallory", "alice")}
        assert listed["mallory"].returncode != 0 and "Permission denied" in listed["mallory"].stderr
        assert "endpoint" in listed["alice"].stdout.split()

    # ---- the other way round: alice's programs speak to nobody else

    def test_an_imitation_of_pounced_or_of_a_worker_hears_nothing_from_alice(self, target):
        impostor = target.start("mallory", "imitate", bind="tcp://127.0.0.1:*")
        bound = json.loads(impostor.stdout.readline())
        for pinned in (target.endpoint["key"], target.worker["key"]):
            handshake = target.run("alice", "handshake", endpoint=bound["bound"], mechanism="curve", server_key=pinned)
            assert handshake["handshake"] != "succeeded"
        hello = target.own_hello(endpoint=bound["bound"], subject="cd" * 16)
        assert hello["handshake"] != "succeeded" and hello["answer"] is None
        control = target.run("alice", "handshake", endpoint=bound["bound"], mechanism="curve", server_key=bound["key"])
        assert control == {"handshake": "succeeded"}
        output, _ = impostor.communicate("\n", timeout=ANSWER_S)
        assert json.loads(output.splitlines()[-1]) == {"heard": []}

    # ---- nothing secret where others can read

    def test_no_argument_of_alices_processes_is_a_secret(self, target):
        """/proc/PID/cmdline is everybody's: of keys only the daemon's public one, of hex only ids."""
        public = {target.endpoint["key"], target.worker["lease"], target.endpoint["instance"]}
        lines = subprocess.run(target.command("mallory", ["ps", "-o", "pid=,args=", "-u", "alice"]), capture_output=True,
                               text=True, check=True).stdout.splitlines()
        daemon = [line for line in lines if line.split()[0] == str(target.endpoint["pid"])]
        worker = [line for line in lines if target.worker["lease"] in line]
        assert daemon and worker
        for word in {word for line in daemon + worker for word in line.split()}:
            looks_secret = len(word) >= 32 and not word.startswith(("/", "-", "ipc:", "tcp:", "pounce"))
            assert not looks_secret or word in public, word
