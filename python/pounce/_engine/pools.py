"""``Pool``: the leases that serve one line of tasks, as one row."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from .. import _core
from .wait import NO_JOB_RUNS_YET

_READY = ("idle", "busy", "draining")  # docs/states.md
_REQUESTED = [name.rstrip("_") for name in _core.Resources._fields]


class Pool(NamedTuple):
    """`workers` of at most `most` are ready on `nodes`; `waiting` leases wait for Slurm; `why`, as far as it says."""

    workers: int
    most: int
    nodes: int
    waiting: int
    why: str

    def __repr__(self) -> str:
        parts = [f"{self.workers} of {_counted(self.most, 'worker')}"]
        if self.nodes:
            parts.append(_counted(self.nodes, "node"))
        if self.waiting:
            verb, why = "waits" if self.waiting == 1 else "wait", f": {self.why}" if self.why else ""
            parts.append(f"{self.waiting} {verb}{why}")
        return ", ".join(parts)


def pool_of(leases: Sequence[_core.LeaseStatus], wanted: _core.Resources) -> Pool:
    """The pool of the leases that serve one task, as this client last heard of them."""
    ready = [lease for lease in leases if lease.state in _READY]
    waiting = [lease for lease in leases if lease.state in NO_JOB_RUNS_YET]
    nodes = {lease.node for lease in ready} - {""}
    return Pool(workers=len(ready) * wanted.workers, most=wanted.leases_most * wanted.workers, nodes=len(nodes),
                waiting=len(waiting), why=_why(lease.reason for lease in waiting))


def pools_of(document: dict[str, Any]) -> list[Pool]:
    """The pools of this process, from pounced's status document."""
    us = os.getpid(), socket.gethostname()
    mine = {row["session"] for row in document["sessions"] if (row["pid"], row["host"]) == us}
    pools: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for lease in document["leases"]:
        if lease["session"] in mine and lease.get("leases_most"):
            kind = repr([lease.get(name) for name in _REQUESTED])
            pools.setdefault((lease["session"], kind), []).append(lease)
    return [_pool(leases) for leases in pools.values()]


def _why(reasons: Iterable[str | None]) -> str:
    return next((reason.rstrip(".") for reason in reasons if reason), "")


def _counted(count: int, one: str) -> str:
    return f"{count} {one}{'' if count == 1 else 's'}"


def _pool(leases: list[dict[str, Any]]) -> Pool:
    ready = [lease for lease in leases if lease["workers_ready"]]
    waiting = [lease for lease in leases if not lease["workers_ready"] and lease["waiting"]]
    return Pool(workers=sum(lease["workers_ready"] for lease in ready),
                most=leases[0]["leases_most"] * leases[0]["workers"],
                nodes=len({lease["node"] for lease in ready} - {""}), waiting=len(waiting),
                why=_why(lease.get("reason") for lease in waiting))
