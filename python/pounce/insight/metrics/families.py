"""Each metric once: its name, kind, meaning and labels. The documentation, the dashboard and the alert rules are
compared with this table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

GAUGE, COUNTER, HISTOGRAM = "gauge", "counter", "histogram"
WAIT_BUCKETS_S = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)
OTHER = "other"


@dataclass(frozen=True)
class Family:
    name: str
    kind: str
    about: str
    labels: tuple[str, ...] = ()


@dataclass
class Histogram:
    """How many values were at most each bound of `WAIT_BUCKETS_S` (and above the one before), how many were above all
    of them, and their sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(WAIT_BUCKETS_S) + 1))
    total: float = 0.0

    def observe(self, value: float) -> None:
        place = next((place for place, bound in enumerate(WAIT_BUCKETS_S) if value <= bound), len(WAIT_BUCKETS_S))
        self.counts[place] += 1
        self.total += value


Labels = tuple[str, ...]
Value = float | Histogram
Values = dict[str, dict[Labels, Value]]  # by the family's name, then by the values of its labels

OWN = (
    Family("pounce_up", GAUGE, "1: a pounced of this user runs on this machine and answers."),
    Family("pounce_daemon_info", GAUGE, "1, with what runs.", ("version", "cluster", "launcher", "libslurm")),
    Family("pounce_daemon_start_time_seconds", GAUGE, "When pounced started, in seconds since 1970."),
    Family("pounce_daemon_cpu_seconds_total", COUNTER, "Processor time of pounced."),
    Family("pounce_daemon_wakeups_total", COUNTER, "How often a thread of pounced went to sleep and was woken."),
    Family("pounce_daemon_resident_memory_bytes", GAUGE, "Memory of pounced."),
    Family("pounce_daemon_reconciled", GAUGE, "1: pounced has compared its leases with Slurm's jobs since its start."),
    Family("pounce_daemon_policy_ok", GAUGE, "0: the policy file cannot be used."),
    Family("pounce_daemon_sessions", GAUGE, "Notebooks and programs that are connected."),
    Family("pounce_daemon_connections", GAUGE, "Connections from other machines and users.", ("listener",)),
    Family("pounce_daemon_connections_limit", GAUGE, "How many connections there may be.", ("listener",)),
    Family("pounce_daemon_listener_full_total", COUNTER, "How often newcomers had to wait for room.", ("listener",)),
    Family("pounce_slurm_requests_total", COUNTER, "Requests to Slurm since pounced started.", ("kind",)),
    Family("pounce_leases", GAUGE, "Leases now.", ("class", "state")),
    Family("pounce_lease_gpus", GAUGE, "GPUs of leases now: requested while they wait, held afterwards.",
           ("class", "state")),
    Family("pounce_tasks", GAUGE, "Tasks that are waiting or running now.", ("class", "state")),
    Family("pounce_longest_wait_seconds", GAUGE, "Age of the oldest lease whose job does not run yet.", ("class",)),
    Family("pounce_avoided_nodes", GAUGE, "Nodes that leases avoid now, because of a GPU that failed."),
    Family("pounce_lease_starts_total", COUNTER, "Leases that got a ready worker.", ("class",)),
    Family("pounce_lease_wait_seconds", HISTOGRAM, "From the request of a lease to its ready worker.", ("class",)),
    Family("pounce_lease_give_backs_total", COUNTER, "Leases that were given back, by why.", ("class", "cause")),
    Family("pounce_lease_errors_total", COUNTER, "Leases that ended in an error, by its code.", ("class", "code")),
    Family("pounce_gpu_held_seconds_total", COUNTER, "GPUs x seconds that leases held.", ("class",)),
    Family("pounce_gpu_busy_seconds_total", COUNTER, "GPUs x seconds that leases held with a task.", ("class",)),
    Family("pounce_saved_states", GAUGE, "Notebooks whose variables are saved."),
    Family("pounce_saved_state_bytes", GAUGE, "What these variables take on disk."),
)

SITE = (
    Family("pounce_site_up", GAUGE, "1: Slurm answers."),
    Family("pounce_site_own_jobs_only", GAUGE, "1: Slurm shows the jobs of this exporter's user alone (PrivateData)."),
    Family("pounce_site_leases", GAUGE, "Jobs of pounce now, by their comment.", ("class", "state")),
    Family("pounce_site_jobs", GAUGE, "Jobs now.", ("class", "state")),
    Family("pounce_site_held_gpus", GAUGE, "GPUs that running jobs hold, by what holds them.", ("class", "mode")),
    Family("pounce_site_waiting_gpus", GAUGE, "GPUs that waiting jobs request.", ("class",)),
    Family("pounce_site_longest_wait_seconds", GAUGE, "Since when the oldest waiting job was submitted.", ("class",)),
    Family("pounce_site_gpus", GAUGE, "GPUs of the cluster.", ("type",)),
    Family("pounce_site_free_gpus", GAUGE, "GPUs that no job holds.", ("type",)),
    Family("pounce_site_window_seconds", GAUGE, "The span until now that the figures of usage are of."),
    Family("pounce_site_gap_seconds", GAUGE, "How much of that span nothing is known of."),
    Family("pounce_site_gpu_held_seconds", GAUGE, "GPUs x seconds that jobs held in the window.", ("class", "account")),
    Family("pounce_site_gpu_known_seconds", GAUGE, "The part of it whose use is known.", ("class", "account")),
    Family("pounce_site_gpu_busy_seconds", GAUGE, "What of the known part computed.", ("class", "account")),
    Family("pounce_site_started_jobs", GAUGE, "Jobs that started in the window.", ("class", "account")),
    Family("pounce_site_waited_seconds", GAUGE, "How long these had waited, in sum.", ("class", "account")),
    Family("pounce_site_store_until_seconds", GAUGE, "Until when the store goes, in seconds since 1970."),
)

EXPORTER = (
    Family("pounce_exporter_success", GAUGE, "1: the source answered when it was last looked at.", ("source",)),
    Family("pounce_exporter_duration_seconds", GAUGE, "How long the last look at the source took.", ("source",)),
    Family("pounce_exporter_last_success_time_seconds", GAUGE,
           "When the source answered last, in seconds since 1970.", ("source",)),
)

FAMILIES = {family.name: family for family in (*OWN, *SITE, *EXPORTER)}


def series_of(family: Family) -> tuple[str, ...]:
    """The names under which Prometheus keeps it."""
    if family.kind == HISTOGRAM:
        return tuple(family.name + ending for ending in ("_bucket", "_sum", "_count"))
    return (family.name,)


class Names:
    """Bounds the values of a label: the first `most` that come keep their names, all later ones are `other`."""

    def __init__(self, most: int = 50):
        self._most, self.known = most, set[str]()

    def of(self, text: str) -> str:
        text = text[:64] or "none"
        if text not in self.known and len(self.known) >= self._most:
            return OTHER
        self.known.add(text)
        return text


def top(weights: Mapping[str, float], most: int) -> frozenset[str]:
    """The `most` names with the greatest weight; equal ones by name."""
    return frozenset(sorted(weights, key=lambda name: (-weights[name], name))[:most])


def add(values: Values, name: str, amount: float, labels: Labels = ()) -> None:
    family = values.setdefault(name, {})
    known = family.get(labels, 0.0)
    assert not isinstance(known, Histogram)
    family[labels] = known + amount


def set_all(values: Values, name: str, amounts: Iterable[tuple[Labels, float]]) -> None:
    values[name] = dict(amounts)
