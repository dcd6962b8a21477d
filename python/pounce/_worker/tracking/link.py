"""``Link``: the way to one of MLflow's servers, or to a store of artifacts.

As long as the server answers, each request goes to it at once, in the thread that logs. After one that was not
answered all of them go to the spool, and a thread sends them in order: the code that logs does not wait. When nothing
waits any more, requests go at once again.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from .attempts import Outcome, attempt
from .records import Record, added_tag, contents, first_request, in_words, run_of
from .spool import Full, Spool, size_of

MISSING = "pounce.missing"  # the tag of a run that lacks something
_OF_A_SERVER = ("token or password", "MLFLOW_TRACKING_TOKEN")
_ANSWERS_S = 4.0        # how long code that logs waits for the server
_IS_SLOW_S = 2.0        # after such an answer the code that logs waits no longer
_ANSWERS_LATE_S = 60.0  # how long the thread waits for it
_ARTIFACT_S = 120.0     # how long the server may take to store a file
_PAUSE_S = 0.5          # after the first request that was not answered; then twice as long each time
_LONGEST_PAUSE_S = 10.0

Send = Callable[[Record, str], Any]  # with the folder of the copies of artifacts
Attempt = Callable[..., "tuple[Outcome, Any, int]"]  # of a request, seconds and the bytes of its files


class Link:
    """Any thread. `name`: what the person is told of, without a password. `send` makes the request of a record;
    `is_renewed` says whether there is another token now; `attempt` runs a request within limits of time; `secret` is
    how a person calls what signs in, and a variable of it; `artifact_s`: how long code waits until a file is stored."""

    def __init__(self, name: str, folder: str, most_bytes: int, send: Send, is_renewed: Callable[[], bool],
                 attempt: Attempt = attempt, secret: tuple[str, str] = _OF_A_SERVER,
                 artifact_s: float = _ARTIFACT_S):
        self._name, self._folder, self._send, self._is_renewed = name, folder, send, is_renewed
        self._attempt, self._secret, self._artifact_s = attempt, secret, artifact_s
        self._changed = threading.Condition()  # guards all of the following
        self._own = Spool(folder, most_bytes)
        self._left = list(Spool.left(folder))  # of processes that are gone
        self._state = Outcome.SENT  # of the last request
        self._is_slow = self._is_awake = self._is_over = False
        self._thread: threading.Thread | None = None
        self._failures = 0
        self._one_by_one = 0  # so many of the next ones: as a batch they were refused
        self._missing: dict[str, dict[str, Counter[str]]] = {}  # by run and reason
        self._said: set[str] = set()
        self._is_said = False  # something, since the last call ended
        if self._left:
            self._begin()

    # ---- what is logged ----

    def log(self, record: Record, direct: Callable[[], Any]) -> Any:
        """The server's answer; None: it has not answered yet. Raises what MLflow raises about the request itself."""
        if self._goes_at_once():
            begun = time.monotonic()
            outcome, value, status = self._attempt(direct, _ANSWERS_S)
            if outcome is Outcome.SENT:
                self._is_slow = time.monotonic() - begun > _IS_SLOW_S
                return value
            if outcome is Outcome.WRONG:
                raise value
            self._failed(outcome, status)
        else:
            self._look_for_token()
        if self._keep(lambda: record, contents(record), run_of(record)):
            return None
        return direct()  # there is no room, and the server is slow, not away

    def log_files(self, files: list[tuple[Record, str]], direct: Callable[[], Any]) -> None:
        """The same for artifacts, each with its file here. They are large, so they go at once unless the server is
        away; but not before those that wait, which an earlier file of the same name may be."""
        if self._state is Outcome.SENT and self._is_drained(_ARTIFACT_S):
            outcome, value, status = self._attempt(direct, self._artifact_s, sum(size_of(file) for _, file in files))
            if outcome is Outcome.SENT:
                return
            if outcome is Outcome.WRONG:
                raise value
            self._failed(outcome, status)
        else:
            self._look_for_token()
        for record, file in files:
            if not self._keep(lambda: {**record, "copy": self._own.copy(file)}, contents(record), run_of(record)):  # noqa: B023
                return direct()  # it sends them all

    def _is_drained(self, seconds: float) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: not self._waits() or self._state is not Outcome.SENT, seconds)
            return not self._waits()

    def read(self, direct: Callable[[], Any], known: Any) -> Any:
        """The server's answer; while it is away, what is known. Where that is None MLflow asks in its own way."""
        if known is None:
            return direct()
        if self._state is not Outcome.SENT and self._waits():
            return known
        outcome, value, status = self._attempt(direct, _ANSWERS_S)
        if outcome is Outcome.WRONG:
            raise value
        if outcome is Outcome.SENT:
            return value
        self._failed(outcome, status)
        return known

    def _goes_at_once(self) -> bool:
        return not self._is_slow and not self._waits()

    def _waits(self) -> bool:
        return bool(self._own) or bool(self._left)

    def _keep(self, made: Callable[[], Record], counts: Counter[str], run: str) -> bool:
        """Whether there is no more to do."""
        with self._changed:
            try:
                self._own.append(made())
            except Full as full:
                if self._state is Outcome.SENT:
                    return False
                self._lack(run, counts, "not kept for want of room")
                self._say("full", f"what is logged for {self._name} is no longer kept ({full}): "
                                  f"the tag {MISSING} of its run will say what is missing")
            self._begin()
            return True

    def _failed(self, outcome: Outcome, status: int) -> None:
        with self._changed:
            self._state = outcome
            self._failures += 1
            self._changed.notify_all()
            kept = f"what is logged is kept in {self._folder}"
            if outcome is Outcome.REFUSED:
                what, variable = self._secret
                self._say("refused", f"{self._name} refuses the {what} ({status}): {kept}, and sent when the notebook "
                                     f"has another, as in {variable}")
            else:
                why = f"answers with {status}" if status else "does not answer"
                self._say("away", f"{self._name} {why}: {kept}, and sent when it is back")

    # ---- the thread that sends ----

    def _begin(self) -> None:
        if self._thread is None and not self._is_over:
            self._thread = threading.Thread(target=self._run, name="pounce-mlflow", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        pause = _PAUSE_S
        while True:
            with self._changed:
                found = self._next()
                if found is None:
                    self._thread = None
                    self._said.clear()
                    self._changed.notify_all()
                    return
            spool, record, count, end = found
            begun = time.monotonic()
            size = size_of(os.path.join(spool.copies, record["copy"])) if "copy" in record else 0
            send = functools.partial(self._send, record, spool.copies)
            outcome, value, status = self._attempt(send, _ANSWERS_LATE_S, size)
            with self._changed:
                if outcome in (Outcome.SENT, Outcome.WRONG):
                    pause = _PAUSE_S
                    self._state = Outcome.SENT
                    self._is_slow = time.monotonic() - begun > _IS_SLOW_S
                    self._answered(outcome is Outcome.SENT, value, spool, record, count, end)
                    continue
                self._failed(outcome, status)
                self._is_awake = False
                self._changed.wait_for(lambda: self._is_awake or self._is_over, pause)
                pause = _PAUSE_S if self._is_awake else min(2 * pause, _LONGEST_PAUSE_S)

    def _next(self) -> tuple[Spool, Record, int, int] | None:
        """What is sent next: the request, how many records it is, and how far its spool is then sent. None: nothing
        waits, or this process ends."""
        while self._left and not self._is_over:
            records, ends = self._left[0].oldest()
            if records:
                return self._first(self._left[0], records, ends)
            self._left.pop(0).close()
        if self._missing and not self._own:
            self._tell_missing()
        records, ends = self._own.oldest()
        return self._first(self._own, records, ends) if records and not self._is_over else None

    def _first(self, spool: Spool, records: list[Record], ends: list[int]) -> tuple[Spool, Record, int, int]:
        record, count = first_request(records[:1] if self._one_by_one else records)
        return spool, record, count, ends[count - 1]

    def _answered(self, is_sent: bool, error: Any, spool: Spool, record: Record, count: int, end: int) -> None:
        if not is_sent and count > 1:
            self._one_by_one = count
            return
        self._one_by_one = max(0, self._one_by_one - 1)
        if not is_sent and "adds" not in record:  # what says that something is missing is not missed itself
            self._lack(run_of(record), contents(record), "refused by the server")
            self._say("wrong", f"{self._name} refused what was logged before: {str(error)[:300]}")
        if "copy" in record:
            spool.drop_copy(record["copy"])
        spool.sent(end)
        self._changed.notify_all()

    # ---- what is missing ----

    def _lack(self, run: str, counts: Counter[str], why: str) -> None:
        if run:  # otherwise it is a model's
            self._missing.setdefault(run, {}).setdefault(why, Counter()).update(counts)

    def _tell_missing(self) -> None:
        """What the runs lack is added to a tag of theirs. That waits too, beyond the limit, since it is small."""
        for run, reasons in self._missing.items():
            said = "; ".join(f"{in_words(counts)} {why}" for why, counts in reasons.items())
            with contextlib.suppress(Full):
                self._own.append(added_tag(run, MISSING, said), beyond=True)
        self._missing.clear()

    def _say(self, kind: str, words: str) -> None:
        """One line, once until all that waits is sent."""
        if kind not in self._said:
            self._said.add(kind)
            self._is_said = True
            print(f"pounce: {words}", file=sys.stderr, flush=True)

    # ---- the ends of calls, and of the process ----

    def wake(self) -> None:
        """The thread tries again now: a new token may be there, or time has passed."""
        with self._changed:
            self._is_awake = True
            self._changed.notify_all()

    def _look_for_token(self) -> None:
        if self._state is Outcome.REFUSED and self._is_renewed():
            self._state = Outcome.SENT
            self.wake()

    def flush(self, seconds: float) -> None:
        """At the end of a call: waits as long as the server takes what waits, at most for so long."""
        self._look_for_token()
        self.wake()
        with self._changed:
            if not self._left:
                self._left = list(Spool.left(self._folder))
            if self._waits():
                self._begin()
            self._changed.wait_for(lambda: not self._waits() or self._state is not Outcome.SENT, seconds)
            if self._waits() and not self._is_said:
                print(f"pounce: {self._name} still lacks what waits in {self._folder}",
                      file=sys.stderr, flush=True)
            self._is_said = False

    def close(self, seconds: float) -> None:
        """At the end of the process: tries once more. What waits then is for the next worker."""
        self.wake()
        with self._changed:
            failures = self._failures
            self._changed.wait_for(lambda: not self._waits() or self._failures > failures, seconds)
            self._is_over = True
            self._tell_missing()
            self._changed.notify_all()
            if self._thread is None:  # otherwise it uses the files until the process has ended
                self._own.close()

    def forget(self) -> None:
        """In a child that was forked: what waits is the parent's."""
        for spool in (self._own, *self._left):
            spool.forget()
