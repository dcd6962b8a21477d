"""What a task asks for, from the words people use to the numbers that travel."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from . import requirements
from .errors import BadRequest

if TYPE_CHECKING:
    from .wait_policy import Step

_MEMORY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", re.IGNORECASE)
_MIB_OF = {"": 1 / 2**20, "k": 1 / 2**10, "m": 1, "g": 2**10, "t": 2**20}
_TIME = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)\s*", re.IGNORECASE)
_SECONDS_OF = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MOST_WORKERS = 256  # daemon/pounce-worker checks it too
_HINTS = {
    "n_workers": "workers",
    "ntasks": "workers",
    "qos": "class_",
    "partition": "class_",
    "gpu": "gpus",
    "cpu": "cpus",
    "mem": "memory",
    "walltime": "time",
    "timelimit": "time",
    "gpu_mem": "gpu_memory",
    "exclude": "not_nodes",
    "constraint": "slurm",
}


_ANY_GPU = {"gpu_memory_mib": 0, "cuda": 0}  # who names a type, or wants none, has said all of it


@dataclass(frozen=True)
class Options:
    """Resources of one worker, and how many of them. Two tasks with equal ones can share a lease; 0 and "" mean: the class decides."""

    class_name: str = ""
    gpus: int = 0
    gpu_type: str = ""
    cpus: int = 0
    memory_mib: int = 0
    time_min: int = 0
    workers: int = 1
    gpu_memory_mib: int = 0
    cuda: int = 0  # as CUDA counts: 12040 is 12.4
    placement: str = ""  # spread, pack
    not_nodes: str = ""
    account: str = ""
    reservation: str = ""
    slurm: tuple[tuple[str, str], ...] = ()  # options of sbatch, sorted
    wait_policy: tuple[Step, ...] = ()  # what it does instead of waiting: no resource either
    name: str = ""  # of one task that outlives its kernel: no resource

    def changed(self, **words: Any) -> Options:
        """These, with some replaced: the keywords of ``Client.options``."""
        for word in words:
            if word not in _PARSERS:
                raise BadRequest(_unknown(word))
        changes: dict[str, Any] = {}
        for word, parse in _PARSERS.items():  # in this order: gpu_type= is more than what gpus= says of the type
            if word in words:
                changes.update(parse(words[word]))
        changes.update(requirements.placement(words, self.placement))
        of_gpus = [f"{word}=" for word in ("gpu_type", "gpu_memory", "cuda") if word in words]
        if of_gpus and changes.get("gpus", self.gpus) == 0:
            if "gpus" in words:
                raise BadRequest(f"gpus=0 and {of_gpus[0]} contradict each other", "Leave one of them out.")
            changes["gpus"] = 1
        return replace(self, **changes)

    def as_tuple(self) -> tuple[Any, ...]:
        """As ``_core`` takes them; hashable."""
        return (self.class_name, self.gpus, self.gpu_type, self.cpus, self.memory_mib, self.time_min, self.workers,
                self.gpu_memory_mib, self.cuda, requirements.PLACEMENTS.index(self.placement), self.not_nodes, self.account,
                self.reservation, self.slurm)


def grace(value: Any) -> float:
    """Seconds that a cancelled task has to stop: a number, a timedelta or a text such as "30s"."""
    seconds = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else seconds_of(value)
    if seconds is None or not seconds >= 0:
        raise BadRequest(f"a grace is a number of seconds, a timedelta or '30s', not {value!r}")
    return seconds


def _unknown(word: str) -> str:
    valid = ", ".join(f"{name}=" for name in (*_PARSERS, "env"))
    hint = f"; use {_HINTS[word]}= instead" if word in _HINTS else ""
    return f"there is no option {word}={hint}; the options are {valid}"


def _class(value: Any) -> dict[str, Any]:
    if not isinstance(value, str) or not value:
        raise BadRequest(f"class_= takes the name of a class, for example 'cheetah', not {value!r}")
    return {"class_name": value}


def _gpus(value: Any) -> dict[str, Any]:
    """2, "a100:2", or "a100_3g.20gb" (one of that type)."""
    if isinstance(value, str):
        kind, colon, count = value.partition(":")
        if kind.isdigit() and not colon:
            return {"gpus": int(kind), "gpu_type": ""}
        if kind and (not colon or count.isdigit()):
            return {"gpus": int(count) if colon else 1, "gpu_type": kind, **_ANY_GPU}
    elif isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return {"gpus": value, "gpu_type": "", **(_ANY_GPU if value == 0 else {})}
    raise BadRequest(f"gpus= takes a number, 'a100', or 'a100:2', not {value!r}")


def _cpus(value: Any) -> dict[str, Any]:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadRequest(f"cpus= takes a number of CPUs, at least 1, not {value!r}")
    return {"cpus": value}


def _workers(value: Any) -> dict[str, Any]:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_WORKERS:
        raise BadRequest(f"workers= takes a number of processes on one node, 1 to {MOST_WORKERS}, not {value!r}")
    return {"workers": value}


def _memory(value: Any) -> dict[str, Any]:
    return {"memory_mib": _mib("memory", value)}


def _gpu_memory(value: Any) -> dict[str, Any]:
    return {"gpu_memory_mib": _mib("gpu_memory", requirements.at_least(value))}


def _mib(word: str, value: Any) -> int:
    """Bytes, or a text with a unit: "8GB" (as Slurm counts: 8 * 1024 MiB)."""
    if isinstance(value, str) and (found := _MEMORY.fullmatch(value)):
        mib = float(found[1]) * _MIB_OF[found[2].lower()]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        mib = value / 2**20
    else:
        raise BadRequest(f"{word}= takes bytes or a text such as '8GB', not {value!r}")
    if mib <= 0:
        raise BadRequest(f"{word}= must be more than nothing, not {value!r}")
    return math.ceil(mib)


def _time(value: Any) -> dict[str, Any]:
    """Seconds, a timedelta, "20min", or Slurm's "1-12:00:00" and "00:20:00". Slurm counts minutes: rounded up."""
    seconds = seconds_of(value)
    if seconds is None or seconds <= 0:
        raise BadRequest(f"time= takes seconds, a timedelta, '20min' or '00:20:00', not {value!r}")
    return {"time_min": math.ceil(seconds / 60)}


