"""Tells a user who may be away that a cell has started after a wait, and that it has ended: ``--tell``."""

from __future__ import annotations

import threading
import time

from ... import _core
from ..._engine import status_line
from ..._engine.durations import in_words
from ..background import DONE, FAILED, STOPPED, CellOutput
from ..notebook_state import notebook
from . import notify_program
from .alternatives import LONG_S
from .under_cell import Json, UnderCell

_IN_WORDS = {"running": "has started", DONE: "is done", FAILED: "has failed", STOPPED: "was stopped"}
_failed: set[str] = set()  # programs, whose failure was told in this kernel


class Telling:
    """Of one cell: by the browser, and by the site's program, where there is one. Thread: any; does not block."""

    def __init__(self, name: str, under: UnderCell, output: CellOutput, program: str, is_wanted: bool):
        self.name, self.program, self.is_wanted = name, program, is_wanted
        self._under, self._output = under, output
        self._began = time.monotonic()
        self._tells_any_start = self._has_started = self._has_ended = False

    def want(self) -> None:
        """The user has clicked."""
        self.is_wanted = self._tells_any_start = True

    def begins(self) -> None:
        """By the cell's own thread."""
        if not self.program and not self._under.has_page:
            self.say("--tell tells nothing here: the site has no program for it (notify in its policy), and a notebook "
                     "needs anywidget for the browser's notifications")
        self._under.show(self.facts(), "")

    def facts(self) -> Json:
        """What the page shows of it."""
        return {"tells": self.is_wanted, "program": bool(self.program)}

    def started(self) -> None:
        waited = time.monotonic() - self._began
        if self.is_wanted and not self._has_started and (self._tells_any_start or waited > LONG_S):
            self._tell("started", "running", waited)
        self._has_started = True

    def ended(self, outcome: str) -> None:
        """`outcome` empty: it has not run, and nothing is told."""
        if outcome and self.is_wanted and not self._has_ended:
            self._tell("ended", outcome, time.monotonic() - self._began)
        self._has_ended = True
        self._under.end()

    def say(self, text: str) -> None:
        if self._output.is_shown:
            self._output.printed(False, f"pounce: {text}\n".encode())
        else:
            status_line.output().end(_core.printable(f"pounce: {text}"))

    def _tell(self, what: str, outcome: str, seconds: float) -> None:
        has, after = f"{self.name} {_IN_WORDS[outcome]}", f"after {in_words(seconds)}"
        self._under.notify(f"pounce: {has}", f"{after} · {notebook()}")
        if self.program:
            facts = {"what": what, "name": self.name, "outcome": outcome, "seconds": round(seconds, 1),
                     "notebook": notebook(), "text": f"{has} {after} ({notebook()})"}
            threading.Thread(target=self._run, args=(facts,), name="pounce-notify", daemon=True).start()

    def _run(self, facts: Json) -> None:
        trouble = notify_program.run(self.program, facts)
        if trouble and self.program not in _failed:
            _failed.add(self.program)
            self.say(f"you were not told by the site's program: {trouble}")
