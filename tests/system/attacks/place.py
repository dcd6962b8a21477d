"""A machine's folders where an attacker was first: a /tmp and a /var/tmp of their own, and a home of alice's."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from attacks.target import ANSWER_S, PYTHON, Person, Program, Target, uid_of

PROGRAMS = "/opt/pounce-demo/bin:/usr/bin:/bin"


class Place:
    """`home` is alice's, closed to others; `shared` is open to all, without the sticky bit. pounced has its local launcher."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp(prefix="pounce-place-", dir="/run"))  # /tmp and /var/tmp are covered there
        self.tmp, self.vartmp, self.shared, self.home = (self.root / name for name in ("tmp", "var", "shared", "home"))
        for folder, mode in ((self.root, 0o755), (self.tmp, 0o1777), (self.vartmp, 0o1777), (self.shared, 0o777), (self.home, 0o700)):
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
        os.chown(self.home, uid_of("alice"), -1)
        self.names = {"own": f"pounce-{uid_of('alice')}", "shared": self.shared, "home": self.home}
        self.configure({})

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_) -> None:
        shutil.rmtree(self.root)

    def configure(self, config: dict) -> None:
        self.config = self.home / "pounced.json"
        self.config.write_text(json.dumps({"launcher": "local", "stand_in_gpus": 1, **config}))
        self.config.chmod(0o644)

    def words(self, user: str, script: str, **environment: str) -> list[str]:
        """A shell script as that user; {own}, {shared} and {home} in it and in the variables are names of this place."""
        settings = {"HOME": f"/home/{user}", "USER": user, "LANG": "C.UTF-8", "PATH": PROGRAMS, **environment}
        become = ["setpriv", f"--reuid={uid_of(user)}", f"--regid={pwd.getpwnam(user).pw_gid}", "--init-groups", "env", "-i", "-C", "/"]
        mounts = f'mount --bind {self.tmp} /tmp && mount --bind {self.vartmp} /var/tmp && exec "$@"'
        return ["unshare", "--mount", "sh", "-c", mounts, "sh", *become,
                *(f"{name}={value.format(**self.names)}" for name, value in settings.items()), "sh", "-c", script.format(**self.names)]

    def run(self, user: str, script: str, **environment: str) -> subprocess.CompletedProcess:
        return subprocess.run(self.words(user, script, **environment), capture_output=True, text=True, timeout=ANSWER_S)

    def prepare(self, user: str, script: str) -> None:
        made = self.run(user, "umask 0; set -e; " + script)
        assert made.returncode == 0, made.stderr

    def start(self, user: str = "alice", **environment: str) -> dict:
        """What pounced says to a start there, and which of its folders anybody else can enter or has made."""
        usual = {"HOME": str(self.home), "POUNCE_CONFIG": str(self.config)}
        started = self.run(user, "pounced ensure", **{**usual, **environment})
        told = json.loads(started.stdout.splitlines()[-1])
        if "error" in told:
            return {"error": told["error"]["code"], "text": told["error"]["text"], "taken": self.taken()}
        folders = [str(Path(told["log"]).parent), str(Path(told["handshake"][0].removeprefix("ipc://")).parent), told["results"]]
        entered = [folder for folder in folders if self.run("mallory", f"ls {folder} || touch {folder}/x").returncode == 0]
        outcome = {"folders": folders, "entered": entered, "taken": self.taken(), "endpoint": told}
        end(told["pid"])
        return outcome

    @contextlib.contextmanager
    def session(self, target: Target):
        """A session of alice's there with a worker, and the log of its lease; all of it ends with the place."""
        shutil.copytree(target.folder / "attacker", self.root / "attacker")
        usual = {"HOME": str(self.home), "POUNCE_CONFIG": str(self.config)}
        person = Person(json.loads(self.run("alice", "pounced ensure", **usual).stdout.splitlines()[-1]))
        program = Program(self.words("alice", f"exec {PYTHON} -I {self.root}/attacker", **usual))
        person.live = target.open(person, program, "alice", demand={"memory_mib": 100}, directory=str(self.home))
        worker = person.live["attached"]["pid"]
        supervisor = int(Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
        try:
            yield person, person.state / "leases" / f"{person.worker['lease']}.log"
        finally:
            program.process.kill()
            program.close()
            for pid in (person.endpoint["pid"], supervisor):
                end(pid, signal.SIGKILL)

    def taken(self) -> list[str]:
        """What is alice's and lies in a folder of somebody else's (not of root's), or beside her own in an open one."""
        found = []
        for folder in (self.tmp, self.vartmp, self.shared):
            for path in folder.rglob("*"):
                with contextlib.suppress(FileNotFoundError):
                    mine, above = path.lstat(), path.parent.lstat()
                    if mine.st_uid == uid_of("alice") and above.st_uid not in (0, uid_of("alice")):
                        found.append(str(path))
        return found


def end(pid: int, how: signal.Signals = signal.SIGTERM) -> None:
    with contextlib.suppress(ProcessLookupError, FileNotFoundError):
        os.kill(pid, how)
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
            time.sleep(0.01)
