"""The Python half of a client: turns the engine's events into futures, output and status lines.

A thread that waits in ``Future.result`` pumps the C++ engine and handles its events on the way. Only when no thread
waits does the notifier thread do it (it sleeps in C++ without the GIL). C++ never calls Python.
"""

from __future__ import annotations

import contextlib
import contextvars
import json
import math
import os
import socket
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from .. import _core, errors
from .._common import here, report
from .._common.local_modules import search_path
from .._common.mlflow_work import BEGUN, SECRETS
from . import daemon, display, environment, seeds
from .choices import Choice, choice_of
from .function_cache import Pickled
from .gang_numbers import GangNumbers
from .modules_ahead import ModulesAhead
from .options import Options
from .planner import Planner
from .pools import Pool, pool_of
from .questions import Answer, Question, Questions
from .reclaimed import Reclaimed
from .reports_shown import ReportsShown
from .shell import show_at
from .status_line import QUIET_S, StatusLine, output
from .task import Task
from .time_left import TimeLeft, cell_number
from .wait import Wait, wait_of

_LONGEST_GRACE_MS = 2**32 - 1
_NAMES_TIMEOUT_S = 30.0
_SLICE_S = 0.05  # one step of a wait for what another session's thread brings
_LONG_S = 60.0  # one step of any other wait


class Sink(Protocol):
    """Receives what one task prints and displays, which else appears under the waiting call. Any thread."""

    def printed(self, is_error: bool, data: bytes) -> None: ...

    def message(self, message: dict[str, Any], buffers: list[Any]) -> None: ...


class Follower(Protocol):
    """Is told what pounced reports of the detached task of that name. Any thread."""

    name: str

    def update(self, row: _core.DetachedRow) -> None: ...

    def left(self) -> None: ...


class Taker(Protocol):
    """Handles messages of one type. Any thread, between other events: returns at once."""

    def __call__(self, session: Session, task: str, content: dict[str, Any], buffers: list[Any], /) -> None: ...


