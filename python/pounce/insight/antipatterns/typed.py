"""The command line that started a job, as far as accounting has it, and the same line with other options.

Slurm joins the words of a command line with spaces and without quotes, so a line can be read only as far as options go.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..jobs import Job

GPU_OPTIONS = ("--gres", "--gpus", "-G", "--gpus-per-node", "--gpus-per-task", "--gpus-per-socket")
_SHORT = {"-G": "--gpus", "-t": "--time", "-c": "--cpus-per-task", "-N": "--nodes", "-n": "--ntasks"}
_ALIKE = {"--gres": GPU_OPTIONS, "--mem": ("--mem", "--mem-per-cpu", "--mem-per-gpu")}
_LAUNCHERS = ("sbatch", "srun", "salloc")
# Options without a value; all others have one, behind a = or in the next word.
_FLAGS = frozenset({
    "--contiguous", "--exact", "--exclusive", "--get-user-env", "--hold", "-H", "--ignore-pbs", "--interactive", "-k",
    "-K", "--kill-command", "--label", "-l", "--no-kill", "--no-requeue", "--no-shell", "--overcommit", "-O",
    "--overlap", "--oversubscribe", "-s", "--parsable", "--preserve-env", "-E", "--pty", "--quiet", "-Q", "--reboot",
    "--requeue", "--spread-job", "--test-only", "--unbuffered", "-u", "--use-min-nodes", "--verbose", "-v", "--wait",
    "-W", "--x11", "-X", "-Z", "--no-allocate", "--propagate", "--kill-on-bad-exit", "--immediate"})


@dataclass
class Line:
    program: str = ""  # sbatch, srun, salloc; empty: accounting does not have the line
    options: list[tuple[str, str]] = field(default_factory=list)  # ("--time", "--time=60")
    wrapped: str = ""  # what `sbatch --wrap` runs
    rest: str = ""  # the script or command, and its own words

    @property
    def command(self) -> str:
        return self.wrapped or self.rest

    @property
    def is_shell(self) -> bool:
        """A terminal: `srun --pty`, or `salloc` without a command."""
        return (self.program == "srun" and any(name == "--pty" for name, _ in self.options)) or (
            self.program == "salloc" and not self.rest)

    def has(self, *names: str) -> bool:
        return any(name in names or _SHORT.get(name) in names for name, _ in self.options)


def line_of(job: Job) -> Line:
    words = job.submit_line.split()
    program = words[0].rpartition("/")[2] if words else ""
    if program not in _LAUNCHERS:
        return Line()
    line, at = Line(program), 1
    while at < len(words) and words[at].startswith("-"):
        name, equals, _ = words[at].partition("=")
        if name == "--wrap":
            return _with_wrapped(line, " ".join(words[at:])[len("--wrap"):])
        takes_next = not equals and name not in _FLAGS and (name.startswith("--") or len(name) == 2)
        if not name.startswith("--") and len(name) > 2:
            name = name[:2]  # -t60, -pgpu
        text = " ".join(words[at:at + 1 + takes_next])
        line.options.append((name, text))
        at += 1 + takes_next
    line.rest = " ".join(words[at:])
    return line


def _with_wrapped(line: Line, text: str) -> Line:
    """Where a wrapped command ends is not in the line: at the first option of sbatch that makes no sense in it."""
    text = text.lstrip("= ")
    end = re.search(r"\s(--(gres|gpus|time|mem|qos|partition|account|output|error|job-name|cpus-per-task|nodes|ntasks"
                    r"|constraint|parsable)\b|-[pAtGcNnJo]\s?\S)", text)
    command, after = (text[:end.start()], text[end.start():].split()) if end else (text, [])
    line.wrapped = command.strip().strip("'\"")
    more = line_of(Job(0, 0, submit_line=" ".join([line.program, *after])))
    line.options += more.options
    return line


def retyped(job: Job, changes: Mapping[str, str], script: str = "SCRIPT") -> str:
    """The job's own line with other options ("": without that one), as it would be typed. Options in a command line
    outweigh those in a script, so `sbatch` of a line that is not known does with the changes alone."""
    line = line_of(job)
    gone = {name for option in changes for name in (option, *_ALIKE.get(option, ()))}
    gone |= {short for short, long in _SHORT.items() if long in gone}
    words = [line.program or "sbatch", *(text for name, text in line.options if name not in gone)]
    words += [f"{name}={value}" for name, value in changes.items() if value]
    if line.wrapped:
        words.append(f"--wrap={shlex.quote(line.wrapped)}")
    elif line.rest or not line.program:
        words.append(line.rest or script)
    return " ".join(words)


def without_gpus(job: Job) -> str:
    """GPUs that a script names for itself are taken out by `--gres=none`."""
    return retyped(job, {"--gres": "" if line_of(job).has(*GPU_OPTIONS) else "none"})


def slurm_time(seconds: float) -> str:
    """Whole minutes, as `--time` takes them: 1-02:30:00."""
    minutes = max(-(-int(seconds) // 60), 1)
    days, hours = divmod(minutes // 60, 24)
    return f"{days}-{hours:02}:{minutes % 60:02}:00" if days else f"{hours:02}:{minutes % 60:02}:00"
