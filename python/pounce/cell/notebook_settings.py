"""What the notebook has changed of its process's settings since it started: workers follow it."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Iterator
from typing import Any

from .._common.cell_protocol import SettingsChange
from .._common.settings import GENERATORS, SETTINGS, differing, left_out
from .stop import say

_Options = dict[str, Any]
_CONTAINERS = (list, dict, set)  # may be changed in place
_PROCESS = "/proc/self/environ"


class NotebookSettings:
    """Thread: the notebook's."""

    def __init__(self) -> None:
        self._kernel = os.urandom(8).hex()
        self._number = 0
        self._seen: dict[str, dict[str, Any]] = {}  # by row and option
        self._changes: dict[str, dict[str, tuple[int, bytes]]] = {}
        self._problems: dict[str, str] = {}  # of what cannot follow, by its name

    def since(self, number: int) -> SettingsChange:
        """The changes after that one."""
        self._look()
        rows = {row: {option: one for option, one in options.items() if one[0] > number}
                for row, options in self._changes.items()}
        return SettingsChange(self._kernel, number, self._number, {row: new for row, new in rows.items() if new})

    def table(self) -> str:
        """What follows and what does not, as ``%pounce settings`` shows it."""
        self._look()
        lines = [f"{row}: {', '.join(sorted(filter(None, options))) or 'as here'}"
                 for row, options in sorted(self._changes.items())]
        lines += [f"{name} does not follow: {why}" for name, why in sorted(self._problems.items())]
        return "\n".join(lines) or "every setting is as in a fresh Python"

    def _look(self) -> None:
        following = self._number + 1
        for row, now, before in self._rows():
            for option, value in differing(now, before).items():
                if self._note(row, option, value, following):
                    self._number = following
            self._seen[row] = {option: copy.deepcopy(value) if isinstance(value, _CONTAINERS) else value
                               for option, value in now.items()}
        for name in left_out():
            self._has_problem(name, "a cell with --setup makes it on each worker")

    def _rows(self) -> Iterator[tuple[str, _Options, _Options]]:
        """Each row with its options, and as they were when it was last looked at, or in a fresh process."""
        started = self._seen.get("environment") or _environment_at_start()
        yield "environment", {**dict.fromkeys(started), **os.environ}, started
        for row, setting in SETTINGS.items():
            if row in GENERATORS or setting.module is None:
                continue
            try:
                value = setting.read(setting.module)
                usual = setting.usual(setting.module) if setting.usual is not None and row not in self._seen else {}
            except Exception as error:  # of one library's options
                self._has_problem(row, f"{type(error).__name__}: {error}")
                continue
            if setting.usual is None:
                value = {} if value is None else {"": value}
            yield row, value or {}, self._seen.get(row, dict(usual))

    def _note(self, row: str, option: str, value: Any, number: int) -> bool:
        name = f"{row} {option}".strip()
        try:
            pickled = pickle.dumps(value, 5)
        except Exception as error:
            self._changes.get(row, {}).pop(option, None)
            self._has_problem(name, f"{type(error).__name__}: {error}")
            return False
        self._problems.pop(name, None)
        self._changes.setdefault(row, {})[option] = number, pickled
        return True

    def _has_problem(self, name: str, why: str) -> None:
        if self._problems.get(name) != why:
            say(f"{name} does not follow to the worker: {why}")
        self._problems[name] = why


def _environment_at_start() -> _Options:
    """The variables that this process was started with."""
    with open(_PROCESS, "rb") as file:
        entries = os.fsdecode(file.read()).split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)
