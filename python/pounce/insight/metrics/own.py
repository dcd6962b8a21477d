"""What one person's pounced says at this moment, from its status document. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .families import Names, Values, add

Document = Mapping[str, Any]

STATES = ("requested", "submitting", "queued", "starting", "idle", "busy", "draining", "ending")  # docs/states.md
WAITING = STATES[:3]
_REQUESTS = ("submits", "polls", "looks", "reconciles", "cancels")


def own_values(document: Document, now_s: float, classes: Names) -> Values:
    values: Values = {"pounce_up": {(): 1.0}}
    _add_daemon(values, document)
    for node in document.get("nodes", ()):
        add(values, "pounce_avoided_nodes", float(node.get("avoided_until_s", 0) > now_s))
    values.setdefault("pounce_avoided_nodes", {(): 0.0})
    rows = [(lease, classes.of(str(lease["class"]))) for lease in document["leases"]]
    for class_name in {*classes.known, *(name for _, name in rows)}:  # what is not there any more is 0, not absent
        _add_zeros(values, class_name)
    for lease, class_name in rows:
        _add_lease(values, lease, class_name)
    return values


def _add_daemon(values: Values, document: Document) -> None:
    add(values, "pounce_daemon_info", 1, tuple(
        str(document[name]) for name in ("version", "cluster", "launcher", "libslurm")))
    add(values, "pounce_daemon_reconciled", float(document["reconciled"]))
    add(values, "pounce_daemon_policy_ok", float(not document["policy"]["trouble"]))
    add(values, "pounce_daemon_sessions", len(document["sessions"]))
    for listener in document["listeners"]:
        for name, key in (("connections", "connections"), ("connections_limit", "most"),
                          ("listener_full_total", "times_full")):
            add(values, f"pounce_daemon_{name}", listener[key], (str(listener["name"]),))
    for kind in _REQUESTS:
        add(values, "pounce_slurm_requests_total", document["rpc"][kind], (kind,))


def _add_zeros(values: Values, class_name: str) -> None:
    for state in STATES:
        for name in ("pounce_leases", "pounce_lease_gpus"):
            add(values, name, 0.0, (class_name, state))
    for state in ("waiting", "running"):
        add(values, "pounce_tasks", 0.0, (class_name, state))
    add(values, "pounce_longest_wait_seconds", 0.0, (class_name,))


def _add_lease(values: Values, lease: Document, class_name: str) -> None:
    add(values, "pounce_leases", 1.0, (class_name, str(lease["state"])))
    add(values, "pounce_lease_gpus", gpus_of(lease), (class_name, str(lease["state"])))
    for state in ("waiting", "running"):
        add(values, "pounce_tasks", lease[state], (class_name, state))
    if lease["state"] in WAITING:
        longest = values["pounce_longest_wait_seconds"]
        known = longest[class_name,]
        assert isinstance(known, float)
        longest[class_name,] = max(known, float(lease["age_s"]))


def gpus_of(lease: Document) -> int:
    """Of all its workers."""
    return int(lease.get("given_gpus", lease["gpus"])) * max(int(lease["workers"]), 1)
