"""The workers of an endpoint, and the requests that wait for them: a worker answers one request at a time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from .. import errors
from .._worker.serving import Answer
from . import scaling
from .scaling import Load
from .worker import LOST, Worker

_LOOK_S = 2.0  # between two looks at the workers
_GONE_S = 1.0  # between two looks whether the caller is still there


class CallerGone(Exception):
    """The caller does not wait any more."""


class _Waiting:
    """A request that waits for a worker."""

    def __init__(self) -> None:
        self.settled = threading.Event()
        self.worker: Worker | None = None
        self.error: Exception | None = None

    def settle(self, worker: Worker | None, error: Exception | None = None) -> None:
        self.worker, self.error = worker, error
        self.settled.set()


class Workers:
    """Requests come from any thread. Threads of its own: one that keeps the number of workers, and one for each worker
    that starts."""

    def __init__(self, least: int, most: int, idle_s: float, new_worker: Callable[[], Worker]):
        self._least, self._most, self._idle_s, self._new_worker = least, most, idle_s, new_worker
        self.problem = ""  # of the last start; empty: it went well
        self.version = ""  # of MLflow on the workers
        self._answered = self._failed = 0
        self._turn = threading.Condition()
        self._waiting: deque[_Waiting] = deque()
        self._free: list[Worker] = []  # the one that was used last at the end
        self._busy: set[Worker] = set()
        self._starting: list[Worker] = []
        self._pressed_since = self._calm_since = time.monotonic()  # since when some request waits; none does
        self._closed = False
        threading.Thread(target=self._keep, name="pounce-serve", daemon=True).start()

    # ---- requests ----

    def answer(self, body: bytes, kind: str, is_gone: Callable[[], bool]) -> Answer:
        """Blocks until a worker has answered; one that is lost costs the request one more try, before all others.

        Raises
        ------
        CallerGone
            ``is_gone()`` said so while the request waited.
        NotServed, PounceError
            The model cannot be loaded; there is no worker; two were lost.
        """
        try:
            answer = self._tried(body, kind, False, is_gone) or self._tried(body, kind, True, is_gone)
        except CallerGone:
            raise
        except BaseException:
            self._count(False)
            raise
        assert answer is not None  # the second try raises
        self._count(answer.status < 500)
        return answer

    def _tried(self, body: bytes, kind: str, is_last: bool, is_gone: Callable[[], bool]) -> Answer | None:
        """None: its worker was lost."""
        worker = self._take(is_last, is_gone)
        try:
            answer = worker.answer(body, kind)
        except LOST:
            self._lost(worker)
            if is_last:
                raise
            return None
        except BaseException:
            self._drop(worker)
            raise
        self._put_back(worker)
        return answer

    def start(self) -> None:
        """Blocks until a worker has the model. Raises as `answer`."""
        self._put_back(self._take(False, lambda: False))

    def _take(self, goes_first: bool, is_gone: Callable[[], bool]) -> Worker:
        with self._turn:
            if self._closed:
                raise _closed()
            if self._free:
                worker = self._free.pop()
                self._busy.add(worker)
                return worker
            if not self._waiting:
                self._pressed_since = time.monotonic()
            request = _Waiting()
            self._waiting.appendleft(request) if goes_first else self._waiting.append(request)
            self._turn.notify()
        try:
            while not request.settled.wait(_GONE_S):
                if is_gone():
                    raise CallerGone
        except BaseException:
            self._withdraw(request)
            raise
        if request.error is not None:
            raise request.error
        assert request.worker is not None
        return request.worker

    def _withdraw(self, request: _Waiting) -> None:
        with self._turn:
            if request in self._waiting:
                self._waiting.remove(request)
                self._calm_since = time.monotonic()
                return
        if request.worker is not None:  # it has just come
            self._put_back(request.worker)

    def _put_back(self, worker: Worker) -> None:
        now = time.monotonic()
        worker.used_at = now
        with self._turn:
            self._busy.discard(worker)
            if self._closed:
                return
            if not self._waiting:
                self._free.append(worker)
                return
            self._busy.add(worker)
            self._waiting.popleft().settle(worker)
            if not self._waiting:
                self._calm_since = now

    def _lost(self, worker: Worker) -> None:
        """It loads the model again: on its lease, if only its Python died."""
        with self._turn:
            self._busy.discard(worker)
            if not self._closed:
                self._begin(worker)

    def _drop(self, worker: Worker) -> None:
        with self._turn:
            self._busy.discard(worker)
            self._turn.notify()
        worker.end()

    def _count(self, is_answered: bool) -> None:
        with self._turn:
            self._answered += is_answered
            self._failed += not is_answered

    # ---- their number ----

    def _begin(self, worker: Worker) -> None:
        self._starting.append(worker)
        threading.Thread(target=self._start, args=(worker,), name="pounce-serve-start", daemon=True).start()

    def _start(self, worker: Worker) -> None:
        problem: Exception | None = None
        try:
            worker.begin()
        except Exception as error:
            problem = error
            worker.end()
        with self._turn:
            if worker not in self._starting:  # it was withdrawn
                return
            self._starting.remove(worker)
            self._pressed_since = time.monotonic()  # a further one has to be worth it again
            self.problem = str(problem or "")
            self._turn.notify()
            if problem is not None:
                return self._not_started(problem)
        self.version = worker.version
        self._put_back(worker)

    def _not_started(self, error: Exception) -> None:
        """Requests that no other worker will answer end with the reason."""
        if not self._free and not self._busy and not self._starting:
            self._calm_since = time.monotonic()
            while self._waiting:
                self._waiting.popleft().settle(None, error)

    def _keep(self) -> None:
        while True:
            with self._turn:
                if self._closed:
                    return
                for _ in range(scaling.to_start(self._load())):
                    self._begin(self._new_worker())
                ends = self._taken_off()
                if not ends:
                    self._turn.wait(self._pause())
            for worker in ends:
                worker.end()

    def _load(self) -> Load:
        now = time.monotonic()
        return Load(self._least, self._most, len(self._free) + len(self._busy), len(self._starting), len(self._waiting),
                    now - (self._pressed_since if self._waiting else now),
                    now - (self._calm_since if not self._waiting else now), not self.problem)

    def _taken_off(self) -> list[Worker]:
        """Those that go back now."""
        load, now = self._load(), time.monotonic()
        starting = self._starting[len(self._starting) - scaling.to_withdraw(load):]
        unused = [now - worker.used_at for worker in self._free]
        free = self._free[:scaling.to_end(load, unused, self._idle_s)]
        free += [worker for worker in self._free if worker not in free and not worker.is_there()]
        self._starting = [worker for worker in self._starting if worker not in starting]
        self._free = [worker for worker in self._free if worker not in free]
        return starting + free

    def _pause(self) -> float | None:
        """Seconds until there may be something to decide; None: until a request comes."""
        if not (self._free or self._busy or self._starting):
            return None
        idle_in = self._free[0].used_at + self._idle_s - time.monotonic() if self._free else _LOOK_S
        pressed = scaling.PRESSURE_S if self._waiting else _LOOK_S
        return min(_LOOK_S, pressed, idle_in if idle_in > 0 else _LOOK_S)

    # ---- what is shown ----

    def facts(self) -> dict[str, Any]:
        with self._turn:
            workers = [*self._free, *self._busy, *self._starting]
            found: dict[str, Any] = {
                "least": self._least, "most": self._most, "ready": len(self._free) + len(self._busy),
                "busy": len(self._busy), "starting": len(self._starting), "waiting": len(self._waiting),
                "answered": self._answered, "failed": self._failed, "problem": self.problem}
        leases = [lease for worker in workers for lease in worker.leases()]
        found["leases"] = [{"lease": lease.id, "state": lease.state, "job": lease.job, "node": lease.node,
                            "devices": lease.devices} for lease in leases]
        found["why"] = next((str(why) for lease in leases if (why := lease.why()) is not None), "")
        return found

    def close(self) -> None:
        """All leases go back, and requests end. Blocks at most 0.3 s for each worker."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            ends = [*self._free, *self._busy, *self._starting]
            while self._waiting:
                self._waiting.popleft().settle(None, _closed())
            self._turn.notify()
        for worker in ends:
            worker.end()


def _closed() -> errors.PounceError:
    return errors.ClientClosed("this endpoint was closed", "pounce.serve() makes another.")
