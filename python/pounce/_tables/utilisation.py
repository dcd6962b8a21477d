"""``Report``: what a lease has used of what it requested, and what to request next time."""

from __future__ import annotations

import html
from typing import Any, NamedTuple

from .._engine.durations import in_words
from .text_table import Rows, as_html


class Request(NamedTuple):
    """What was requested for each worker. 0 and "": the class has decided. `memory` is in MiB, `time` in minutes."""

    gpus: int
    gpu_type: str
    cpus: int
    memory: int
    time: int


class Gpu(NamedTuple):
    """A GPU of a lease as its driver reports it. `memory` is in MiB, `slice` the part of a divided GPU (MIG), `nvlink`
    the UUIDs of the GPUs of its worker that it reaches over NVLink, `failed` why it must not be used. What the driver
    does not report is "", 0 or None."""

    uuid: str
    model: str
    slice: str
    memory: int
    driver: str
    numa_node: int | None
    nvlink: tuple[str, ...]
    uncorrected_errors: int | None
    failed: str


class TaskUse(NamedTuple):
    """What one task did on its worker's GPUs: `gpu` is the share of its time in which they computed, 0 to 1, None where
    the driver does not report it; `gpu_memory` the most MiB that one of them held meanwhile. `task` is the future's
    `id`."""

    task: str
    gpu: float | None
    gpu_memory: int


class Report(NamedTuple):
    """One lease. `busy` and `idle` are seconds with a task and without one, `cpu` seconds of all its CPUs, `memory` the
    most MiB that one worker held at a time. `gpu` is the share of the time with a task in which its GPUs computed, 0 to
    1, the mean of samples a second apart; `gpu_memory` the most MiB that one of them held, of `gpu_memory_total`. These
    are the driver's own numbers (NVML), None where it reports none: without a GPU and, for `gpu`, on a MIG slice.
    `gpus` are the GPUs themselves, `tasks` the last ones of each worker that ran for a second or longer. `suggestion`
    is one sentence."""

    lease: str
    job: int
    class_: str
    ended: bool
    asked: Request
    workers: int
    busy: float
    idle: float
    cpu: float
    memory: int
    gpu: float | None
    gpu_memory: int | None
    gpu_memory_total: int | None
    suggestion: str
    gpus: tuple[Gpu, ...] = ()
    tasks: tuple[TaskUse, ...] = ()

    def __str__(self) -> str:
        gpu = f", GPU {words}" if (words := self._gpu_words()) else ""
        return (f"lease {self.lease[:8]}: busy {in_words(self.busy)}, idle {in_words(self.idle)}, "
                f"{in_words(self.cpu)} of CPU time, {self.memory} MiB of memory{gpu}; {self.suggestion}")

    def _gpu_words(self) -> str:
        """"71 %, 3072 of 81920 MiB"; empty where no driver reports."""
        parts = [] if self.gpu is None else [f"{self.gpu:.0%}".replace("%", " %")]
        if self.gpu_memory_total:
            parts.append(f"{self.gpu_memory} of {self.gpu_memory_total} MiB")
        return ", ".join(parts)

    def cells(self) -> tuple[str, ...]:
        """Its row in the table of several."""
        return (self.lease[:8], self.class_, str(self.job), "ended" if self.ended else "holds",
                in_words(self.busy), in_words(self.idle), in_words(self.cpu), f"{self.memory} MiB",
                self._gpu_words() or "-", self.suggestion)

    def _repr_html_(self) -> str:
        request = self.asked
        cpus_used = f"{self.cpu / self.busy / self.workers:.1f} while busy" if self.busy else ""
        table = [("", "asked", "used"),
                 ("time", f"{request.time} min" if request.time else "", in_words(self.busy + self.idle)),
                 ("CPUs", str(request.cpus or ""), cpus_used),
                 ("memory", f"{request.memory} MiB" if request.memory else "", f"{self.memory} MiB")]
        if request.gpus:
            table.append(("GPU", f"{request.gpus} {request.gpu_type}".strip(),
                          self._gpu_words() or "the driver does not tell"))
        return f"{as_html(table)}<p>{html.escape(self.suggestion)}</p>"


class Reports(Rows[Report]):
    """A list of ``Report``, those that ended first: has a length, an order and items; shows itself as a table."""

    _COLUMNS = ("lease", "class", "job", "state", "busy", "idle", "CPU time", "memory", "GPU", "suggestion")
    _nothing = "no lease has worked yet"

    def _cells(self, row: Report) -> tuple[str, ...]:
        return row.cells()

    def of(self, lease: str) -> Report | None:
        """The report of the lease whose id begins so; None: there is none yet."""
        return next((row for row in reversed(self.rows) if row.lease.startswith(lease)), None)


def reports_of(status: dict[str, Any]) -> Reports:
    ended = [_report(one, one, True) for one in status.get("ended", [])]
    live = [_report(one, one["used"], False) for one in status.get("leases", []) if one.get("used")]
    return Reports(ended + live)


def _report(lease: dict[str, Any], used: dict[str, Any], ended: bool) -> Report:
    request = Request(lease["gpus"], lease["gpu_type"], lease["cpus"], lease["memory_mib"], lease["time_min"])
    percent, total = used.get("gpu_percent", -1), used.get("gpu_memory_total_mib", 0)
    return Report(lease["lease"], lease["job"], lease["class"], ended, request, lease["workers"],
                  used["busy_ms"] / 1000, used["idle_ms"] / 1000, used["cpu_ms"] / 1000, used["memory_peak_mib"],
                  percent / 100 if percent >= 0 else None, used.get("gpu_memory_peak_mib", 0) if total else None,
                  total or None, used["suggestion"], tuple(_gpu(one) for one in used.get("gpu_facts", ())),
                  tuple(_task(one) for one in used.get("gpu_tasks", ())))


def _gpu(row: dict[str, Any]) -> Gpu:
    numa, errors = row["numa_node"], row["uncorrected_errors"]
    return Gpu(row["uuid"], row["model"], row.get("slice", ""), row["memory_mib"], row["driver"],
               numa if numa >= 0 else None, tuple(row.get("nvlink", ())), errors if errors >= 0 else None,
               row.get("failed", ""))


def _task(row: dict[str, Any]) -> TaskUse:
    percent = row["gpu_percent"]
    return TaskUse(row["task"], percent / 100 if percent >= 0 else None, row["gpu_memory_peak_mib"])
