"""Jobs that hold GPUs and leave them idle: sleepers, terminals, notebooks, other reservations, and jobs that never
touch them. The first kind that fits is the one: each second of a GPU is told once."""

from __future__ import annotations

import re

from ..jobs import Job
from .evidence import Case, Figures, Weight, busy_cores, gpus_of, idleness, near, run_s, times, together, use_percent
from .rules import Rule, matches
from .typed import line_of, without_gpus

_SLEEPS = re.compile(r"(sleep\s+[\w.]+|tail\s+-f\s+/dev/null)")
_SAYS_NOTHING = re.compile(r"(while\s+(true|:|1)|done|hostname|date|wait|true|:|echo\b.*|nvidia-smi(\s+-\S+)*)")
_JUPYTER = re.compile(r"(^|[\s/])jupyter(-\w+)?(\s|$)")
_MOST_USE_ASLEEP = 1.0  # percent


def is_held(job: Job) -> bool:
    """Pounce's own leases are given back when they are idle, so they are no habit; `pouncectl report` tells of them."""
    return job.gpus > 0 and job.mode != "offload"


def sleep_job(job: Job, rule: Rule) -> Case | None:
    use, cores = use_percent(job), busy_cores(job)
    if run_s(job) < 3600 * rule["run-hours"] or (use is not None and use > _MOST_USE_ASLEEP) or (
            cores is not None and 100 * cores > rule["cpu-percent"]):
        return None
    weights, figures = [], dict(times(job))
    if only_sleeps(line_of(job).command):
        weights.append(Weight.TYPED)
        figures["command"] = line_of(job).command[:200]
    elif "sleep" in job.name.lower():
        weights.append(Weight.NAMED)
        figures["name"] = job.name
    if cores is not None and (weights or job.mode == "batch"):
        weights.append(Weight.INFERRED * near(100 * cores, rule["cpu-percent"]))
        figures["cpu_percent"] = round(100 * cores, 2)
    if use is not None and weights:
        figures["use_percent"] = round(use, 1)
    return Case([job], together(weights), figures, f"{_held(job)} and ran nothing: {_on_demand(job)}", 1.0)


def only_sleeps(command: str) -> bool:
    """Nothing but waiting, and what people put before it to see where they are. `sleep 60; python train.py` is work."""
    parts = [re.sub(r"^(do|exec|nohup)\s+", "", part.strip()) for part in re.split(r"&&|[;&\n]", command)]
    parts = [re.sub(r"^(/usr)?/bin/", "", part) for part in parts if part]
    return any(_SLEEPS.fullmatch(part) for part in parts) and all(
        _SLEEPS.fullmatch(part) or _SAYS_NOTHING.fullmatch(part) for part in parts)


def terminal_holder(job: Job, rule: Rule) -> Case | None:
    by_line = is_terminal(job, rule)
    if not by_line:
        return None
    return _idle(job, rule, by_line, f"open a terminal without a GPU, and run what needs one by {_on_demand(job)}")


def is_terminal(job: Job, rule: Rule) -> float:
    """How sure it is that this job is a terminal. `bash train.sh` is none; where the line is known, the name that Slurm
    took from it says nothing more."""
    line, programs = line_of(job), rule.lists["programs"]
    if not line.program:
        return Weight.TYPED if job.mode == "reservation" and matches(job.name, programs) else 0.0
    words = line.command.split()
    if not words:
        return 1.0 if line.is_shell else 0.0
    program = words[0].rpartition("/")[2]
    has_script = any(not word.startswith("-") for word in words[1:])
    takes_words = program in ("tmux", "screen", "byobu", "zellij")
    return 1.0 if matches(program, programs) and (takes_words or not has_script) else 0.0


def idle_notebook(job: Job, rule: Rule) -> Case | None:
    is_one = matches(job.name, rule.lists["names"]) or _JUPYTER.search(line_of(job).command)
    if not is_one or job.lease:
        return None
    own_line = job.submit_line and not job.name.startswith(("spawner-", "sys/dashboard/"))
    start = f"start it with `{without_gpus(job)}`" if own_line else "choose a profile without a GPU"
    return _idle(job, rule, 1.0, f"{start}, and begin the cells that need a GPU with `%%pounce --gpus {job.gpus}`")


def idle_reservation(job: Job, rule: Rule) -> Case | None:
    if job.mode != "reservation":
        return None
    if job.lease:
        return _idle(job, rule, 1.0, f"hold no lease between cells; `%%pounce --gpus {job.gpus}` gets one when it runs")
    command = line_of(job).command
    instead = f"`pouncectl run --gpus {job.gpus} -- {command}`" if command else _on_demand(job)
    return _idle(job, rule, 1.0, f"hold GPUs only while something runs: {instead}")


def never_used_gpu(job: Job, rule: Rule) -> Case | None:
    """0 % counts where Slurm has measured it, and not where the GPU's memory says that something was there."""
    if run_s(job) < 3600 * rule["run-hours"] or use_percent(job) != 0 or job.use_is_said or job.gpu_memory_mib > 0:
        return None
    figures: dict[str, float | str] = {**times(job), "use_percent": 0, "known_by": "slurm"}
    if job.gpu_memory_mib == 0:
        figures["gpu_memory_mib"] = 0
    weight = Weight.MEASURED if job.gpu_memory_mib == 0 else Weight.TYPED
    return Case([job], weight, figures, f"{_held(job)} and never used {_them(job)}: `{without_gpus(job)}`", 1.0)


def _idle(job: Job, rule: Rule, is_one: float, instead: str) -> Case | None:
    if run_s(job) < 3600 * rule["run-hours"]:
        return None
    weight, figures = idleness(job, rule["use-percent"], rule["cpu-percent"])
    use = use_percent(job)
    idle = f"{_held(job)}, {use:.0f} % used" if use is not None else f"{_held(job)} with hardly any CPU time"
    all_figures: Figures = {**times(job), **figures}
    return Case([job], weight * is_one, all_figures, f"{idle}: {instead}", 1 - use / 100 if use is not None else 1.0)


def _held(job: Job) -> str:
    return f"job {job.job} held {gpus_of(job.gpus)} for {run_s(job) / 3600:.1f} h"


def _them(job: Job) -> str:
    return "it" if job.gpus == 1 else "them"


def _on_demand(job: Job) -> str:
    return f"`%%pounce --gpus {job.gpus}` in a cell, or `pouncectl run --gpus {job.gpus} -- COMMAND`"
