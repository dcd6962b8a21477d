"""Whom the attacks are aimed at: alice's pounced and worker, with bob's beside it, and the programs that run as each of them."""

from __future__ import annotations

import contextlib
import json
import pwd
import select
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

PYTHON = "/opt/pounce-demo/bin/python"
ATTACKER = Path(__file__).parents[1] / "attacker"
ANSWER_S = 90
OTHER_KEY = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"  # of nobody here: the example of the Z85 specification

# Alice's own calls: each line asks for one more, and is answered with how many have come back right.
WORK = """
import select, sys
import pounce
def step(number):
    return number + 1
client = pounce.Client()
options = client.options(**%r)
calls = 0
while True:
    asked = bool(select.select([sys.stdin], [], [], 0.05)[0])
    if asked and not sys.stdin.readline():
        break
    assert options.submit(step, calls).result(60) == calls + 1
    calls += 1
    if asked or calls == 1:
        print(calls, flush=True)
client.close()
"""


def uid_of(user: str) -> int:
    return pwd.getpwnam(user).pw_uid


class Program:
    """One that answers a line with a line."""

    def __init__(self, words: list[str]):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def ask(self, request: str) -> str:
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self) -> str:
        ready, _, _ = select.select([self.process.stdout], [], [], ANSWER_S)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.errors.seek(0)
            raise AssertionError("no answer: " + self.errors.read())
        return line

    def close(self) -> None:
        try:
            self.process.communicate(timeout=ANSWER_S)
        finally:
            self.process.kill()
            self.errors.close()


@dataclass
class Person:
    """Somebody with a pounced of their own."""

    endpoint: dict               # the endpoint file
    live: dict = field(default_factory=dict)  # what the session got: granted, attached, control channel, public, session
    session: Program | None = None
    second: str = ""             # the id of another session of theirs, without a worker

    def handshake(self, over: str) -> str:
        return next(handshake for handshake in self.endpoint["handshake"] if handshake.startswith(over))

    @property
    def control(self) -> str:
        return next(control for control in self.live["control"] if control.startswith("tcp"))

    @property
    def worker(self) -> dict:
        return self.live["granted"]

    @property
    def state(self) -> Path:
        return Path(self.endpoint["log"]).parent

    @property
    def runtime(self) -> Path:
        return Path(self.handshake("ipc").removeprefix("ipc://")).parent

    @property
    def ports(self) -> list[str]:
        bulk = self.live["attached"].get("bulk")  # not where OpenSSL is missing
        return [self.handshake("tcp"), self.control, self.worker["endpoint"], *([bulk] if bulk else [])]


class Target:
    """`command(user, words)` gives the words that run a program as that user where pounced runs; `home(user)` their folder."""

    def __init__(self, kind: str, command, home, resources: dict):
        self.kind, self.command, self.home, self.resources = kind, command, home, resources
        self.folder = shared_copy(ATTACKER)
        self.programs: dict[str, Program] = {}
        self.people: dict[str, Person] = {}
        self.work: Program | None = None

    @property
    def alice(self) -> Person:
        return self.people["alice"]

    @property
    def bob(self) -> Person:
        return self.people["bob"]

    def attacker(self, user: str) -> Program:
        return Program(self.command(user, [PYTHON, "-I", str(self.folder / "attacker")]))

    def ask(self, user: str, question: str, **fields) -> dict:
        if user not in self.programs:
            self.programs[user] = self.attacker(user)
        return json.loads(self.programs[user].ask(json.dumps({"question": question, **fields})))

    def say(self, user: str, to: str, frames: list, **fields) -> dict:
        """In their own session: `to` is "control" or "worker"; `second`: one without requests, of whom nothing is lost."""
        session = self.people[user].session if not fields.pop("second", False) else self.second(user)
        return json.loads(session.ask(json.dumps({"to": to, "frames": frames, **fields})))

    def second(self, user: str) -> Program:
        if "second " + user not in self.programs:
            program = self.programs["second " + user] = self.attacker(user)
            self.people[user].second = self.open(self.people[user], program, user)["session"]
        return self.programs["second " + user]

    def output(self, user: str, words: list[str]) -> str:
        return subprocess.run(self.command(user, words), capture_output=True, text=True, check=True, timeout=ANSWER_S).stdout

    # ---- alice and bob

    def enter(self, user: str) -> None:
        """Their pounced, a session there, and a worker."""
        person = Person(json.loads(self.output(user, ["pounced", "ensure"]).splitlines()[-1]))
        person.session = self.attacker(user)
        person.live = self.open(person, person.session, user, demand={**self.resources, "memory_mib": 200})
        assert person.live.get("attached", {}).get("type") == "attached", person.live
        self.people[user] = person

    def open(self, person: Person, program: Program, user: str, **fields) -> dict:
        version = person.endpoint["version"]
        request = {"endpoint": person.handshake("ipc"), "daemon_key": person.endpoint["key"], "proof": "peer", "python": "3.11",
                   "pounce": version, "interpreter": [PYTHON], "environment": {}, "directory": self.home(user), **fields}
        return json.loads(program.ask(json.dumps({"question": "session", **request})))

    def alice_goes_on(self) -> int:
        """How many of her calls have come back, one more than before. A call that is lost ends her program."""
        if self.work is None:
            options = {name: value for name, value in {"class_": self.resources.get("class"), "memory": "200MB"}.items() if value}
            script = self.folder / "work.py"
            script.write_text(WORK % (options,))
            script.chmod(0o644)
            self.work = Program(self.command("alice", ["python", "-u", str(script)]))
            return int(self.work.answer())
        return int(self.work.ask(""))

    def close(self) -> None:
        for program in [*self.programs.values(), *(person.session for person in self.people.values()), self.work]:
            if program is not None:
                program.close()
        shutil.rmtree(self.folder)


def shared_copy(*folders: Path) -> Path:
    """Programs where every user can read them."""
    shared = Path(tempfile.mkdtemp(prefix="pounce-attack-"))
    for folder in folders:
        shutil.copytree(folder, shared / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in [shared, *shared.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return shared


@contextlib.contextmanager
def opened(target: Target):
    try:
        for user in ("alice", "bob"):
            target.enter(user)
        target.alice_goes_on()
        yield target
    finally:
        target.close()
