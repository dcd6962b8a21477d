"""Slurm's accounting, read through ``pouncectl accounting``, the only thing here that speaks to Slurm."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, cast

from .._engine.daemon import find_program
from ..errors import SlurmUnreachable, make
from .jobs import Job, complete, job_of, node_names


@dataclass
class Facts:
    """What this site records, and what of it this caller sees. `has_database=False`: there is no slurmdbd, and the
    jobs are this user's own leases, from pounce's records."""

    cluster: str
    now_s: int
    has_database: bool = True
    counts_gpus: bool = True
    counts_gpu_use: bool = False
    hides_others: bool = False
    sees_all: bool = False  # an operator of Slurm's
    node_gpus: dict[str, str] = field(default_factory=dict)


class Accounting:
    """A conversation with Slurm's accounting. Blocking; raises `PounceError` when slurmdbd does not answer, and may be
    used again after that. A context manager."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Accounting:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._process is not None:
            cast(IO[str], self._process.stdin).close()
            cast(IO[str], self._process.stdout).close()
            self._process.terminate()
            self._process.wait()
            self._process = None

    def facts(self) -> Facts:
        """What holds now. Takes a second at the first question."""
        (answer,) = self._ask({"ask": "facts"}, "facts")
        return Facts(**{name: answer[name] for name in Facts.__dataclass_fields__ if name in answer})

    def jobs(self, from_s: int, to_s: int, facts: Facts, steps: bool = False) -> list[Job]:
        """Those that waited, ran or ended in [from_s, to_s), with their whole times. `steps`: with what was measured of
        their steps, which costs slurmdbd a query for each job."""
        question = {"ask": "jobs", "from_s": from_s, "to_s": to_s, "after": 0, "steps": steps}
        jobs = [job_of(row) for row in self._ask(question, "job")]
        lost = [job for job in jobs if job.lost]
        down = self._down_after(min(job.start_s for job in lost), facts.now_s) if lost else lambda *_: None
        return [complete(job, facts.now_s, facts.node_gpus, down) for job in jobs]

    def _down_after(self, from_s: int, to_s: int) -> Callable[[str, int], int | None]:
        down: dict[str, list[int]] = {}
        for event in self._ask({"ask": "node_events", "from_s": from_s, "to_s": to_s}, "event"):
            if event.get("down"):
                for node in node_names(event["node"]):
                    down.setdefault(node, []).append(int(event["start_s"]))
        return lambda node, after_s: min((moment for moment in down.get(node, ()) if moment >= after_s), default=None)

    def _ask(self, question: dict[str, Any], kind: str) -> list[Any]:
        return list(self._answers(question, kind))

    def _answers(self, question: dict[str, Any], kind: str) -> Iterator[Any]:
        process = self._started()
        with contextlib.suppress(OSError):  # it has ended: reading says so
            print(json.dumps(question), file=process.stdin, flush=True)
        for line in cast(IO[str], process.stdout):
            answer = json.loads(line)
            if kind in answer:
                yield answer[kind]
            elif "error" in answer:
                error = answer["error"]
                raise make(str(error.get("code", "")), error.get("text", ""), error.get("remedy", ""),
                           error.get("context"))
            else:
                return
        self.close()
        raise SlurmUnreachable("pouncectl ended before it had answered", "Run it again; nothing was changed.")

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen([find_program("pouncectl"), "accounting"], stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, text=True, encoding="utf-8", errors="replace")
        return self._process

