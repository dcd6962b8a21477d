"""What the panel shows, from pounced's status document. Pure: numbers and words, and no picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._engine.durations import in_words
from .._engine.wait import about

_WAITS = ("requested", "submitting", "queued")
_STATES = {"requested": "waits", "submitting": "waits", "queued": "waits", "starting": "starts", "busy": "computes",
           "idle": "idle", "draining": "ends", "releasing": "ends"}


def leases_of(document: Mapping[str, Any], now: float, own: frozenset[str] = frozenset()) -> list[dict[str, Any]]:
    """A row for each lease, those of this notebook first, then the oldest first.

    Parameters
    ----------
    document
        ``pouncectl status --json``, or ``Session.status()``.
    now
        Seconds since 1970.
    own
        The ids of this notebook's leases.
    """
    folders = {session["session"]: session["directory"] for session in document["sessions"]}
    leases = sorted(document["leases"], key=lambda lease: (lease["lease"] not in own, -lease["age_s"]))
    return [{"id": lease["lease"], "title": _title(lease), "state": _STATES.get(lease["state"], lease["state"]),
             "says": _says(lease, now), "left_s": _left(lease, now), "folder": folders.get(lease["session"], ""),
             "here": lease["lease"] in own, **_use(lease)} for lease in leases]


def _title(lease: Mapping[str, Any]) -> str:
    gpus = f"{lease['gpus']} × {lease['gpu_type'] or 'GPU'}" if lease["gpus"] else ""
    cpus = f"{lease['cpus']} CPU{'s' if lease['cpus'] > 1 else ''}" if lease["cpus"] and not gpus else ""
    workers = f"{lease['workers']} workers" if lease["workers"] > 1 else ""
    where = " ".join(filter(None, (lease["node"], lease["devices"])))
    job = f"job {lease['job']}" if lease["job"] else ""
    return " · ".join(filter(None, (gpus or cpus or "CPU", workers, lease["class"], where, job)))


def _says(lease: Mapping[str, Any], now: float) -> str:
    """Why it waits and until when, or what its programs report."""
    if lease["state"] in _WAITS:
        eta = lease.get("eta") or {}
        start = eta.get("start_s") or lease["start_estimate_s"]
        return lease["reason"] + (f"; starts {about(start - now)}" if start else "")
    reported = lease.get("reported") or {}
    numbers = " ".join(f"{name}={value}" for name, value in (reported.get("numbers") or {}).items())
    loading = f"it is loading {', '.join(lease['loading'])}" if lease.get("loading") else ""
    return "; ".join(filter(None, (loading, reported.get("status", ""), numbers)))


def _left(lease: Mapping[str, Any], now: float) -> float | None:
    return max(0.0, lease["end_s"] - now) if lease["end_s"] and lease["state"] not in _WAITS else None


def _use(lease: Mapping[str, Any]) -> dict[str, Any]:
    """At the moment. None: its worker has not told, or has no GPU that tells."""
    use, total = lease.get("now") or {}, (lease.get("used") or {}).get("gpu_memory_total_mib", 0)
    gpu = use.get("gpu_percent", -1)
    return {"gpu": gpu if gpu >= 0 else None, "gpu_memory_mib": use.get("gpu_memory_mib") if total else None,
            "gpu_memory_total_mib": total or None, "cpu": use["cpu_percent"] / 100 if use else None,
            "memory_mib": use["memory_mib"] if use else None}


def cell_of(name: str, is_waiting: bool, log: str, choices: Iterable[Mapping[str, str]] = ()) -> dict[str, Any]:
    """A background cell, with the last line of its output and what it could have instead of waiting."""
    return {"name": name, "state": "waits" if is_waiting else "runs", "says": _last_line(log), "choices": [*choices]}


def _last_line(log: str) -> str:
    lines = [line for line in log[-4000:].replace("\r", "\n").splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def as_text(leases: Iterable[Mapping[str, Any]], cells: Iterable[Mapping[str, Any]]) -> str:
    """For a front end without JavaScript, and a terminal."""
    lines = [f"{_mark(lease)}{lease['title']}: {', '.join(_facts(lease))}" for lease in leases]
    lines += [f"cell {cell['name']} {cell['state']}{f': {cell_says}' if (cell_says := cell['says']) else ''}"
              for cell in cells]
    return "\n".join(lines) or "nothing is leased"


def _mark(lease: Mapping[str, Any]) -> str:
    return "* " if lease["here"] else "  "


def _facts(lease: Mapping[str, Any]) -> Iterable[str]:
    yield lease["state"] + (f" ({lease['says']})" if lease["says"] else "")
    if lease["gpu"] is not None:
        yield f"GPU {lease['gpu']} %"
    if lease["gpu_memory_mib"] is not None:
        yield f"{lease['gpu_memory_mib']} of {lease['gpu_memory_total_mib']} MiB of its memory"
    if lease["memory_mib"] is not None:
        yield f"{lease['cpu']:.1f} CPUs, {lease['memory_mib']} MiB"
    if lease["left_s"] is not None:
        yield f"{in_words(lease['left_s'])} left"
