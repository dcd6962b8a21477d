"""Jobs that requested more than they used: a larger GPU, more GPUs, more cores or memory."""

from __future__ import annotations

import math
import re

from ..jobs import Job
from .evidence import Case, Figures, Span, Weight, busy_cores, near, run_s, times, use_percent, use_weight
from .rules import Rule, Rules
from .typed import line_of, retyped

_SLICE = re.compile(r"(\d+)g\.(\d+)gb")
_MEMORY_IN_NAME = re.compile(r"(\d+)gb")
_SLICES_OF_A_GPU = 7
_WEAKEST_WITH_SLICES = "a100"
_NOT_REQUESTED = 0.6  # memory that no option of the line asks for


# ---- one GPU -------------------------------------------------------------------------------------------------------


def gpu_too_large(job: Job, rule: Rule, rules: Rules, span: Span) -> Case | None:
    """Only where the GPU's use and its memory were measured, and for one GPU: that of several is not known apart."""
    use, cores, own = use_percent(job), busy_cores(job), size_of(job.gpu, rules)
    if job.gpus != 1 or use is None or job.use_is_said or job.gpu_memory_mib <= 0 or own is None:
        return None
    if run_s(job) < 3600 * rule["run-hours"] or use > rule["use-percent"] or (
            cores is not None and cores > rule["cores"]):
        return None
    need = job.gpu_memory_mib / 1024 * rule["margin"], own[1] * use / 100 * rule["margin"]
    smaller = smallest(need, own, rules, span)
    if not smaller:
        return None
    figures: Figures = {**times(job), "use_percent": round(use, 1), "gpu": job.gpu,
                        "gpu_memory_mib": job.gpu_memory_mib,
                        "busy_cores": round(cores, 2) if cores is not None else "not known", "smaller": smaller}
    # Without the cores it may be that a large program waits for its data.
    weight = Weight.MEASURED * near(use, rule["use-percent"]) * (1 if cores is not None else Weight.SAID)
    line = retyped(job, {"--gres": f"gpu:{smaller}:1"})
    return Case([job], weight, figures,
                f"job {job.job} used {job.gpu_memory_mib / 1024:.1f} GiB and {use:.0f} % of its {job.gpu}: `{line}`")


def size_of(gpu: str, rules: Rules) -> tuple[float, float] | None:
    """(memory in GiB, teraflops) of a type by Slurm's name for it; None: the rules do not say."""
    name = gpu.lower()
    known = max((model for model in rules.gpus if name.startswith(model)), key=len, default="")
    if not _ends_at_word(name, known):
        known = ""
    if sliced := _SLICE.search(name):
        whole = rules.gpus.get(known or _WEAKEST_WITH_SLICES)
        return (float(sliced[2]), whole[1] * int(sliced[1]) / _SLICES_OF_A_GPU) if whole else None
    if not known:
        return None
    memory = _MEMORY_IN_NAME.search(name)
    return float(memory[1]) if memory else rules.gpus[known][0], rules.gpus[known][1]


def _ends_at_word(name: str, model: str) -> bool:
    """l4 is not the beginning of l40s, but of l4-24gb."""
    return bool(model) and not name[len(model):len(model) + 1].isalnum()


def smallest(need: tuple[float, float], own: tuple[float, float], rules: Rules, span: Span) -> str:
    """Of the site's types with memory and power for the need, the one with least memory; "": none is smaller."""
    sizes = {gpu: size for gpu in span.gpus if (size := size_of(gpu, rules)) is not None}
    fitting = [(size, gpu) for gpu, size in sizes.items()
               if size[0] >= need[0] and size[1] >= need[1] and size[0] < own[0] and size[1] < own[1]]
    return min(fitting)[1] if fitting else ""


# ---- several GPUs --------------------------------------------------------------------------------------------------


