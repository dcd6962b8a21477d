"""The Python half of a client: turns the engine's news into futures, output and status lines.

Whoever waits in ``Future.result`` pumps the C++ engine and handles its news on the way. Only when nobody waits does the
notifier thread do it (it sleeps in C++ without the GIL). C++ never calls Python.
"""

from __future__ import annotations

import itertools
import json
import math
import platform
import socket
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from . import __version__, _core, _daemon, environment, errors
from .cell import show
from .choices import Choice, choices_of
from .future import Future
from .given_back import GivenBack
from .lease import Lease
from .named import NamedFuture
from .named import Row as NamedRow
from .options import Options
from .status import StatusLine, output
from .time_left import TimeLeft, cell_number
from .wait_policy import Planner
from .waiting import Wait, wait_of

_LOOK_S = 0.5       # a wait shorter than this shows no status line
_LONGEST_GRACE_MS = 2**32 - 1
_NAMES_TIMEOUT_S = 30.0
Question = Callable[..., int]  # of (number, connection that has it): the connection that has it now, 0 for none
_ASK_AGAIN_S = (0.0, 0.2, 1.0, 3.0, 10.0)  # pauses before each attempt to have pounced again


class Sink(Protocol):
    """Where one task shows what it prints and displays, instead of under the call that waits for it. Any thread."""

    def printed(self, is_error: bool, data: bytes) -> None: ...

    def message(self, message: dict[str, Any], buffers: list[Any]) -> None: ...


