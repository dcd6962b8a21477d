"""One person's means against alice, each a request to the attacker's program with the public values filled in."""

from __future__ import annotations

import secrets
from pathlib import Path

from attacks.place import Place
from attacks.target import Target, uid_of


class Attempt:
    def __init__(self, target: Target, user: str):
        self.target, self.user, self.alice, self.bob = target, user, target.alice, target.bob

    def ask(self, question: str, **fields) -> dict:
        return self.target.ask(self.user, question, **fields)

    def as_(self, user: str) -> Attempt:
        return Attempt(self.target, user)

    # ---- sockets

    def handshake(self, endpoint: str, server_key: str, mechanism: str = "curve", **fields) -> dict:
        return self.ask("handshake", endpoint=endpoint, server_key=server_key, mechanism=mechanism, **fields)

    def at_handshake(self, mechanism: str = "curve", **fields) -> dict:
        return self.handshake(self.alice.handshake("tcp"), fields.pop("server_key", self.alice.endpoint["key"]), mechanism, **fields)

    def at_control(self, mechanism: str = "curve", **fields) -> dict:
        return self.handshake(self.alice.control, self.alice.endpoint["key"], mechanism, **fields)

    def at_worker(self, mechanism: str = "curve", **fields) -> dict:
        return self.handshake(self.alice.worker["endpoint"], self.alice.worker["key"], mechanism, **fields)

    def raw(self, said: str, **fields) -> dict:
        return self.ask("raw", endpoints=self.alice.ports, said=said, **fields)

    # ---- hellos

    def hello(self, over: str = "tcp", role: str = "client", **fields) -> dict:
        """With the values everybody can know; the session's and the lease's ids are alice's own."""
        subject = self.alice.live["session"] if role == "client" else self.alice.worker["lease"]
        usual = {"role": role, "subject": subject, "daemon_key": self.alice.endpoint["key"], "endpoint": self.alice.handshake(over),
                 "munge_socket": self.alice.endpoint["munge_socket"], "uid": uid_of("alice")}
        return self.ask("hello", **{**usual, **fields})

    def own_hello(self, **fields) -> dict:
        """Alice's own, with the proof that her pounced asks for; a session of its own, so that the live one stays."""
        key_file = self.alice.endpoint["key_file"]
        proof = {"proof": self.alice.endpoint["proof"]} | ({"key_file": key_file} if key_file else {})
        return self.as_("alice").hello(**{"subject": secrets.token_hex(16), **proof, **fields})

    def strange(self, *frames) -> dict:
        return self.ask("strange_hello", endpoint=self.alice.handshake("tcp"), daemon_key=self.alice.endpoint["key"], frames=list(frames))

    # ---- on a connection that is let in: of `user`'s own session with their own pounced or worker

    def say(self, to: str, *frames, **fields) -> dict:
        return self.target.say(self.user, to, list(frames), **fields)

    # ---- folders and programs

    def run(self, *words: str, **fields) -> dict:
        return self.ask("command", words=list(words), **fields)

    def place(self) -> Place:
        return Place()

    def handshake_keys(self) -> list[str]:
        """A key pair of this user's that nobody has admitted."""
        return self.hello(proof="peer")["keys"]

    def own_keys(self) -> list[str]:
        """A key pair that this user's own pounced has admitted."""
        person = self.target.people[self.user]
        key_file = person.endpoint["key_file"]
        proof = {"proof": person.endpoint["proof"]} | ({"key_file": key_file} if key_file else {})
        return self.hello(endpoint=person.handshake("tcp"), daemon_key=person.endpoint["key"], subject=secrets.token_hex(16),
                          uid=uid_of(self.user), **proof)["keys"]

    def second_session(self) -> str:
        """The id of this user's session that has no worker."""
        self.target.second(self.user)
        return self.target.people[self.user].second

    @property
    def host(self) -> str:
        """An address of this machine's that alice reaches."""
        return self.alice.handshake("tcp").removeprefix("tcp://").rpartition(":")[0]

    def alices_pids(self) -> dict[str, int]:
        interpreter = self.alice.live["attached"]["pid"]
        supervisor = int(Path(f"/proc/{interpreter}/stat").read_text().rpartition(")")[2].split()[1])
        return {"pounced": self.alice.endpoint["pid"], "supervisor": supervisor, "interpreter": interpreter}

    def job(self) -> str:
        """Slurm's number of alice's job."""
        rows = self.as_("alice").run("squeue", "--noheader", "--me", "--format=%i|%k")["output"].splitlines()
        return next(row.split("|")[0] for row in rows if row.endswith(self.alice.worker["lease"]))
