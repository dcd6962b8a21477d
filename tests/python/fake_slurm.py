"""sbatch, squeue, scontrol and scancel that run jobs on this machine, at once: for scripts that nobody should have to wait for.

    with fake_slurm(folder) as path: ...   # a folder for PATH

A job is a process group; what stands in FOLDER/jobs/ID is Slurm's word for its state.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NAMES = ("sbatch", "squeue", "scontrol", "scancel", "sacct", "srun")


@contextlib.contextmanager
def fake_slurm(folder: Path) -> Iterator[Path]:
    programs = folder / "bin"
    programs.mkdir(parents=True)
    (folder / "jobs").mkdir()
    for name in NAMES:
        (programs / name).write_text(f"#!/bin/sh\nexec {sys.executable} -S {__file__} {folder} {name} \"$@\"\n")
        (programs / name).chmod(0o755)
    try:
        yield programs
    finally:
        for job in jobs(folder):
            end(folder, job, "CANCELLED")


def jobs(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "jobs").iterdir() if path.name.isdigit())


def word(folder: Path, job: str) -> str:
    return (folder / "jobs" / job).read_text()


def say(folder: Path, job: str, state: str) -> None:
    path = folder / "jobs" / job
    path.with_suffix(".new").write_text(state)
    path.with_suffix(".new").replace(path)


def end(folder: Path, job: str, state: str) -> None:
    """As Slurm ends a job: nothing of it lives on, and its script says no more."""
    if word(folder, job) != "RUNNING":
        return
    say(folder, job, state)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(int((folder / "jobs" / f"{job}.group").read_text()), signal.SIGKILL)


def main(folder: Path, name: str, words: list[str]) -> int:
    return {"sbatch": _sbatch, "squeue": _squeue, "scontrol": _scontrol, "scancel": _scancel, "srun": _srun, "sacct": lambda *_: 1}[name](folder, words)


def _sbatch(folder: Path, words: list[str]) -> int:
    script = Path(words[-1])
    options = dict(re.findall(r"^#SBATCH --(\S+?)=(.*)$", script.read_text(), re.M))
    job = str(1 + max((int(one) for one in jobs(folder)), default=0))
    (folder / "jobs" / f"{job}.name").write_text(options["job-name"])
    (folder / "jobs" / f"{job}.script").write_text(str(script))
    say(folder, job, "RUNNING")
    log = shlex.split(options["output"])[0].replace("%%", "%")
    runner = [sys.executable, "-S", __file__, str(folder), "run", job, str(script), shlex.split(options["chdir"])[0]]
    with open(log, "ab") as out:
        started = subprocess.Popen(runner, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
    (folder / "jobs" / f"{job}.group").write_text(str(started.pid))
    print(job)
    return 0


def run(folder: Path, job: str, script: str, directory: str) -> int:
    restarts = 0
    while True:
        environment = {**os.environ, "SLURM_JOB_ID": job, **({"SLURM_RESTART_COUNT": str(restarts)} if restarts else {})}
        code = subprocess.run(["bash", script], cwd=directory, env=environment).returncode
        again = folder / "jobs" / f"{job}.again"
        if not again.exists():
            break
        again.unlink()
        restarts += 1
    say(folder, job, "COMPLETED" if code == 0 else "FAILED")
    return code


def _squeue(folder: Path, words: list[str]) -> int:
    asked = dict(option.removeprefix("--").partition("=")[::2] for option in words)
    if os.environ.get("SQUEUE_USERS", "me") != "me":  # as Slurm's: only theirs are shown
        return 0
    if (folder / "outage").exists():
        print("slurm_load_jobs error: Unable to contact slurm controller (connect failure)", file=sys.stderr)
        return 1
    if asked["format"] == "%A|%j|%o":
        print("\n".join(f"{job}|{(folder / 'jobs' / f'{job}.name').read_text()}|{(folder / 'jobs' / f'{job}.script').read_text()}" for job in jobs(folder)
                        if word(folder, job) in ("PENDING", "RUNNING")))
    elif asked["format"] == "%A":
        print("\n".join(job for job in jobs(folder) if word(folder, job) == "RUNNING"))
    elif asked["format"] == "%T|%r" and asked["jobs"] in jobs(folder):
        print(f"{word(folder, asked['jobs'])}|None")
    else:
        print("slurm_load_jobs error: Invalid job id specified", file=sys.stderr)
        return 1
    return 0


def _scontrol(folder: Path, words: list[str]) -> int:
    (folder / "jobs" / f"{words[-1]}.again").touch()
    return 0


def _srun(folder: Path, words: list[str]) -> int:
    """One task, beside what runs."""
    command = words[[word.startswith("-") for word in words].index(False):]
    os.execvp(command[0], command)


def _scancel(folder: Path, words: list[str]) -> int:
    end(folder, words[-1], "CANCELLED")
    return 0


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), *sys.argv[3:]) if sys.argv[2] == "run" else main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
