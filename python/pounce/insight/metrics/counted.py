"""What is counted over many looks at pounced: leases that started, their waits, how they ended, what they held.

pounced tells what is, and the leases that ended last. Each look is compared with the one before. A lease that began
and ended between two looks counts as started and ended, but nothing is known of its wait. What was there at the first
look is not counted.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from .families import FAMILIES, GAUGE, HISTOGRAM, Histogram, Names, Values, add
from .own import Document, gpus_of

_GIVEN_BACK = "lease_ended"  # the code of a lease that met no error
_ERRORS = ("out_of_memory", "worker_crashed", "job_cancelled", "walltime_reached", "preempted", "node_failed",
           "device_failed", "device_unavailable")  # those that leases end with; others are counted too
_FROM_ZERO = ("pounce_lease_starts_total", "pounce_gpu_held_seconds_total", "pounce_gpu_busy_seconds_total")
_VERSION = 1


@dataclass
class _Seen:
    """What of a lease has been counted."""

    started: bool = False
    held_s: float = 0.0
    busy_s: float = 0.0


class Counted:
    """Counters of one person's pounced. `as_text` and `from_text` carry them from one process to the next."""

    def __init__(self) -> None:
        self.values: Values = {}
        self._leases: dict[str, _Seen] = {}
        self._ended: dict[str, bool] = {}
        self._has_looked = False

    def nothing_runs(self) -> None:
        """There is no pounced, so what the next one has is new."""
        self._has_looked = True

    def look(self, document: Document, classes: Names) -> None:
        ended = {str(lease["lease"]): lease for lease in document["ended"]}
        leases = {str(lease["lease"]): lease for lease in document["leases"]}
        for name, lease in leases.items():
            self._count_lease(self._leases.setdefault(name, _Seen()), lease, classes.of(str(lease["class"])))
        for name, lease in ended.items():
            if name not in self._ended:
                self._count_end(self._leases.pop(name, _Seen()), lease, classes.of(str(lease["class"])))
        self._leases = {name: seen for name, seen in self._leases.items() if name in leases}
        self._ended = dict.fromkeys(ended, True)
        self._has_looked = True

    def _count_lease(self, seen: _Seen, lease: Document, class_name: str) -> None:
        for name in _FROM_ZERO:  # Prometheus sees the first one only if it has seen none before
            add(self.values, name, 0.0, (class_name,))
        for code in _ERRORS:
            add(self.values, "pounce_lease_errors_total", 0.0, (class_name, code))
        waits = self.values.setdefault("pounce_lease_wait_seconds", {}).setdefault((class_name,), Histogram())
        assert isinstance(waits, Histogram)
        if not seen.started and is_ready(lease):
            seen.started = True
            self._add("pounce_lease_starts_total", 1, class_name)
            waited_s = wait_of(lease)
            if waited_s is not None and self._has_looked:
                waits.observe(waited_s)
        if lease.get("used"):
            self._count_use(seen, lease["used"], gpus_of(lease), class_name)

    def _count_end(self, seen: _Seen, lease: Document, class_name: str) -> None:
        if not seen.started:
            self._add("pounce_lease_starts_total", 1, class_name)
        self._count_use(seen, lease, gpus_of(lease), class_name)
        if lease["code"] == _GIVEN_BACK:
            cause = str(lease.get("cause", {}).get("code", "none"))
            self._add("pounce_lease_give_backs_total", 1, class_name, cause)
        else:
            self._add("pounce_lease_errors_total", 1, class_name, str(lease["code"]))

    def _count_use(self, seen: _Seen, figures: Document, gpus: int, class_name: str) -> None:
        busy_s = gpus * int(figures["busy_ms"]) / 1000
        held_s = busy_s + gpus * int(figures["idle_ms"]) / 1000
        self._add("pounce_gpu_held_seconds_total", max(held_s - seen.held_s, 0.0), class_name)
        self._add("pounce_gpu_busy_seconds_total", max(busy_s - seen.busy_s, 0.0), class_name)
        seen.held_s, seen.busy_s = max(held_s, seen.held_s), max(busy_s, seen.busy_s)

    def _add(self, name: str, amount: float, *labels: str) -> None:
        add(self.values, name, amount if self._has_looked else 0.0, labels)

    def as_text(self) -> str:
        return json.dumps({
            "version": _VERSION, "has_looked": self._has_looked, "ended": list(self._ended),
            "leases": {name: asdict(seen) for name, seen in self._leases.items()},
            "values": [[name, labels, [value.counts, value.total] if isinstance(value, Histogram) else value]
                       for name, family in self.values.items() for labels, value in family.items()]})

    @classmethod
    def from_text(cls, text: str) -> Counted:
        """Begins anew where the text is none of `as_text`."""
        counted: Counted = cls()
        try:
            known: dict[str, Any] = json.loads(text)
            if known["version"] == _VERSION:
                counted._take(known)
        except (ValueError, KeyError, TypeError, AttributeError):
            return cls()
        return counted

    def _take(self, known: dict[str, Any]) -> None:
        self._leases = {str(name): _Seen(bool(seen["started"]), float(seen["held_s"]), float(seen["busy_s"]))
                        for name, seen in known["leases"].items()}
        self._ended = dict.fromkeys(map(str, known["ended"]), True)
        self._has_looked = bool(known["has_looked"])
        for name, labels, value in known["values"]:
            family = FAMILIES.get(str(name))
            if family is None or family.kind == GAUGE or len(labels) != len(family.labels):
                continue  # of another version
            if family.kind == HISTOGRAM:
                histogram = Histogram([int(count) for count in value[0]], float(value[1]))
                if len(histogram.counts) == len(Histogram().counts):
                    self.values.setdefault(family.name, {})[tuple(map(str, labels))] = histogram
            else:
                add(self.values, family.name, float(value), tuple(map(str, labels)))


def is_ready(lease: Document) -> bool:
    """It has, or had, a worker that takes tasks."""
    return lease["state"] in ("idle", "busy") or _ready_line(lease) is not None


def _ready_line(lease: Document) -> Document | None:
    return next((line for line in lease["history"] if line.get("to") in ("idle", "busy")), None)


def wait_of(lease: Document) -> float | None:
    """Seconds from its request to its first ready worker; None: its history does not go back so far."""
    ready = _ready_line(lease)
    first = lease["history"][0] if lease["history"] else {}
    if ready is None or first.get("cause", {}).get("code") != "wanted":
        return None
    return max(float(first["ago_s"]) - float(ready["ago_s"]), 0.0)
