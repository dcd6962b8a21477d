"""What the interpreter of a worker is told of the notebook's process beside its environment, in one variable of that.

Python takes some things from the environment as it starts, which the notebook's own Python has otherwise: there ``sys.path`` got
most of its folders later, when the standard library was imported, and hash() has a seed that no variable tells.

A worker reads it before it is ready, and its start is time on somebody's GPU: so it is lines of texts between tabs, for which no
module has to be imported.
"""

from __future__ import annotations

import os
from typing import NamedTuple

_VARIABLE = "_POUNCE_NOTEBOOK"
_ESCAPES = {"%": "%25", "\t": "%09", "\n": "%0A"}  # a folder's name may have them


class NotebookProcess(NamedTuple):
    """Nothing in it is secret."""

    path: list[list[str]]  # local_modules.SearchPath
    standard: list[str]  # modules of the standard library that are imported there
    shown: dict[str, str | None]  # variables with which the interpreter begins, as user code sees them

    def into(self, environment: dict[str, str]) -> dict[str, str]:
        shown = [[name] if value is None else [name, value] for name, value in self.shown.items()]
        lines = [*self.path, self.standard, *shown]
        return {**environment, _VARIABLE: "\n".join("\t".join(map(_escaped, line)) for line in lines)}


def taken() -> NotebookProcess:
    """On the worker, once: from then on the environment is what user code sees."""
    told = os.environ.pop(_VARIABLE, None)
    found = NotebookProcess([[], [], []], [], {}) if told is None else _read(told)
    for name, value in found.shown.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    return found


def _read(told: str) -> NotebookProcess:
    front, between, behind, standard, *shown = (
        [_unescaped(text) for text in line.split("\t")] if line else [] for line in told.split("\n"))
    return NotebookProcess([front, between, behind], standard, {name: value[0] if value else None for name, *value in shown})


def _escaped(text: str) -> str:
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text or "%"  # an empty text; a line of none is an empty line


def _unescaped(text: str) -> str:
    if text == "%":
        return ""
    for character, escape in reversed(_ESCAPES.items()):
        text = text.replace(escape, character)
    return text
