"""The commands of Slurm that a batch run needs: its script is one for ``sbatch``, which alone reads ``#SBATCH`` lines."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from .. import errors

_TAKES_LONG_S = 60
# What sbatch prints, alone in its line, with --parsable and where a site's own sbatch leaves that out.
_NUMBER = re.compile(r"\s*(?:Submitted batch job\s+)?(\d+)(?:;\S*|\s+on cluster\s+\S+)?\s*", re.IGNORECASE)
_FINDS_SLURM = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT")
# The user's own variables for options of sbatch. It takes them also where the script names the option, so there they are left out.
_WISHES = {"SBATCH_ACCOUNT": "account", "SBATCH_CONSTRAINT": "constraint", "SBATCH_PARTITION": "partition",
           "SBATCH_QOS": "qos", "SBATCH_RESERVATION": "reservation", "SBATCH_TIMELIMIT": "time", "SBATCH_WCKEY": "wckey"}
_ENDED = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT")


def submit(script: Path) -> int:
    """Returns the job's number. Blocks for Slurm.

    Raises
    ------
    NoSlurm
        There is no sbatch here.
    Rejected
        In Slurm's words.
    OutcomeUnknown
        sbatch ended well, and neither it nor squeue tells the job.
    """
    wishes = wishes_beside(script.read_text(errors="replace"), os.environ)
    printed = _run("sbatch", "--parsable", str(script), wishes=wishes)
    job = job_number(printed) or of_script(script)
    if not job:
        raise errors.OutcomeUnknown(f"sbatch ended well, but told no job's number; it printed {printed.strip()!r}",
                                    "Look with squeue --me: a job of this run is found by its script, also later.",
                                    {"script": str(script)})
    return job


def job_number(printed: str) -> int:
    """Of what sbatch has printed, a site's own lines around it or not; 0: no line is a job's number, or several are."""
    numbers = {int(found[1]) for line in printed.splitlines() if (found := _NUMBER.fullmatch(line))}
    return numbers.pop() if len(numbers) == 1 else 0


def wishes_beside(script: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Of the user's own variables for sbatch those that name what the script leaves open."""
    named = set(re.findall(r"^#SBATCH --([a-z-]+)", script, re.MULTILINE))
    return {name: environment[name] for name, option in _WISHES.items() if name in environment and option not in named}


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


def environment_for(command: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Without what changes how a command of Slurm answers, or of which jobs (SQUEUE_USERS, SACCT_FORMAT, SLURM_TIME_FORMAT,
    SLURM_CLUSTERS): each reads SLURM_* and what is called after it. Without what an outer job has set, too: that would change
    the inner one."""
    acts = ("SLURM_", "SLURMD_", "SRUN_", f"{command.upper()}_")
    return {name: value for name, value in environment.items() if name in _FINDS_SLURM or not name.startswith(acts)}


def _run(*words: str, wishes: Mapping[str, str] | None = None) -> str:
    program = shutil.which(words[0])
    if program is None:
        raise errors.NoSlurm(f"there is no {words[0]} here", "Do it on a machine with Slurm's commands: sbatch takes the script as it is.")
    environment = {**environment_for(words[0], os.environ), **(wishes or {})}
    try:
        done = subprocess.run([program, *words[1:]], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=_TAKES_LONG_S)
    except subprocess.TimeoutExpired:
        raise errors.SlurmUnreachable(f"{words[0]} did not answer within {_TAKES_LONG_S} s") from None
    if done.returncode != 0:
        raise errors.Rejected(f"{words[0]}: {(done.stderr or done.stdout).strip()}", context={"command": " ".join(words)})
    return done.stdout