class Session:
    """One connection to pounced and to the workers that it grants."""

    def __init__(self, launcher: str | None, config: str | None, cancel_grace: float, prefix: str | None,
                 relays: str = "", imports: str = "no"):
        import cloudpickle

        self._launcher, self._config, self._cancel_grace = launcher, config, cancel_grace
        self.prefix = prefix or ""  # of the workers' environment; empty: this process's own
        interpreter = sys.executable if prefix is None else environment.interpreter_of(prefix)
        directory, path = _directory(), search_path()
        threading.Thread(target=_look_ahead, name="pounce-ahead", daemon=True).start()
        endpoint = daemon.ensure(launcher, config)
        pounced = json.loads(endpoint)
        self.core = _core.Client(
            host=socket.gethostname(),
            directory=directory,
            interpreter=[interpreter],
            environment=environment.of_workers(prefix, pounced["parked"], path),
            pounce=_core.__version__,
            python=f"{sys.version_info.major}.{sys.version_info.minor}",
            cloudpickle=cloudpickle.__version__,
            relays=relays,
            interpreter_chosen=prefix is not None,
        )
        # What workers start with, as the rows of the table of settings have it.
        self.start: dict[str, Any] = {"folder": directory, "search path": [list(part) for part in path]}
        self.core.set_daemon(endpoint)
        self.launcher: str = pounced["launcher"]
        self.results: str = pounced["results"]  # the folder of detached tasks
        self.saved_states: str = pounced["parked"]  # the folder of notebooks' saved variables
        self.parked_most_bytes: int | None = pounced["parked_most_mib"] * 1024 * 1024 or None  # per notebook
        # A pounced of an earlier version says nothing of these: then no cell goes on without its kernel.
        self.parked_keep_s = float(pounced.get("parked_keep_s", math.inf))
        self.cell_output_bytes: int = pounced.get("cell_output_mib", 0) * 1024 * 1024  # 0: no cell goes on
        self.keeps_cells = bool(pounced.get("keep_cells", 0))  # every cell goes on
        self.notify = str(pounced.get("notify", ""))  # the site's program that tells its user; empty: none
        self._followers: list[Follower] = []  # of tasks that have not ended
        self.under_way: dict[str, Task] = {}  # tasks whose end was not heard
        self.awaiting: set[Task] = set()  # not sent yet: they wait for futures among their arguments
        self._order = threading.RLock()  # keeps the order of events, whichever thread drained them
        self._questions = Questions()
        self._events: deque[Any] = deque()
        self._ended: deque[tuple[Task | None, _core.Ended]] = deque()
        self._outputs: dict[str, Sink] = {}
        # Of messages that are not shown, by their type.
        self.takers: dict[str, Taker] = {report.KIND: _reported, BEGUN: _logs_into, SECRETS: _tell_secrets}
        self._prompts: dict[str, list[dict[str, Any]]] = {}  # what each task asks the user, for the waiting thread
        self._time_left = TimeLeft()
        self.planner = Planner()
        self.gangs = GangNumbers()
        self.modules = ModulesAhead(self.core.set_modules) if imports == "ahead" else None
        self.reclaimed = Reclaimed()
        self.closed = False
        self._notifier = threading.Thread(
            target=_notify, args=(self.core, weakref.ref(self)), name="pounce-notifier", daemon=True
        )
        self._notifier.start()

    # ---- tasks ----

    def submit(self, task: Task, function: Pickled, payload: list[Any], objects: list[str], resources: _core.Resources,
               retries: int, submitted_ns: int, again: str = "", settings: bool = False) -> None:
        """From now on `task` is under way. `again`: its id, where it has one already. `settings`: the last object is no
        argument, but the settings that it runs under."""
        gone = self.reclaimed.ends and self.gone(resources)
        id = again or _core.new_task()
        if task.id:  # it is sent again
            self._shown_under(task.id, id)
        task.id = id
        self.under_way[id] = task  # before it is sent: its end may come at once
        try:
            self.core.submit(function.id, function.pickle, payload, objects, resources, retries, submitted_ns, id,
                             task.worker, settings)
        except BaseException:
            self.under_way.pop(id, None)
            raise
        if gone:
            self.reclaimed.forget(self.core.request(resources))
            output().end(f"pounce: {gone}; this call gets a new one")

    def _shown_under(self, before: str, now: str) -> None:
        with self._order:
            shown_at = self._outputs.pop(before, None)
            if shown_at is not None:
                self._outputs[now] = shown_at

    def for_relay(self, task: str) -> Session:
        """A session that acts for a detached task's own session, on the same pounced."""
        return Session(self._launcher, self._config, self._cancel_grace, None, relays=task)

    def expect(self, asks: Options, tasks: int) -> int:
        """Announces so many more tasks, or fewer, to a pool. Returns how many workers serve them or are requested."""
        return self.core.expect(asks.resources, tasks) if asks.resources.leases_most else asks.resources.workers

    def state(self, task: Task) -> str | None:
        return self.core.state(task.id) if task.awaits is None else "waiting"

    def sent(self, task: Task) -> None:
        """The task was sent: what it waited for has come."""
        task.awaits = None
        self.awaiting.discard(task)
        if task.given_up:  # while it waited
            self.cancel(task)

    def end_unsent(self, task: Task, failure: BaseException) -> None:
        """Ends a task that will not be sent."""
        self.awaiting.discard(task)
        if isinstance(failure, errors.Cancelled):
            task.end_cancelled(failure)
        else:
            task.end_failed(failure)

    def gone(self, resources: _core.Resources) -> str:
        """The notice that the idle worker with these resources was given back; empty: it was not."""
        if not self.reclaimed.ends or resources.leases_most:
            return ""
        return self.reclaimed.words(self.core.request(resources))

    def lease_status(self, task: Task) -> _core.LeaseStatus | None:
        return self.core.lease_status(task.id)

    def pool(self, task: Task) -> Pool | None:
        """The pool that the task waits in; None: it has one lease."""
        wanted = task.asks.resources if task.asks else None
        return pool_of(self.core.leases_of(task.id), wanted) if wanted and wanted.leases_most else None

    def why(self, task: Task) -> Wait | None:
        awaits = task.awaits
        if awaits is not None and (pending := awaits.pending()):
            return Wait("waiting", _for(pending))
        return wait_of(self.lease_status(task)) if self.state(task) == "waiting" else None

    def status_of(self, lease: str) -> _core.LeaseStatus | None:
        """The lease as pounced last reported it; None: it has ended."""
        try:
            return next((status for status in self.core.leases() if status.lease == lease), None)
        except errors.ClientClosed:
            return None

    def move(self, task: Task, asks: Options) -> bool:
        """Changes the request of a waiting task. False: it does not wait any more."""
        if task.awaits is None and not self.core.move(task.id, asks.resources):
            return False
        task.asks = asks
        return True

    def choices(self, task: Task, asks: Options, timeout: float = 30.0) -> list[Choice]:
        answer = self.ask(lambda request, connection:
                          self.core.ask_choices(request, connection, task.id, asks.resources), timeout)
        return [choice_of(choice) for choice in answer.choices]

    def tell(self, task: Task, text: str) -> None:
        """Shows one line to the user, where the task's output goes."""
        output, line = self._outputs.get(task.id), f"pounce: {text}\n".encode()
        (output.printed if output else _show)(True, line)

    def cancel(self, task: Task, grace: float | None = None, only_if_queued: bool = False) -> None:
        seconds = self._cancel_grace if grace is None else grace
        task.given_up |= not only_if_queued
        awaits = task.awaits
        if awaits is not None:
            if awaits.drop():
                why = task.why_given_up and ": " + task.why_given_up
                self.end_unsent(task, errors.Cancelled(f"{task.called()} was cancelled{why}"))
            return  # else it is being sent, and `sent` cancels it
        self.core.cancel(task.id, math.ceil(min(seconds * 1000, _LONGEST_GRACE_MS)), only_if_queued=only_if_queued)
        self.core.drain(self._events)
        self.handle()

    def wait(self, task: Task, timeout: float | None, hint: Callable[[_core.LeaseStatus | None], str]) -> None:
        """Waits until it is over. Shows output and status, with `hint` of the lease. A KeyboardInterrupt cancels it."""
        now = time.monotonic()
        deadline = math.inf if timeout is None else now + timeout
        look = now + QUIET_S
        status: StatusLine | None = None
        reports = ReportsShown(task)
        chain = [task]  # the last task is sent, or waits for another session's
        task.place = contextvars.copy_context()
        try:
            while not task.over:
                last = self._last_of(chain)
                if last.awaits is not None:
                    waited = _core.Waited()
                    last.wait_over(min(_SLICE_S, max(0.0, deadline - now)))
                else:
                    waited = self.core.wait(last.id, int(min(look, deadline) * 1e9), self._events)
                self.handle()
                if waited.raised is not None:
                    raise waited.raised
                self._answer(last)
                if task.over:
                    break
                now = time.monotonic()
                if now >= deadline:
                    raise errors.Timeout(f"{task.name} has not ended within {timeout:g} s; it goes on")
                if now >= look:
                    status = status or StatusLine(QUIET_S)
                    state, lease = self.state(last), self.lease_status(last)
                    look = now + status.update(state, lease, hint(lease), self.pool(last))
                    self._warn(state, lease)
                    reports.update()
                    if task.offer is not None:
                        task.offer.update(state)
                    if task.running_line is not None:
                        task.running_line.update(state, lease, task.first is not None and task.first.in_line)
                if not waited.events and self.state(last) is None:
                    last.wait_over(0.05)  # another thread is handling its end
        except KeyboardInterrupt:
            if not self.closed and not (task.spared is not None and task.spared()):
                self.cancel(task)
            raise
        finally:
            task.place = None
            if status is not None:
                status.finish()
                reports.update()
            if task.running_line is not None:
                task.running_line.end()

    def wait_silently(self, task: Task) -> None:
        """Waits until it is over, for a program: no status is shown, and what the task asks is not answered."""
        while not task.over:
            waited = self.core.wait(task.id, int((time.monotonic() + _LONG_S) * 1e9), self._events)
            self.handle()
            if not waited.events and self.state(task) is None:
                task.wait_over(_SLICE_S)  # another thread is handling its end

    def _last_of(self, chain: list[Task]) -> Task:
        """Follows what a task waits for: `chain` begins with the task and ends with the result."""
        while len(chain) > 1 and chain[-1].over:
            chain.pop()
        while (awaits := chain[-1].awaits) is not None:
            ahead = next((one for one in awaits.pending() if one in self.awaiting or one.id in self.under_way), None)
            if ahead is None:
                break
            chain.append(ahead)
        return chain[-1]

    def _warn(self, state: str | None, lease: _core.LeaseStatus | None) -> None:
        warning = self._time_left.warning(state, lease, cell_number())
        if warning:
            output().end(_core.printable(warning))  # an output of its own: a bar would overwrite a line of stderr

    # ---- events ----

    def handle(self) -> None:
        """Handles all drained events, also what a KeyboardInterrupt left."""
        with self._order:
            if not self._events and not self._ended:
                return
            rows: list[_core.DetachedRow] = []
            while self._events:
                event = self._events.popleft()
                if isinstance(event, _core.Ended):
                    self._ended.append((self._has_ended(event), event))
                elif isinstance(event, _core.Printed):
                    if (task := self._showing(event.task)) is not None:
                        task.shows().printed(event.text)
                    if (output := self._outputs.get(event.task)) is not None:
                        output.printed(event.to_stderr, event.text)
                    else:
                        show_at(task.place if task is not None else None, _show, event.to_stderr, event.text)
                elif isinstance(event, _core.Message):
                    self._message(event)
                elif isinstance(event, _core.Told):
                    _show(True, f"pounce: {event.text}\n".encode())
                elif isinstance(event, _core.GivenBack):
                    self.reclaimed.add(event)
                elif isinstance(event, _core.DetachedList) and not event.question:
                    rows += event.rows
                elif isinstance(event, Answer):
                    self._questions.answered(event)
                elif isinstance(event, _core.DaemonNeeded):
                    threading.Thread(target=self._start_daemon_again, name="pounce-ensure", daemon=True).start()
        # Outside the lock: callbacks and unpickling run the user's code.
        while self._ended:
            try:
                task, end = self._ended.popleft()
            except IndexError:  # another thread was faster
                break
            if task is not None:
                task.end(end)
        self._tell_followers(rows)

    def _has_ended(self, ended: _core.Ended) -> Task | None:
        task = self.under_way.pop(ended.task, None)
        if self.reclaimed.ends and ended.ok and task is not None and task.asks is not None:
            self.reclaimed.forget(self.core.request(task.asks.resources))  # a worker of its kind lives
        if self._prompts:
            self._prompts.pop(ended.task, None)
        if self._outputs and (task is None or not task.is_sent_again(ended)):
            self._outputs.pop(ended.task, None)
        return task

    def _message(self, event: _core.Message) -> None:
        message = json.loads(event.text)
        if message["type"].startswith("comm_"):
            message = display.comm_for_page(self, message)
        if message["type"] in self.takers:
            return self.takers[message["type"]](self, event.task, message["content"], event.buffers)
        if message["type"] == "input_request":
            return self._prompts.setdefault(event.task, []).append(message["content"])
        if (task := self._showing(event.task)) is not None:
            task.shows().message(message)
        if event.task in self._outputs:
            self._outputs[event.task].message(message, event.buffers)
        else:
            show_at(task.place if task is not None else None, display.republish, message, event.buffers)

    def _showing(self, id: str) -> Task | None:
        """The task, whose output is about to be shown."""
        task = self.under_way.get(id)
        if task is not None and task.running_line is not None:
            task.running_line.output_comes()
        return task

    @contextlib.contextmanager
    def events_held_back(self) -> Iterator[None]:
        """Holds the events back, so that all output of a task that is submitted meanwhile goes to its `show_at`."""
        with self._order:
            yield

    def show_at(self, task: Task, output: Sink) -> None:
        """Sends the task's output to `output`."""
        with self._order:
            self._outputs[task.id] = output

    def _answer(self, task: Task) -> None:
        """Asks the user what the task asks. Not while events are handled: other threads wait for them meanwhile."""
        for question in self._prompts.pop(task.id, ()):
            self.core.tell(task.id, json.dumps(display.ask(question)).encode())

    # ---- questions ----

    def ask(self, question: Question, timeout: float) -> Any:
        """pounced's answer. `question(number, connection)` sends the question."""
        return self._questions.ask(question, timeout)

    def queue(self, timeout: float) -> _core.QueueIs:
        """The queue as Slurm shows it now."""
        answer: _core.QueueIs = self.ask(self.core.ask_queue, timeout)
        return answer

    def classes(self, timeout: float) -> _core.ClassesIs:
        """The classes as Slurm shows them now."""
        answer: _core.ClassesIs = self.ask(self.core.ask_classes, timeout)
        return answer

    def status(self, timeout: float) -> dict[str, Any]:
        """pounced's status document: docs/protocol.md §8."""
        return dict(json.loads(self.ask(self.core.ask_status, timeout).document))

    # ---- detached tasks ----

    def ask_detached(self, question: Question, timeout: float = _NAMES_TIMEOUT_S) -> list[_core.DetachedRow]:
        answer: _core.DetachedList = self.ask(question, timeout)
        return answer.rows

    def names(self, name: str, timeout: float = _NAMES_TIMEOUT_S) -> list[_core.DetachedRow]:
        """The detached task of that name; all of them where it is empty. Also tells the followers."""
        rows = self.ask_detached(lambda request, connection:
                                 self.core.ask_detached(request, connection, name), timeout)
        self._tell_followers(rows)
        return rows

    def _tell_followers(self, rows: list[_core.DetachedRow]) -> None:
        for row in rows:
            for follower in [one for one in self._followers if one.name == row.name]:
                follower.update(row)

    def follow(self, follower: Follower) -> None:
        with self._order:
            self._followers.append(follower)

    def unfollow(self, follower: Follower) -> bool:
        """Whether it was followed: one of several threads that bring its end wins."""
        with self._order:
            if follower not in self._followers:
                return False
            self._followers.remove(follower)
            return True

    # ---- pounced ----

    def _start_daemon_again(self) -> None:
        """That blocks, but no caller waits for this thread."""
        try:
            daemon.start_again(lambda: self.core.set_daemon(daemon.ensure(self._launcher, self._config)),
                               lambda: self.closed)
        except (errors.ClientClosed, errors.Forked):
            return
        except errors.PounceError as problem:
            self._questions.fail(problem)
            with contextlib.suppress(errors.ClientClosed):
                self.core.daemon_failed(errors.record_of(problem))

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.core.close()
        self.core.drain(self._events)
        self.handle()
        for task in list(self.awaiting):
            if task.awaits is not None and task.awaits.drop():
                text = f"the client was closed while {task.called()} waited for its arguments"
                self.end_unsent(task, errors.ClientClosed(text))
        for follower in list(self._followers):
            follower.left()
        # The interpreter's end would kill the thread inside C++. No join in a callback on that thread, or in a child.
        if self._notifier.is_alive() and self._notifier is not threading.current_thread():
            self._notifier.join(5)

    def __del__(self) -> None:
        if not getattr(self, "closed", True):
            self.close()