def half_idle_gang(job: Job, rule: Rule, rules: Rules) -> Case | None:
    """The work of all its GPUs would have fitted into half of them, or less. Accounting has their mean alone, so this
    says that fewer would do, not which were idle. A model that needs the memory of all of them has no choice."""
    use = use_percent(job)
    if job.gpus < 2 or not use or run_s(job) < 3600 * rule["run-hours"]:
        return None
    working = job.gpus * use / 100
    enough = max(math.ceil(working * rule["margin"]), 1)
    if enough > job.gpus // 2:
        return None
    weight = use_weight(job) * near(working, enough)
    own = size_of(job.gpu, rules)
    if job.gpu_memory_mib > 0 and own is not None:
        if job.gpu_memory_mib / 1024 > enough * own[0]:
            return None
    else:
        weight *= Weight.INFERRED
    figures: Figures = {**times(job), "use_percent": round(use, 1), "nodes": job.node_count,
                        "gpus_worth_of_work": round(working, 2), "enough": enough}
    return Case([job], weight, figures, f"job {job.job} held {job.gpus} GPUs and did the work of {working:.1f}: "
                f"`{retyped(job, _fewer(job, enough))}`", 1 - enough / job.gpus)


def _fewer(job: Job, enough: int) -> dict[str, str]:
    """--gres counts on each node, --gpus in all."""
    if job.node_count <= 1:
        return {"--gres": f"gpu:{enough}"}
    if enough <= job.gpus // job.node_count:
        return {"--nodes": "1", "--gres": f"gpu:{enough}"}
    return {"--nodes": "", "--gres": "", "--gpus": str(enough)}


# ---- cores and memory ----------------------------------------------------------------------------------------------


def unused_cores_or_memory(job: Job, rule: Rule) -> Case | None:
    if run_s(job) < 3600 * rule["run-hours"] or job.is_open or job.lost or job.mode == "offload":
        return None
    found = list(filter(None, (_cores(job, rule), _memory(job, rule))))
    found = [part for part in found if part[0] >= rule["confidence"]]
    if not found:
        return None
    changes = {name: value for _, _, new, _ in found for name, value in new.items()}
    figures: Figures = {**times(job), **{name: value for _, more, _, _ in found for name, value in more.items()}}
    words = " and ".join(part[3] for part in found)
    return Case([job], max(part[0] for part in found), figures, f"job {job.job} {words}: `{retyped(job, changes)}`")


Part = tuple[float, dict[str, float | str], dict[str, str], str]


def _cores(job: Job, rule: Rule) -> Part | None:
    """What was requested counts: with whole nodes a job is given more."""
    busy = busy_cores(job)
    requested = min(job.cpus, job.cpus_requested or job.cpus)
    if busy is None or job.node_count > 1 or requested <= 0:
        return None
    used = 100 * busy / requested
    enough = max(math.ceil(busy * rule["margin"]), 1)
    if used > rule["used-percent"] or requested - enough < rule["spare-cores"]:
        return None
    return (Weight.MEASURED * near(used, rule["used-percent"]), {"cores": requested, "busy_cores": round(busy, 2)},
            {"--cpus-per-task": str(enough)}, f"kept {busy:.1f} of {requested} cores busy")


def _memory(job: Job, rule: Rule) -> Part | None:
    """Slurm has the peak of one task. A job of GPUs is taken for one task a GPU, another for one a core, so the peak of
    all is at most that. Without --mem in the line the amount may be the site's, not the person's."""
    if job.memory_peak_mib <= 0 or job.memory_mib <= 0 or job.node_count > 1:
        return None
    peak = job.memory_peak_mib * max(job.gpus or job.cpus, 1)
    used, enough = 100 * peak / job.memory_mib, math.ceil(peak * rule["margin"] / 1024)
    if used > rule["used-percent"] or job.memory_mib / 1024 - enough < rule["spare-memory-gib"]:
        return None
    is_requested = line_of(job).has("--mem", "--mem-per-cpu", "--mem-per-gpu")
    weight = Weight.MEASURED * near(used, rule["used-percent"]) * (1 if is_requested else _NOT_REQUESTED)
    return (weight, {"memory_mib": job.memory_mib, "memory_peak_mib": peak}, {"--mem": f"{enough}G"},
            f"used {peak / 1024:.1f} of {job.memory_mib / 1024:.0f} GiB")
