"""What a worker's interpreter needs to know about the notebook's process, in one variable of its environment.

Python reads some settings from the environment as it starts, and the notebook's own Python got them otherwise: its
``sys.path`` got most folders later, when the standard library was imported, and no variable tells the seed of hash().

A worker reads this before it is ready, and its start takes time on a leased GPU. So the format is lines of texts
between tabs, for which no module has to be imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from . import here
from .local_modules import is_of_packages

_VARIABLE = "_POUNCE_NOTEBOOK"
_placed: set[str] = set()  # folders that sys.path has from the notebook
_ESCAPES = {"%": "%25", "\t": "%09", "\n": "%0A"}  # a folder's name may contain them


class NotebookProcess(NamedTuple):
    """Nothing in it is secret."""

    path: list[list[str]]  # local_modules.SearchPath
    standard: list[str]  # modules of the standard library that are imported there
    shown: dict[str, str | None]  # variables that the interpreter reads at its start, as user code should see them

    def into(self, environment: dict[str, str]) -> dict[str, str]:
        shown = [[name] if value is None else [name, value] for name, value in self.shown.items()]
        lines = [*self.path, self.standard, *shown]
        return {**environment, _VARIABLE: "\n".join("\t".join(map(_escaped, line)) for line in lines)}


def taken() -> NotebookProcess:
    """On the worker, once: after it the environment is as user code should see it."""
    text = os.environ.pop(_VARIABLE, None)
    process = NotebookProcess([[], [], []], [], {}) if text is None else _read(text)
    for name, value in process.shown.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    return process


def place(path: Sequence[Sequence[str]]) -> None:
    """On the worker: gives ``sys.path`` the notebook's folders, where its own path has them, in place of those that it
    had from there before. `path`: a SearchPath."""
    folder = here.folder()
    front, between, behind = ([entry or folder for entry in part] for part in path)
    if folder not in (*front, *between, *behind):
        front.insert(0, folder)
    now = {*front, *between, *behind}
    own = [entry for entry in sys.path if entry not in ("", *now, *_placed)]
    packages = next((at for at, entry in enumerate(own) if is_of_packages(entry)), len(own))
    sys.path[:] = [*front, *own[:packages], *between, *own[packages:], *behind]
    _placed.clear()
    _placed.update(now)


def _read(text: str) -> NotebookProcess:
    front, between, behind, standard, *variables = (
        [_unescaped(word) for word in line.split("\t")] if line else [] for line in text.split("\n"))
    shown = {name: value[0] if value else None for name, *value in variables}
    return NotebookProcess([front, between, behind], standard, shown)


def _escaped(text: str) -> str:
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text or "%"  # an empty text, since an empty line means no texts


def _unescaped(text: str) -> str:
    if text == "%":
        return ""
    for character, escape in reversed(_ESCAPES.items()):
        text = text.replace(escape, character)
    return text