def _look_ahead() -> None:
    """What the first call needs of this process. On a thread: the session waits for pounced meanwhile."""
    from . import call_settings  # noqa: F401

    seeds.look_ahead()


def _directory() -> str:
    """The folder that workers start in. A batch system that does not find it starts elsewhere silently."""
    name = here.folder()
    if not os.path.isdir(name):
        raise errors.BadRequest(f"the folder that this program is in was removed: {name}",
                                "Make it again, or os.chdir() into another.")
    return name


def _notify(core: Any, session: weakref.ref[Session]) -> None:
    while core.wait_for_events():
        alive: Session | None = session()
        if alive is None:
            return
        try:
            core.drain(alive._events)
            alive.handle()
        except Exception:  # a callback failed, or stdout is closed: the next events must still come through
            sys.excepthook(*sys.exc_info())
        del alive


def _reported(session: Session, task: str, content: dict[str, Any], _: list[Any]) -> None:
    reporter = session.under_way.get(task)
    if reporter is not None:
        reporter.reported(content)


def _logs_into(session: Session, task: str, content: dict[str, Any], _: list[Any]) -> None:
    logger = session.under_way.get(task)
    if logger is not None:
        from . import mlflow_runs

        mlflow_runs.logs_into(logger, content["run"], content["begins"])


def _tell_secrets(session: Session, task: str, content: dict[str, Any], _: list[Any]) -> None:
    from . import mlflow_runs

    secrets = {"number": content["number"], SECRETS: mlflow_runs.secrets()}
    with contextlib.suppress(errors.PounceError):  # the client is closed just now
        session.core.tell(task, json.dumps(secrets).encode())


def _for(tasks: list[Task]) -> str:
    """What a call waits for, in words."""
    first = tasks[0]
    others = len(tasks) - 1
    more = f" and {others} other{'s' if others > 1 else ''}" if others else ""
    return f"for {first.name}{f' (task {first.id})' if first.id else ''}{more}"


def _show(is_error: bool, data: bytes) -> None:
    stream = sys.stderr if is_error else sys.stdout
    if stream is None:  # under pythonw
        return
    stream.write(data.decode("utf-8", "replace"))
    stream.flush()
