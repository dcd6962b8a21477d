"""``Array``: jobs that are submitted a few at a time, and a message if the kernel ends before all are submitted."""

from __future__ import annotations

import atexit
import sys
import threading
from collections import deque
from collections.abc import Callable

from ... import DetachedFuture
from .job import Job

_unfinished: set[Array] = set()  # with jobs to submit: they must live even if their jobs are not referenced


class Array:
    """The next one is submitted when one has ended."""

    def __init__(self, jobs: list[tuple[Job, Callable[[], DetachedFuture]]], at_a_time: int):
        self._waiting = deque(jobs)
        self._lock = threading.Lock()
        if len(jobs) > at_a_time:
            _unfinished.add(self)
        for job, _ in jobs:
            job.in_batch(False)
        for _ in range(min(at_a_time, len(jobs))):
            self._next()

    @property
    def waiting(self) -> int:
        """How many are not submitted yet, and not cancelled."""
        return sum(not job.done() for job, _ in list(self._waiting))

    def _one_has_ended(self, _: Job) -> None:
        """Submits in a new thread: this one delivers pounced's answers, and a submission waits for one."""
        threading.Thread(target=self._next, name="pounce-array", daemon=True).start()

    def _next(self) -> None:
        with self._lock:
            if not self._waiting:
                _unfinished.discard(self)
                return
            job, submit = self._waiting.popleft()
        job.start(submit)
        job.when_done(self._one_has_ended)


@atexit.register
def _say_what_is_lost() -> None:
    lost = sum(array.waiting for array in list(_unfinished))
    if lost:
        print(f"pounce: {lost} jobs of submitit arrays were not submitted before this kernel ended, and are lost. "
              "Wait for an array's jobs, or raise slurm_array_parallelism=.", file=sys.stderr, flush=True)
