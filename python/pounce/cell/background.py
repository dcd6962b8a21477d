"""A cell that runs in the background: its output goes on under its own cell, while others run."""

from __future__ import annotations

import concurrent.futures
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from .. import errors
from .._engine.choices import Choice
from .._engine.display import Shown, comm
from .._engine.time_left import TimeLeft
from .._engine.wait_policy import Step
from ..future import engine_of

_KEPT_CHARS = 1_000_000  # of the log
_GIVE_UP_S = 10.0  # for a cell that is stopped since its worker is given back
DONE, FAILED, STOPPED = "done", "failed", "stopped"  # how a cell ended
_LOOK_S = 2.0  # between two looks at the time that remains


class CellOutput:
    """Shows a background cell's output under that cell, whichever cell runs by now. Any thread."""

    def __init__(self, shell: Any):
        self._kernel = getattr(shell, "kernel", None)
        self._parent = self._kernel.get_parent("shell") if self._kernel is not None else None
        self._log: deque[str] = deque()
        self._chars = 0

    @property
    def is_shown(self) -> bool:
        """Whether there is a page that shows it; else it is kept alone."""
        return self._kernel is not None

    def printed(self, is_error: bool, data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        self._log.append(text)
        self._chars += len(text)
        while self._chars > _KEPT_CHARS and len(self._log) > 1:
            self._chars -= len(self._log.popleft())
        self.send("stream", {"name": "stderr" if is_error else "stdout", "text": text})

    def message(self, message: dict[str, Any], buffers: list[Any]) -> None:
        if message["type"].startswith("comm_"):
            if self._kernel is not None:
                comm(self._kernel, message, buffers, self._parent)
        elif message["type"] == "page":  # the reply, which has a page, has been sent
            self.send("display_data", {"data": message["content"]["data"], "metadata": {}, "transient": {}})
        elif message["type"] != "next_input":
            self.send(message["type"], message["content"])

    def send(self, kind: str, content: dict[str, Any]) -> None:
        if self._kernel is not None:
            session, socket = self._kernel.session, self._kernel.iopub_socket
            session.send(socket, kind, content, parent=self._parent, ident=kind.encode())

    def log(self) -> str:
        return "".join(self._log)


class Again(Exception):
    """The cell has not run yet. `give()`, which may block, gives its worker what that lacks; `submit()` then sends the
    cell again and returns the future."""

    def __init__(self, give: Callable[[], None], submit: Callable[[], Any]):
        super().__init__()
        self.give, self.submit = give, submit


class PutBehind(Exception):
    """The cell was taken back before it ran, for this kernel to have it done otherwise."""


class Waiting(Protocol):
    """Hears of each future that the notebook waits for in a cell."""

    leaves: str  # the cell is taken back, to be done otherwise: how

    def waits_for(self, future: Any) -> None: ...


class Told(Protocol):
    """Is told how a cell goes. Any thread; returns at once."""

    def started(self) -> None: ...

    def ended(self, outcome: str) -> None: ...


class CellJob:
    """A cell in the background. What it assigns is on the worker; ``--out`` names come into the notebook at its end.

    Examples
    --------
    In a notebook::

        %%pounce --gpu 1 --bg --name training
        fit(model, loader)

    and in a later cell ``training.state``, ``print(training.log())``, ``training.result()``.
    """

    def __init__(self, view: Any, target: Callable[[], Any], future: Any, output: CellOutput,
                 ended: Callable[[Any], Shown | None], goes_on: bool = False, over: Callable[[], None] = lambda: None):
        """`ended(future)` records what the cell did, on any thread, and returns its value or raises its error;
        ``Again`` sends the cell once more. `target()` is the worker's target: a waiting cell may move. `goes_on`:
        without this kernel, so its worker has to be told to stop it. `over()` is called when it is done, on any
        thread."""
        self._view, self._future, self._output = view, future, output
        self._target = target
        self._ended = threading.Event()
        self._value: Shown | None = None
        self._error: BaseException | None = None
        self._noted, self._over = ended, over
        self._told: Told | None = None
        self._cancelled, self._goes_on_alone = False, goes_on
        future.add_done_callback(self._end)
        threading.Thread(target=self._watch, name="pounce-time", daemon=True).start()

    @property
    def state(self) -> str:
        """``waiting``, ``running`` or ``done``."""
        return "done" if self._ended.is_set() else "running" if self._future.running() else "waiting"

    def result(self, timeout: float | None = None) -> Shown | None:
        """The value of the cell's last expression, as it is shown. Blocks.

        Raises
        ------
        TimeoutError
            The cell has not ended within `timeout` seconds; it goes on.
        BaseException
            What the cell raised.
        """
        if not self._ended.wait(timeout):
            raise TimeoutError(f"the cell has not ended within {timeout:g} s; it goes on")
        if self._error is not None:
            raise self._error
        return self._value

    def log(self) -> str:
        """What it has printed: the last million characters."""
        return self._output.log()

    def cancel(self) -> None:
        """Takes the cell back while it waits, interrupts it when it runs. Does not block."""
        self._cancelled = True  # also for a cell that is about to be sent again
        self._view.cancel(self._future)

    def __repr__(self) -> str:
        return f"<a cell in the background: {self.state}>"

    # ---- the magic's ----

    @property
    def target(self) -> Any:
        return self._target()

    def end_python(self) -> None:
        """Ends the interpreter that the cell runs in. Blocks until the worker has reported that."""
        self._view.cancel(self._future, grace=0)
        self._ended.wait()

    def give_up(self) -> None:
        """Stops it if it would go on without this kernel. Blocks for as long as that takes, at most some seconds more
        than the cell gets."""
        if self._goes_on_alone and not self._ended.is_set():
            self._cancelled = True
            self._view.cancel(self._future, grace=_GIVE_UP_S)
            self._ended.wait(3 * _GIVE_UP_S)

    def lease(self) -> Any:
        session, task = engine_of(self._future)
        return session.lease_status(task)

    def tells(self, told: Told) -> None:
        self._told = told
        if self._ended.is_set():
            told.ended(self._outcome())

    def choices(self) -> list[Choice]:
        return self._future.choices()

    def take(self, option: str) -> bool:
        """One of ``choices()`` instead of what it waits for: as ``--or`` takes it. False: it does not wait any more."""
        return bool(self._future.move(**Step(option).changes()))

    def _watch(self) -> None:
        """No thread waits for this cell, so its own thread watches for the end of its lease."""
        time_left = TimeLeft()
        while not self._ended.wait(_LOOK_S):
            try:
                session, task = engine_of(self._future)
                if self._told is not None and self._future.running():
                    self._told.started()
                warning = time_left.warning(session.state(task), self.lease())
            except errors.ClientClosed:
                return
            if warning:
                data = {"text/plain": f"{warning}\n"}
                self._output.send("display_data", {"data": data, "metadata": {}, "transient": {}})

    def _end(self, future: Any) -> None:
        try:
            self._value = self._noted(future)
            if self._value is not None:
                data, metadata = self._value._repr_mimebundle_()
                self._output.send("display_data", {"data": data, "metadata": metadata, "transient": {}})
        except Again as again:
            threading.Thread(target=self._go_on, args=(again,), name="pounce-again", daemon=True).start()
            return
        except BaseException as error:
            self._fail(error)
        del self._noted  # it holds what was sent
        self._ended.set()
        self._over()
        if self._told is not None:
            self._told.ended(self._outcome())

    def _outcome(self) -> str:
        if self._error is None:
            return DONE
        return STOPPED if isinstance(self._error, (KeyboardInterrupt, errors.Cancelled)) else FAILED

    def _go_on(self, again: Again) -> None:
        try:
            again.give()
            if self._cancelled:
                raise errors.Cancelled("the cell was cancelled before it ran")
            self._future = again.submit()
        except BaseException as error:
            failed: concurrent.futures.Future[Any] = concurrent.futures.Future()
            failed.set_exception(error)
            self._end(failed)
        else:
            if self._cancelled:
                self._view.cancel(self._future)
            self._future.add_done_callback(self._end)

    def _fail(self, error: BaseException) -> None:
        self._error = error
        lines = getattr(error, "_render_traceback_", lambda: [])() or [f"{type(error).__name__}: {error}"]
        self._output.send("error", {"ename": type(error).__name__, "evalue": str(error), "traceback": lines})
