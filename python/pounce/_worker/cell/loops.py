"""Loops of a cell that can be left between two steps: ``for ... in pounce.steps(...)`` at its left margin. At that
point the variables are the cell's whole state, so it can continue from them alone, beginning with that statement.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..._common.cell_protocol import LoopState
from .. import interpreter
from ..steps import Steps
from .saved_namespace import SavedNamespace
from .state_notes import tell
from .time_limit import TimeLimit

_LEAST_LEFT_S = 15.0  # the lease's time that is kept for the save, beside two steps
_TRANSFORMED = "__import__('sys').modules[{module!r}].bound({statement})"
_STAYS = ("{} this loop is not left between two steps: it keeps its worker until it is over, "
          "and is cut off where the worker's time ends first")
_running: Loops | None = None


class Loops:
    """The loops of one cell, which continues in the middle of the one `resumed`. Without `saved` none is left: if one
    of a cell in the background were, cells that wait behind it would run in the middle of it; and one that
    goes on without its kernel could not move. `stays`: which of the two it is, for the user."""

    def __init__(self, resumed: LoopState | None, saved: SavedNamespace | None, limit: TimeLimit, stays: str = ""):
        self._resumed, self._saved, self._limit, self._untold = resumed, saved, limit, stays
        self._statement = 0
        self._longest, self._since = 0.0, 0.0
        self._why = ""

    @contextmanager
    def of(self, shell: Any) -> Iterator[None]:
        """Around the run of this cell in the shell."""
        global _running
        marks = _Marks(self.first())
        shell.ast_transformers.append(marks)
        _running = self
        try:
            yield
        finally:
            _running = None
            if marks in shell.ast_transformers:
                shell.ast_transformers.remove(marks)

    def first(self) -> int:
        """The statement that the cell begins with."""
        return self._resumed.statement if self._resumed is not None else 0

    def bind(self, statement: int, loop: Steps[Any]) -> None:
        if self._resumed is not None and statement == self._resumed.statement:
            loop.resume(self._resumed.position, self._resumed.seeds)
            self._resumed = None
        if self._saved is not None and loop.begins_again():
            loop.watch = self
            self._statement = statement
        elif self._untold and loop.begins_again():
            tell(_STAYS.format(self._untold))
            self._untold = ""

    def state(self, steps: Steps[Any]) -> LoopState:
        """What the cell needs to continue, and what the user is told."""
        try:
            total = len(steps)
        except TypeError:
            total = 0
        return LoopState(self._statement, *steps.state(), total, self._why)

    # ---- steps' Watch ----

    def begins(self) -> None:
        self._longest, self._since = 0.0, time.monotonic()
        assert self._saved is not None
        self._saved.tell_loop(True)
        self._limit.later()

    def wants(self) -> bool:
        now = time.monotonic()
        self._longest, self._since = max(self._longest, now - self._since), now
        assert self._saved is not None
        if self._saved.lost_with_worker():
            return False
        left = interpreter.time_left()
        if interpreter.core.yield_asked():
            self._why = "demand"
        elif left is not None and left < _LEAST_LEFT_S + 2 * self._longest:
            self._why = "time"
        return bool(self._why)

    def ends(self) -> None:
        assert self._saved is not None
        self._saved.tell_loop(False)


class _Marks(ast.NodeTransformer):
    """Turns each statement ``for x in y`` of the cell into ``for x in bound(its number)(y)``, and removes those before
    the first."""

    def __init__(self, first: int):
        self._first: int | None = first

    def visit_Module(self, node: ast.Module) -> ast.Module:
        if self._first is None:  # a magic in the cell
            return node
        first, self._first = self._first, None
        node.body = node.body[first:]
        for number, statement in enumerate(node.body, first):
            if isinstance(statement, ast.For):
                bound = ast.parse(_TRANSFORMED.format(module=__name__, statement=number), mode="eval").body
                call = ast.Call(bound, [statement.iter], [])
                for part in (*ast.walk(bound), call):
                    ast.copy_location(part, statement.iter)
                statement.iter = call
        return node


def bound(statement: int) -> Any:
    """The function that binds the iterable of this statement's loop."""

    def over(iterable: Any) -> Any:
        if isinstance(iterable, Steps) and _running is not None:
            _running.bind(statement, iterable)
        return iterable

    return over


def rest(code: str, first: int) -> str:
    """The code from that statement on."""
    if not first:
        return code
    return "\n".join(code.split("\n")[ast.parse(code).body[first].lineno - 1 :])
