"""The attacks of tests/system/attacks on a pounced of alice's with the local launcher: its proof is the key file."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from attacks import ATTACKS
from attacks.table import LOCAL
from attacks.target import Target, opened, uid_of
from daemon_world import program, wait

USERS = ("alice", "bob", "mallory")


def command(folders: dict[str, Path]):
    def words(user: str, run: list[str]) -> list[str]:
        settings = [f"HOME={folders[user]}", f"USER={user}", "LANG=C.UTF-8", f"POUNCE_CONFIG={folders[user]}/pounced.json",
                    f"PATH={Path(program('pounced')).parent}:/opt/pounce-demo/bin:/usr/bin:/bin"]
        become = ["setpriv", f"--reuid={uid_of(user)}", f"--regid={pwd.getpwnam(user).pw_gid}", "--init-groups"]
        return [*become, "env", "-i", "-C", "/", *settings, *run]

    return words


def home_of(user: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=f"pounce-{user}-"))
    os.chown(folder, uid_of(user), -1)
    folder.chmod(0o755)  # what is secret is kept by folders of pounce's own
    (folder / "pounced.json").write_text(json.dumps({"launcher": "local", "idle_release_s": 1}))
    return folder


@pytest.fixture(scope="module")
def target():
    if os.geteuid() != 0:
        pytest.skip("only root can be alice, bob and mallory")
    for user in USERS:
        try:
            pwd.getpwnam(user)
        except KeyError:
            subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", user], check=True)
    folders = {user: home_of(user) for user in USERS}
    target = Target(LOCAL, command(folders), lambda user: str(folders[user]), {})
    try:
        with opened(target):
            yield target
    finally:
        # Their leases are given back with their sessions; then nothing writes into the folders any more.
        ours = [str(folder) for folder in folders.values()]
        workers = lambda: [line for line in processes() if "--endpoint-file" in line and any(folder in line for folder in ours)]
        wait(lambda: not workers(), "the workers' end")
        for person in target.people.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(person.endpoint["pid"], signal.SIGTERM)
            wait(lambda pid=person.endpoint["pid"]: not [line for line in processes() if line.split()[0] == str(pid)], "pounced's end")
        for folder in folders.values():
            shutil.rmtree(folder)


def processes() -> list[str]:
    listed = subprocess.run(["ps", "-eo", "pid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if not line.split()[1].startswith("Z")]


@pytest.mark.parametrize("attack", [pytest.param(attack, id=attack.name) for attack in ATTACKS if LOCAL in attack.where])
def test_attack(target, attack):
    attack.check(target)


def test_no_two_attacks_have_one_name():
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 80