def seconds_of(value: Any) -> float | None:
    """Of a number, a timedelta or a text such as "20min"; None: it is none of these."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return None
    if found := _TIME.fullmatch(value):
        return float(found[1]) * _SECONDS_OF[found[2][0].lower()]
    days, dash, clock = value.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdigit() for part in parts) or len(parts) != 3 or (dash and not days.isdigit()):
        return None
    hours, minutes, seconds = map(int, parts)
    return int(days or 0) * 86400 + hours * 3600 + minutes * 60 + seconds


def _wait_policy(value: Any) -> dict[str, Any]:
    from .wait_policy import parsed

    steps = parsed(value)
    for step in steps:
        if not step.cancels:
            step.changed(Options())  # what it asks for can be asked for
    return {"wait_policy": steps}


def _name(value: Any) -> dict[str, Any]:
    from .named import checked

    return {"name": checked(value)}


_PARSERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "workers": _workers, "gpus": _gpus, "cpus": _cpus, "memory": _memory, "time": _time, "class_": _class, "name": _name,
    "gpu_type": requirements.gpu_type, "gpu_memory": _gpu_memory, "cuda": requirements.cuda, "nodes": requirements.nodes,
    "spread": requirements.spread, "pack": requirements.pack, "not_nodes": requirements.not_nodes,
    "account": requirements.account, "reservation": requirements.reservation, "slurm": requirements.slurm,
    "wait_policy": _wait_policy,
}