class Session:
    """One connection to pounced and to the workers that it grants."""

    def __init__(self, launcher: str | None, config: str | None, cancel_grace: float, prefix: str | None, carries: str = ""):
        import os

        import cloudpickle

        self._launcher, self._config, self._cancel_grace = launcher, config, cancel_grace
        interpreter = sys.executable if prefix is None else environment.interpreter_of(prefix)
        endpoint = _daemon.ensure(launcher, config)
        self.core = _core.Client(
            host=socket.gethostname(),
            directory=os.getcwd(),
            interpreter=[interpreter],
            environment=environment.travelling(prefix),
            pounce=__version__,
            python=".".join(platform.python_version_tuple()[:2]),
            cloudpickle=cloudpickle.__version__,
            carries=carries,
            interpreter_named=prefix is not None,
        )
        self.core.set_daemon(endpoint)
        self.results: str = json.loads(endpoint)["results"]  # the folder of named tasks
        self._named: list[NamedFuture] = []  # not ended
        self.under_way: dict[bytes, Future] = {}  # whose end was not heard
        self._order = threading.RLock()  # news are shown in their order, whichever thread drained them
        self._answers: dict[int, tuple[Any, ...] | None] = {}  # of pounced, by our number of the question; None: to come
        self._asked = itertools.count(1)
        self._answer_came = threading.Condition()
        self._no_daemon: errors.PounceError | None = None  # why it could not be started again
        self._news: deque[tuple[Any, ...]] = deque()
        self._ended: deque[tuple[Future | None, list[Any]]] = deque()
        self._outputs: dict[bytes, Sink] = {}
        self._questions: dict[bytes, list[dict[str, Any]]] = {}  # of tasks, for whoever waits for them
        self._time_left = TimeLeft()
        self.planner = Planner()
        self.given_back = GivenBack()
        self._closed = False
        self._notifier = threading.Thread(
            target=_notify, args=(self.core, weakref.ref(self)), name="pounce-notifier", daemon=True
        )
        self._notifier.start()

    # ---- tasks ----

    def submit(self, name: str, function: Any, payload: list[Any], objects: list[str], resources: tuple[Any, ...],
               retries: int, submitted_ns: int) -> Future:
        return self.send(lambda task: Future(self, task, name), function.id, function.pickle, payload, objects, resources,
                         retries, submitted_ns)

    def send(self, made: Callable[[bytes], Future], *call: Any) -> Future:
        resources = call[4]
        gone = self.given_back.words(resources)
        with self._order:  # its end may be news before it has a future
            task = self.core.submit(*call)
            future = self.under_way[task] = made(task)
            self.given_back.asked(resources, lambda: self.core.want(task))
        if gone:
            self.given_back.forget(resources)
            output().end(f"pounce: {gone}; this call gets a new one, and what was kept on the old one is gone")
        return future

    def courier(self, task: str) -> Session:
        """A session that speaks for a named task's own, on the same pounced."""
        return Session(self._launcher, self._config, self._cancel_grace, None, carries=task)

    def state(self, future: Future) -> str | None:
        return self.core.state(future._task)

    def why(self, future: Future) -> Wait | None:
        if self.state(future) != "waiting":
            return None
        return wait_of(self.core.lease_status(future._task))

    def lease_of(self, future: Future) -> Lease | None:
        told = self.core.lease_status(future._task)
        return None if told is None else Lease(self, told)

    def lease_told(self, id: str) -> tuple[Any, ...] | None:
        """As pounced last told of it; None: it has ended."""
        try:
            return next((told for told in self.core.leases() if told[0] == id), None)
        except errors.ClientClosed:
            return None

    def move(self, future: Future, asks: Options) -> bool:
        """Has a task that waits ask for something else; False: it does not wait any more."""
        if not self.core.move(future._task, asks.as_tuple()):
            return False
        self.given_back.asked(asks.as_tuple(), lambda: self.core.want(future._task))
        return True

    def choices(self, future: Future, asks: Options, timeout: float = 30.0) -> list[Choice]:
        _, _, rows, error, _ = self.ask(
            lambda request, asked: self.core.ask_choices(request, asked, future._task, asks.as_tuple()), timeout)
        if error is not None:
            raise errors.make(*error)
        return choices_of(rows)

    def tell(self, future: Future, text: str) -> None:
        """One line for the person, where what the task prints goes."""
        output, line = self._outputs.get(future._task), f"pounce: {text}\n".encode()
        (output.printed if output else _show)(True, line)

    def cancel(self, future: Future, grace: float | None = None) -> None:
        seconds = self._cancel_grace if grace is None else grace
        self.core.cancel(future._task, math.ceil(min(seconds * 1000, _LONGEST_GRACE_MS)))
        self.core.drain(self._news)
        self.handle()

    def wait(self, future: Future, timeout: float | None) -> None:
        """Until the future is done. Shows output and status; a KeyboardInterrupt cancels the task."""
        now = time.monotonic()
        deadline = math.inf if timeout is None else now + timeout
        look = now + _LOOK_S
        status: StatusLine | None = None
        try:
            while not future._over:
                news, raised = self.core.wait(future._task, int(min(look, deadline) * 1e9), self._news)
                self.handle()
                if raised is not None:
                    raise raised
                self._answer(future)
                if future._over:
                    break
                now = time.monotonic()
                if now >= deadline:
                    raise errors.Timeout(f"{future._name} has not ended within {timeout:g} s; it goes on")
                if now >= look:
                    status = status or StatusLine(_LOOK_S)
                    state, lease = self.core.state(future._task), self.core.lease_status(future._task)
                    look = now + status.update(state, lease, future._hint(lease))
                    self._warn(state, lease)
                if not news and self.core.state(future._task) is None:
                    future._wait_over(0.05)  # another thread has its end in hand
        except KeyboardInterrupt:
            if not self._closed:
                self.cancel(future)
            raise
        finally:
            if status is not None:
                status.finish()

    def _warn(self, state: str | None, lease: tuple[Any, ...] | None) -> None:
        warning = self._time_left.warning(state, lease, cell_number())
        if warning:
            output().end(warning)  # of its own: a bar would write over a line of stderr

    # ---- news ----

    def handle(self) -> None:
        """All that was drained and is not handled yet, also what a KeyboardInterrupt left."""
        with self._order:
            if not self._news and not self._ended:
                return
            named = []
            while self._news:
                kind, *what = self._news.popleft()
                if kind == "ended":
                    future = self.under_way.pop(what[0], None)
                    self.given_back.ended(future, what[1])
                    self._ended.append((future, what[1:]))
                    self._questions.pop(what[0], None)
                    self._outputs.pop(what[0], None)
                elif kind == "printed":
                    output = self._outputs.get(what[0])
                    (output.printed if output else _show)(what[1], what[2])
                elif kind == "message":
                    self._message(*what)
                elif kind == "told":
                    _show(True, f"pounce: {what[0]}\n".encode())
                elif kind == "given_back":
                    self.given_back.heard(*what)
                elif kind in ("queue", "classes", "document") or (kind == "names" and what[0]):
                    self._answered(*what)
                elif kind == "names":
                    named += [NamedRow(*row) for row in what[1]]
                elif kind == "daemon":
                    self._have_daemon()
        # Outside the lock: callbacks of the person's run here, and unpickling is theirs too.
        while self._ended:
            try:
                future, end = self._ended.popleft()
            except IndexError:  # another thread was faster
                break
            if future is not None:
                future._end(*end)
        self._tell_named(named)

    def _message(self, task: bytes, text: bytes, buffers: list[Any]) -> None:
        message = json.loads(text)
        if message["type"] == "input_request":
            self._questions.setdefault(task, []).append(message["content"])
        elif task in self._outputs:
            self._outputs[task].message(message, buffers)
        else:
            show.republish(message, buffers)

    def show_elsewhere(self, submit: Callable[[], Future], output: Sink) -> Future:
        """What this task shows goes to `output`, from its first word."""
        with self._order:
            future = submit()
            self._outputs[future._task] = output
        return future

    def _answer(self, future: Future) -> None:
        """What the task asks the person. Not while news are handled: this waits for a person, and others for the news."""
        for question in self._questions.pop(future._task, ()):
            self.core.tell(future._task, json.dumps(show.ask(question)).encode())

    # ---- questions ----

    def ask(self, question: Question, timeout: float) -> tuple[Any, ...]:
        """pounced's answer. `question(number, asked)` sends it; an answer that was lost with its connection is asked for again."""
        request = next(self._asked)
        deadline = time.monotonic() + timeout
        asked = 0
        with self._answer_came:
            self._no_daemon = None
            self._answers[request] = None
            try:
                while (answer := self._answers[request]) is None:
                    if self._no_daemon is not None:
                        raise self._no_daemon
                    if time.monotonic() >= deadline:
                        raise errors.DaemonUnavailable(f"pounced has not answered within {timeout:g} s")
                    asked = question(request, asked)
                    self._answer_came.wait(0.2 if asked else 0.02)
                return answer
            finally:
                del self._answers[request]  # what comes late, or twice, nobody waits for

    def _answered(self, request: int, *answer: Any) -> None:
        with self._answer_came:
            if request in self._answers:
                self._answers[request] = answer
                self._answer_came.notify_all()

    def queue(self, timeout: float) -> tuple[Any, ...]:
        """(rows, error, launcher) as Slurm shows them now."""
        return self.ask(self.core.ask_queue, timeout)

    def classes(self, timeout: float) -> tuple[Any, ...]:
        """(classes, gpus, choices, error, launcher) as Slurm shows them now."""
        return self.ask(self.core.ask_classes, timeout)

    def status(self, timeout: float) -> dict[str, Any]:
        """pounced's status document: docs/protocol.md §8."""
        (document,) = self.ask(self.core.ask_status, timeout)
        return dict(json.loads(document))

    # ---- named tasks ----

    def ask_names(self, question: Question, timeout: float = _NAMES_TIMEOUT_S) -> list[NamedRow]:
        rows, error = self.ask(question, timeout)
        if error is not None:
            raise errors.make(*error)
        return [NamedRow(*row) for row in rows]

    def names(self, name: str, timeout: float = _NAMES_TIMEOUT_S) -> list[NamedRow]:
        """Of one name, or of all with an empty one; those whose future is here hear of it."""
        rows = self.ask_names(lambda request, asked: self.core.ask_names(request, asked, name), timeout)
        self._tell_named(rows)
        return rows

    def _tell_named(self, rows: list[NamedRow]) -> None:
        for row in rows:
            for future in [one for one in self._named if one.name == row.name]:
                future._heard(row)

    def follow(self, future: NamedFuture) -> None:
        with self._order:
            self._named.append(future)

    def unfollow(self, future: NamedFuture) -> bool:
        """Whether it was followed: of several threads that bring its end one wins."""
        with self._order:
            if future not in self._named:
                return False
            self._named.remove(future)
            return True

    # ---- pounced ----

    def _have_daemon(self) -> None:
        threading.Thread(target=self._ask_for_daemon, name="pounce-ensure", daemon=True).start()

    def _ask_for_daemon(self) -> None:
        """pounced has gone and is needed. Starting it blocks: nobody waits for this thread."""
        problem: errors.PounceError | None = None
        for pause in _ASK_AGAIN_S:
            time.sleep(pause)
            if self._closed:
                return
            try:
                self.core.set_daemon(_daemon.ensure(self._launcher, self._config))
                return
            except (errors.ClientClosed, errors.Forked):
                return
            except errors.PounceError as error:
                problem = error
                if not isinstance(error, (errors.DaemonUnavailable, errors.SlurmUnreachable)):
                    break  # waiting does not mend it
        assert problem is not None
        with self._answer_came:
            self._no_daemon = problem
            self._answer_came.notify_all()
        try:
            self.core.daemon_failed(problem.code, problem.text, problem.remedy, problem.context)
        except errors.ClientClosed:
            return

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self.core.close()
        self.core.drain(self._news)
        self.handle()
        for future in list(self._named):
            future._left()
        # Not left to the interpreter's end, which kills threads inside C++; unless this is a callback on it, or a child.
        if self._notifier.is_alive() and self._notifier is not threading.current_thread():
            self._notifier.join(5)

    def __del__(self) -> None:
        if not getattr(self, "_closed", True):
            self.close()


def _notify(core: Any, session: weakref.ref[Session]) -> None:
    while core.wait_for_news():
        alive = session()
        if alive is None:
            return
        try:
            core.drain(alive._news)
            alive.handle()
        except Exception:  # a callback's, or a closed stdout: the next news must come through all the same
            sys.excepthook(*sys.exc_info())
        del alive


def _show(is_error: bool, data: bytes) -> None:
    stream = sys.stderr if is_error else sys.stdout
    if stream is None:  # pythonw and friends
        return
    stream.write(data.decode("utf-8", "replace"))
    stream.flush()
