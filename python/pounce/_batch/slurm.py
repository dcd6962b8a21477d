"""The Slurm commands that a batch run needs. Its script is for ``sbatch``, since only that reads ``#SBATCH`` lines."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Mapping
from pathlib import Path

from .. import _core, errors
from .._engine.status_line import output

_TAKES_LONG_S = 60
# A line of sbatch's output, with --parsable or from a site's own sbatch that ignores it.
_NUMBER = re.compile(r"\s*(?:Submitted batch job\s+)?(\d+)(?:;\S*|\s+on cluster\s+\S+)?\s*", re.IGNORECASE)
_FINDS_SLURM = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT")
# The user's own variables for options of sbatch. They override the script's options, so those that it names are left
# out.
_WISHES = {"SBATCH_TIMELIMIT": "time"} | {
    f"SBATCH_{option.upper()}": option
    for option in (*_core.SBATCH_OPTIONS.values(), "constraint", "partition", "qos", "wckey")}
_ENDED = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED",
          "REVOKED", "TIMEOUT")


def submit(script: Path, secrets: Collection[str] = ()) -> int:
    """Returns the job's number. Blocks for Slurm. `secrets`: names of variables that the job is submitted without,
    since Slurm keeps its environment on its disks.

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
    printed = _run("sbatch", "--parsable", str(script), wishes=wishes, without=secrets, shows_more=True)
    job = job_number(printed) or of_script(script)
    if not job:
        raise errors.OutcomeUnknown(f"sbatch ended well, but told no job's number; it printed {printed.strip()!r}",
                                    "Look with squeue --me: a job of this run is found by its script, also later.",
                                    {"script": str(script)})
    return job


def job_number(printed: str) -> int:
    """The job's number in sbatch's output, among a site's own lines; 0: no line is one, or several differ."""
    numbers = {int(match[1]) for line in printed.splitlines() if (match := _NUMBER.fullmatch(line))}
    return numbers.pop() if len(numbers) == 1 else 0


def wishes_beside(script: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The user's own variables for those options of sbatch that the script does not set."""
    named = set(re.findall(r"^#SBATCH --([a-z-]+)", script, re.MULTILINE))
    return {name: environment[name] for name, option in _WISHES.items() if name in environment and option not in named}


def cancel(job: int) -> None:
    _run("scancel", str(job))


def state(job: int) -> tuple[str, str]:
    """Slurm's word for the job's state ("" if it forgot the job), and its reason to wait. Blocks for Slurm.

    Raises
    ------
    NoSlurm, SlurmUnreachable
        It did not answer, which says nothing of the job.
    """
    try:
        line = _run("squeue", "--noheader", "--states=all", f"--jobs={job}", "--format=%T|%r")
        word, _, reason = line.strip().partition("|")
    except errors.Rejected as refused:
        if "Invalid job id" not in refused.text:
            raise errors.SlurmUnreachable(refused.text) from None
        word = reason = ""  # squeue forgets old jobs
    if word:
        return word, reason
    try:
        record = _run("sacct", "--noheader", "--allocations", "--parsable2", f"--jobs={job}", "--format=State").split()
    except (errors.Rejected, errors.NoSlurm):  # no slurmdbd
        return "", ""
    return (record[0] if record else ""), ""


def live() -> set[int]:
    """The user's jobs that wait or run. Blocks for Slurm."""
    lines = _run("squeue", "--noheader", f"--user={os.geteuid()}", "--format=%A").splitlines()
    return {int(line) for line in map(str.strip, lines) if line.isdigit()}


def of_script(script: Path) -> int:
    """The user's last job that waits or runs with that script or a copy, also one submitted by hand; 0: none.

    Blocks for Slurm.

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
    """The environment without variables that change what a Slurm command prints or which jobs it shows (SQUEUE_USERS,
    SACCT_FORMAT, SLURM_TIME_FORMAT, SLURM_CLUSTERS): each reads SLURM_* and variables named after itself. Variables of
    an outer job are left out too, since they would change the inner one."""
    acts = ("SLURM_", "SLURMD_", "SRUN_", f"{command.upper()}_")
    return {name: value for name, value in environment.items() if name in _FINDS_SLURM or not name.startswith(acts)}


def _run(*words: str, wishes: Mapping[str, str] | None = None, without: Collection[str] = (),
         shows_more: bool = False) -> str:
    """What the command prints. `without`: variables that it does not get. `shows_more`: what it says beside that is
    shown, such as what a site's rules changed."""
    program = shutil.which(words[0])
    if program is None:
        raise errors.NoSlurm(f"there is no {words[0]} here",
                             "Do it on a machine with Slurm's commands: sbatch takes the script as it is.")
    ours = {name: value for name, value in os.environ.items() if name not in without}
    environment = {**environment_for(words[0], ours), **(wishes or {})}
    try:
        done = subprocess.run([program, *words[1:]], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=_TAKES_LONG_S)
    except subprocess.TimeoutExpired:
        raise errors.SlurmUnreachable(f"{words[0]} did not answer within {_TAKES_LONG_S} s") from None
    if done.returncode != 0:
        text = f"{words[0]}: {(done.stderr or done.stdout).strip()}"
        raise errors.Rejected(text, context={"command": " ".join(words)})
    for line in done.stderr.splitlines() if shows_more else ():
        output().end(_core.printable(f"pounce: {line}"))
    return done.stdout
