"""The commands of Slurm that a batch run needs: its script is one for ``sbatch``, which alone reads ``#SBATCH`` lines."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from .. import errors

_TAKES_LONG_S = 60
_ENDED = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT")


def submit(script: Path) -> int:
    """Returns the job's number. Blocks for Slurm.

    Raises
    ------
    NoSlurm
        There is no sbatch here.
    Rejected
        In Slurm's words.
    """
    said = _run("sbatch", "--parsable", str(script))
    number = said.strip().splitlines()[-1].partition(";")[0] if said.strip() else ""
    if not number.isdigit():
        raise errors.Rejected(f"sbatch answered {said.strip()!r}")
    return int(number)


def cancel(job: int) -> None:
    _run("scancel", str(job))


def state(job: int) -> tuple[str, str]:
    """Slurm's word for it, "" where it does not know the job any more, and its reason to wait. Blocks for Slurm.

    Raises
    ------
    NoSlurm, SlurmUnreachable
        It did not answer, which says nothing of the job.
    """
    try:
        word, _, reason = _run("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T|%r").strip().partition("|")
    except errors.Rejected as refused:
        if "Invalid job id" not in refused.text:
            raise errors.SlurmUnreachable(refused.text) from None
        word = reason = ""  # it is too long ago
    if word:
        return word, reason
    try:
        record = _run("sacct", "--noheader", "--allocations", "--parsable2", f"--jobs={job}", "--format=State").split()
    except (errors.Rejected, errors.NoSlurm):  # no slurmdbd
        return "", ""
    return (record[0] if record else ""), ""


def of_script(script: Path) -> int:
    """The user's last job of that script, or of a copy, which waits or runs, whoever submitted it; 0: none. Blocks for Slurm.

    Raises
    ------
    SlurmUnreachable
    """
    try:
        lines = _run("squeue", "--noheader", f"--user={os.geteuid()}", "--format=%A|%j|%o").splitlines()
    except errors.NoSlurm:
        return 0
    except errors.Rejected as refused:
        raise errors.SlurmUnreachable(refused.text) from None
    there = (line.strip().split("|", 2) for line in lines if line.count("|") >= 2)
    return max((int(job) for job, name, command in there if job.isdigit() and _is_of(command, name, script)), default=0)


def _is_of(command: str, name: str, script: Path) -> bool:
    """A copy has the same name and works in the same folder."""
    if os.path.realpath(command) == os.path.realpath(script):
        return True
    folder = _folder_of(command) if name == script.stem else ""
    return folder != "" and folder == _folder_of(script)


def _folder_of(script: str | Path) -> str:
    try:
        with open(script, encoding="utf-8", errors="replace") as file:
            return next((line for line in file if line.startswith("folder=")), "")
    except OSError:
        return ""


def has_ended(word: str) -> bool:
    return word in _ENDED


def _run(*words: str) -> str:
    program = shutil.which(words[0])
    if program is None:
        raise errors.NoSlurm(f"there is no {words[0]} here", "Do it on a machine with Slurm's commands: sbatch takes the script as it is.")
    # What an outer job has set would change the inner one.
    environment = {name: value for name, value in os.environ.items()
                   if name == "SLURM_CONF" or not name.startswith(("SLURM_", "SLURMD_", "SBATCH_", "SRUN_"))}
    try:
        done = subprocess.run([program, *words[1:]], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=_TAKES_LONG_S)
    except subprocess.TimeoutExpired:
        raise errors.SlurmUnreachable(f"{words[0]} did not answer within {_TAKES_LONG_S} s") from None
    if done.returncode != 0:
        raise errors.Rejected(f"{words[0]}: {(done.stderr or done.stdout).strip()}", context={"command": " ".join(words)})
    return done.stdout
