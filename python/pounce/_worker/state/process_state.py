"""State of the process itself and not of a name: its directory, environment, seeds, and options of libraries."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from ..._common.cell_protocol import SettingsChange
from ..._common.settings import GENERATORS, SETTINGS
from ..launch_variables import is_of_one_worker

SEEDS = {name: SETTINGS[name].library for name in GENERATORS}
_FOLLOWED = "followed"  # the part that says which of the notebook's changes it has: its id, and their last number


@dataclass
class Baseline:
    """The process's initial state; only differences from it are saved."""

    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    path: list[str] = field(default_factory=lambda: list(sys.path))
    settings: dict[str, bytes] = field(default_factory=lambda: _pickled(SETTINGS.keys() - SEEDS.keys()))


def _pickled(names: Collection[str]) -> dict[str, bytes]:
    """Settings of what is imported here. One that cannot be read or pickled is left out."""
    values = {}
    for name, setting in SETTINGS.items():
        if name not in names or setting.module is None:
            continue
        try:
            value = setting.changed()
            if value is not None:
                values[name] = pickle.dumps(value, 5)
        except Exception:  # an error in one library's options: the others are worth keeping
            continue
    return values


def taken(baseline: Baseline, waiting: Waiting | None = None) -> bytes:
    """The pickled state. A part that cannot be pickled is left out; a part that still waits stays as it was."""
    parts = {} if waiting is None else dict(waiting.parts)
    changes = {"environment": _environment(baseline), "path": _path(baseline)}
    parts |= {name: pickle.dumps(value, 5) for name, value in changes.items() if value is not None}
    parts |= {name: part for name, part in _pickled(SETTINGS).items() if part != baseline.settings.get(name)}
    if waiting is not None and waiting.followed[1]:
        parts[_FOLLOWED] = pickle.dumps(waiting.followed, 5)
    return pickle.dumps(parts, 5)


def seeds() -> bytes:
    """The seeds of the libraries that are imported here."""
    return pickle.dumps(_pickled(SEEDS), 5)


def put_seeds_back(data: bytes) -> None:
    Waiting(data).put_back(SEEDS)


class Waiting:
    """Parts of a saved process, or of the notebook's, that this one lacks: those of libraries wait until the library is
    used here."""

    def __init__(self, data: bytes = b""):
        self.parts: dict[str, bytes] = pickle.loads(data) if data else {}
        self.followed = ("", 0)  # the kernel whose changes were followed, and the number of the last one
        if _FOLLOWED in self.parts:
            self.followed = pickle.loads(self.parts.pop(_FOLLOWED))

    def lacks(self, change: SettingsChange) -> bool:
        """Whether changes are left out that the namespace has not had."""
        return change.since > self._had(change)

    def follow(self, change: SettingsChange) -> dict[str, str]:
        """Takes up what the namespace has not had; put_back() writes it. Returns the reasons by part, for values that
        cannot be read here."""
        had, failed = self._had(change), {}
        for name, options in change.rows.items():
            new = {option: value for option, (number, value) in options.items() if number > had}
            try:
                if new:
                    self.parts[name] = new[""] if "" in new else self._with_options(name, new)
            except Exception as error:
                failed[name] = f"{type(error).__name__}: {error}"
        self.followed = change.kernel, max(had, change.number)
        return failed

    def _had(self, change: SettingsChange) -> int:
        kernel, number = self.followed
        return number if kernel == change.kernel else 0

    def _with_options(self, name: str, new: dict[str, bytes]) -> bytes:
        options = pickle.loads(self.parts[name]) if name in self.parts else {}
        return pickle.dumps(options | {option: pickle.loads(value) for option, value in new.items()}, 5)

    def put_back(self, words: Collection[str] = ()) -> dict[str, str]:
        """Restores parts of no library, or of a library that is imported here or whose name is among `words`. Returns
        the reasons by part, for parts that do not fit this process.
        """
        failed: dict[str, str] = {}
        for name in list(self.parts):
            setting = SETTINGS.get(name)
            if setting is not None and setting.waits() and setting.package not in words:
                continue
            part = self.parts.pop(name)
            try:
                if setting is not None:
                    setting.write(importlib.import_module(setting.library), pickle.loads(part))
                else:
                    _WRITERS[name](pickle.loads(part))
            except Exception as error:
                failed[name] = f"{type(error).__name__}: {error}"
        return failed


# ---- the environment and the search path, by their changes ----

def _environment(baseline: Baseline) -> Any:
    now, before = dict(os.environ), baseline.environment
    changed = {name: now.get(name) for name in now.keys() | before.keys() if now.get(name) != before.get(name)}
    return {name: value for name, value in changed.items() if not is_of_one_worker(name)} or None


def _set_environment(changes: dict[str, str | None]) -> None:
    for name, value in changes.items():
        if is_of_one_worker(name):  # an older pounce saved it
            continue
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if "TZ" in changes:
        time.tzset()


def _path(baseline: Baseline) -> Any:
    """The entries added in front, added behind, and removed."""
    before, now = baseline.path, sys.path
    if now == before:
        return None
    old = [place for place, folder in enumerate(now) if folder in before]
    first = old[0] if old else len(now)
    behind = [folder for folder in now[first:] if folder not in before]
    return now[:first], behind, [folder for folder in before if folder not in now]


def _set_path(changes: tuple[list[str], list[str], list[str]]) -> None:
    front, behind, gone = changes
    sys.path[:] = [*front, *(folder for folder in sys.path if folder not in gone and folder not in front), *behind]


_WRITERS: dict[str, Callable[[Any], None]] = {"environment": _set_environment, "path": _set_path}
