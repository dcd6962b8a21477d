"""The attacks of attacks.py on a pounced of alice's with the local launcher: its proof is the key file."""

from __future__ import annotations

import json
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from attacks import Attacks, Target, live_session, refused, uid_of, welcomed
from daemon_world import wait


def command(folder: Path):
    def words(user: str, program: list[str]) -> list[str]:
        settings = [f"HOME={folder}", f"USER={user}", "LANG=C.UTF-8", f"POUNCE_CONFIG={folder}/pounced.json",
                    "PATH=/opt/pounce-demo/bin:/usr/bin:/bin"]
        become = ["setpriv", f"--reuid={uid_of(user)}", f"--regid={pwd.getpwnam(user).pw_gid}", "--init-groups"]
        return [*become, "env", "-i", "-C", "/", *settings, *program]

    return words


@pytest.fixture(scope="module")
def target():
    if os.geteuid() != 0:
        pytest.skip("only root can be alice and mallory")
    for user in ("alice", "mallory"):
        try:
            pwd.getpwnam(user)
        except KeyError:
            subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", user], check=True)
    folder = Path(tempfile.mkdtemp(prefix="pounce-alice-"))
    os.chown(folder, uid_of("alice"), -1)
    folder.chmod(0o755)  # what is secret is kept by folders of pounce's own
    (folder / "pounced.json").write_text(json.dumps({"launcher": "local"}))
    run_as = command(folder)
    ensured = subprocess.run(run_as("alice", ["pounced", "ensure"]), capture_output=True, text=True)
    assert ensured.returncode == 0, ensured.stdout + ensured.stderr
    endpoint = json.loads(ensured.stdout.splitlines()[-1])
    try:
        with live_session(Target(run_as, endpoint, {}), directory=str(folder)) as live:
            yield live
    finally:
        # Its lease is given back with its session; then nothing of alice's writes into the folder any more.
        wait(lambda: not [line for line in processes() if "--endpoint-file" in line and str(folder) in line], "the worker's end")
        os.kill(endpoint["pid"], signal.SIGTERM)
        wait(lambda: not [line for line in processes() if line.split()[0] == str(endpoint["pid"])], "pounced's end")
        shutil.rmtree(folder)


def processes() -> list[str]:
    listed = subprocess.run(["ps", "-eo", "pid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if not line.split()[1].startswith("Z")]


class TestWithTheKeyFile(Attacks):
    def test_whoever_cannot_read_the_key_file_forges_no_proof(self, target):
        assert target.endpoint["proof"] == "key_file"
        for guess in (bytes(32), secrets.token_bytes(32)):
            for role in ("client", "worker"):
                outcome = target.hello("mallory", role=role, proof="key_file", guessed_key=guess.hex())
                assert refused(outcome, "does not fit"), outcome
        assert refused(target.hello("mallory", proof="key_file", credential=""), "does not fit")
        assert welcomed(target.own_hello(subject="ef" * 16))

    def test_the_key_file_is_alices_alone(self, target):
        path = target.endpoint["key_file"]
        read = {user: subprocess.run(target.command(user, ["cat", path]), capture_output=True) for user in ("mallory", "alice")}
        assert read["mallory"].returncode != 0 and b"Permission denied" in read["mallory"].stderr
        assert len(read["alice"].stdout) == 32

    def test_a_proof_for_one_role_and_lease_is_no_proof_for_another(self, target):
        """Alice's own file, and still: what a proof was not made for it does not open."""
        as_client = target.own_hello()
        as_worker = target.own_hello(role="worker", subject=target.worker["lease"], credential=as_client["credential"],
                                     keys=as_client["keys"])
        assert welcomed(as_client) and refused(as_worker, "does not fit")
