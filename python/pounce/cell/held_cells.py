"""Decides which cells go to the held worker: an input transformer of IPython puts the magic in front of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .stop import say

HELD = "--held"  # the option of the magic that is put in front
LOCAL = "--local"
_OURS = re.compile(r"\s*%pounce\b")
_CELL_MAGIC = re.compile(r"%%pounce\b")
_OF_THE_SHELL = re.compile(r"(exit|quit)(\s*\(\s*\))?\s*;?")  # ends ipython
_OF_BOTH = re.compile(r"%whos?(\s.*)?")  # shows the variables of both sides


class HeldCells:
    """
    Parameters
    ----------
    shell : InteractiveShell
    holds : callable
        Whether the notebook holds a worker now.
    """

    has_side_effects = True  # so that IPython calls it for a cell that runs, not to see whether a line is complete

    def __init__(self, shell: Any, holds: Callable[[], bool]):
        self._shell, self._holds = shell, holds
        self._inside = False  # a cell runs: what is transformed now is part of it

    def register(self) -> None:
        self._shell.input_transformers_cleanup.append(self)
        self._shell.events.register("pre_execute", self._begins)
        self._shell.events.register("pre_run_cell", self._tells)
        self._shell.events.register("post_execute", self._ends)

    def __call__(self, lines: list[str]) -> list[str]:
        if lines and lines[0].split() == ["%%pounce", LOCAL]:
            body = lines[1:]
            return body if body and body[0].startswith("%%") else ["\n", *body]
        return [f"%%pounce {HELD}\n", *lines] if self._goes(lines) else lines

    def hold_begins(self) -> None:
        """The rest of the cell that has begun the hold runs where it is."""
        self._inside = True

    def _goes(self, lines: list[str]) -> bool:
        return not self._inside and self._holds() and not self._is_silent() and goes(lines)

    def _is_silent(self) -> bool:
        """Whether the page itself runs this code, not the user."""
        kernel = getattr(self._shell, "kernel", None)
        content = kernel.get_parent("shell").get("content", {}) if kernel is not None else {}
        return bool(content.get("silent"))

    def _begins(self) -> None:
        self._inside = True

    def _ends(self) -> None:
        self._inside = False

    def _tells(self, info: Any) -> None:
        lines = str(info.raw_cell).splitlines(keepends=True)
        if self._holds() and not _is_ours_alone(lines) and _has_ours(lines) and not _CELL_MAGIC.match(lines[0]):
            say("this cell has a %pounce line, so all of it runs in the notebook, not on the worker that is held")


def goes(lines: list[str]) -> bool:
    """Whether a cell of a notebook that holds a worker runs there."""
    code = _code(lines)
    if not code or _CELL_MAGIC.match(code[0]) or _has_ours(lines):
        return False
    first = code[0].strip()
    return len(code) > 1 or not (_OF_THE_SHELL.fullmatch(first) or _OF_BOTH.fullmatch(first))


def _has_ours(lines: list[str]) -> bool:
    return any(_OURS.match(line) for line in lines)


def _is_ours_alone(lines: list[str]) -> bool:
    return all(_OURS.match(line) for line in _code(lines))


def _code(lines: list[str]) -> list[str]:
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
