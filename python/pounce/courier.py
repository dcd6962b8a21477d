"""Named tasks whose worker does not see the results folder: this kernel takes the call there and the outcome back.

The task's session is pounced's own, so it outlives every courier. The call goes under the task's id, again from each
courier: a worker that knows the id runs it once, and answers whoever asks (docs/protocol.md §10).
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from . import errors, kept, serialize
from .functions import FunctionCache
from .future import Future
from .options import Options
from .ref import Ref

if TYPE_CHECKING:
    from ._session import Session
    from .named import Row

_ANOTHER_S = 2.0  # between two looks whether the courier that there is has gone


def run_call(call: tuple[Any, ...]) -> Any:
    """What the worker runs: the call as the kernel that submitted it wrote it."""
    function, args, kwargs = call
    return function(*args, **kwargs)


class Courier:
    """Carries one named task, on a thread and a session of its own, until somebody lets it leave."""

    def __init__(self, session: Session, row: Row, folder: str):
        self._session, self._row, self._folder = session, row, folder
        self._left = threading.Event()
        self._own: Session | None = None
        threading.Thread(target=self._carry, name="pounce-courier", daemon=True).start()

    def leave(self) -> None:
        """The task goes on; its outcome waits for the next courier. Blocks until the session is closed."""
        self._left.set()
        if self._own is not None:
            self._own.close()

    def bring(self, ok: bool, error: tuple[Any, ...] | None, pickle: Any, buffers: list[Any], run_ns: int) -> None:
        """The outcome goes into the folder as a worker that sees it would have put it there."""
        digest = trouble = ""
        try:
            digest = kept.write_outcome(self._folder, self._row.task, {"ok": ok, "run_ns": run_ns, "error": error}, [pickle, *buffers])
        except OSError as problem:
            trouble = f"the outcome could not be kept in {self._folder}: {problem.strerror}"
        self._tell(ok, digest, trouble)

    def _carry(self) -> None:
        with contextlib.suppress(errors.PounceError):  # pounced itself tells what becomes of the task
            while not self._left.is_set():
                try:
                    self._tell(False, "", "")
                except errors.NameTaken:
                    self._left.wait(_ANOTHER_S)
                else:
                    return self._send()

    def _tell(self, ok: bool, digest: str, trouble: str) -> None:
        """Without digest and trouble it asks to be the one who carries."""
        carry = self._session.core.carry_name
        self._session.ask_names(lambda request, asked: carry(request, asked, self._row.name, ok, digest, trouble))

    def _send(self) -> None:
        task = self._row.task
        try:
            _, (data, *buffers) = kept.read(os.path.join(self._folder, f"{task}.call"))
        except errors.PounceError as problem:
            return self._tell(False, "", f"it has not run: {problem.text}")
        own = self._own = self._session.courier(task)
        id, nbytes, hold = own.core.hold(bytes(data), buffers, False)
        payload, objects = serialize.dumps(((Ref(id, nbytes, hold),), {}))[::2]
        function = FunctionCache().pickled(run_call)
        call = (function.id, function.pickle, [payload], objects, Options().as_tuple(), 0, time.monotonic_ns(), task)
        own.show_elsewhere(lambda: own.send(lambda id: _Outcome(own, id, self), *call), _Log(os.path.join(self._folder, f"{task}.log")))
        if self._left.is_set():
            own.close()


class _Outcome(Future):
    """Is brought away as it came: nobody waits for it here."""

    def __init__(self, session: Session, task: bytes, courier: Courier):
        super().__init__(session, task, "a named task's outcome")
        self._courier = courier

    def _end(self, ok: bool, error: tuple[Any, ...] | None, raised: bool, pickle: Any, buffers: list[Any], stamps: tuple[int, ...]) -> None:
        run_ns, arrived = stamps[3], stamps[5]
        # What did not come from the worker, or was asked for through pounced, pounced knows better.
        if arrived and (error is None or error[0] != "cancelled"):
            with contextlib.suppress(errors.PounceError):
                self._courier.bring(ok, error, pickle, buffers, run_ns)


class _Log:
    """All that the task prints while this courier is there."""

    def __init__(self, path: str):
        self._path = path

    def printed(self, is_error: bool, data: bytes) -> None:
        with contextlib.suppress(OSError), open(self._path, "ab", buffering=0) as file:
            file.write(data)

    def message(self, message: dict[str, Any], buffers: list[Any]) -> None:
        """Displays are for notebooks that wait."""
