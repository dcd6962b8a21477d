"""The SlurmGateway as an ordinary user has it: tests/contract/gateway_driver with the real pounce-slurm."""

from __future__ import annotations

import json
import os
import secrets
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from login_node import CLUSTER, SHARED, built_helper


def of_cluster(number: int) -> dict[str, str]:
    """The environment in which packaging/cluster speaks of that cluster."""
    return {**os.environ, "POUNCE_CLUSTER_ID": str(number)}


def programs() -> Path:
    """The built programs where every user can read them: a clone may lie in somebody's home."""
    build = os.environ.get("POUNCE_BUILD")
    assert build, "set POUNCE_BUILD to a CMake build directory made with -DPOUNCE_TESTS=ON"
    folder = Path(tempfile.mkdtemp(prefix="pounce-programs-"))
    folder.chmod(0o755)
    for path in (*built_helper(Path(build)), Path(build, "tests/gateway_driver"), Path(build, "tests/contract")):
        shutil.copy(path, folder, follow_symlinks=False)
    return folder


def a_job(instance: str, *command: str, class_: str = "cheetah", **resources) -> dict:
    """A JobSpec; it sleeps where no command is given."""
    asked = {
        "class": class_,
        "workers": 1,
        "gpus": 0,
        "gpu_type": "",
        "cpus": 0,
        "memory_mib": 100,
        "time_min": 0,
        **resources,
    }
    return {
        "instance": instance,
        "lease": secrets.token_hex(8),
        "resources": asked,
        "name": f"pounce-{asked['class']}",
        "command": list(command or ("/bin/sleep", "1000")),
        "environment": {"PATH": "/usr/bin:/bin"},
        "directory": "/tmp",
        "log_path": "/dev/null",
    }


class Gateway:
    """One gateway process of `user`. Each answer is (seconds it took, the answer)."""

    def __init__(
        self, folder: Path, user: str, cluster_id: int = SHARED, deadline_ms: int = 30_000, **environment: str
    ):
        settings = [f"{name}={value}" for name, value in environment.items()]
        words = [
            str(CLUSTER),
            "run",
            "--as",
            user,
            "--",
            "env",
            *settings,
            str(folder / "gateway_driver"),
            str(folder / "pounce-slurm"),
            str(deadline_ms),
        ]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=of_cluster(cluster_id)
        )
        self.instance = secrets.token_hex(6)
        self.helper = 0  # process id, after each answer
        self.count = 0

    def send(self, question: str, **of) -> None:
        """A question of src/slurm/questions.h, by its kName, with its fields."""
        self.count += 1
        if question == "reconcile":
            of = {"instance": self.instance}
        request = {"id": self.count, "ask": question, "of": of}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()

    def receive(self, seconds: float = 60) -> dict:
        ready, _, _ = select.select([self.process.stdout], [], [], seconds)
        assert ready, f"no answer within {seconds} s"
        helper, _, answer = self.process.stdout.readline().partition(b" ")
        self.helper = int(helper)
        return json.loads(answer)

    def ask(self, question: str, **of) -> dict:
        """With "answer" or "error", and the "seconds" that it took."""
        start = time.monotonic()
        self.send(question, **of)
        answer = self.receive()
        answer["seconds"] = time.monotonic() - start
        return answer

    def submit(self, *command: str, **resources) -> dict:
        return self.ask("submit", spec=a_job(self.instance, *command, **resources))

    def view(self, job: dict) -> dict:
        """The job as a poll shows it."""
        (view,) = self.ask("poll", jobs=[job])["answer"]
        return view

    def reconcile(self) -> list[dict]:
        return self.ask("reconcile")["answer"]

    def close(self) -> None:
        """Ends the process and cancels what it has submitted."""
        for view in self.ask("reconcile").get("answer", []):
            self.ask("cancel", job=view["job"])
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()
