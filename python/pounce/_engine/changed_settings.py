"""What this process has changed of its settings since it started: workers follow it, in cells and in calls."""

from __future__ import annotations

import contextlib
import copy
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._common.local_modules import search_path
from .._common.secrets import ROWS, is_secret
from .._common.settings.python import environment_at_start, passed_on
from .._common.settings.setting import BY_SETUP, differing, is_equal, pickled
from .._common.settings.table import GENERATORS, SETTINGS, left_out
from .status_line import output

if TYPE_CHECKING:  # a program that changes nothing does without
    from .._common.cell_protocol import SettingsChange

_Options = dict[str, Any]
_CONTAINERS = (list, dict, set, tuple)  # may be changed in place, a tuple's parts too
_ENCODED = "_data"  # the dict inside os.environ, which is compared sooner than all its decoded texts
_FOLLOWED = [(row, setting) for row, setting in SETTINGS.items() if row not in GENERATORS]
_QUICK = [(setting.mark or setting.read, setting) for _, setting in _FOLLOWED if setting.is_quick]


class ChangedSettings:
    """Any thread.

    Parameters
    ----------
    tell : callable
        Takes a line for the person, about a setting that cannot follow.
    """

    def __init__(self, tell: Callable[[str], None] = lambda line: output().end(f"pounce: {line}")) -> None:
        self.tell = tell
        self._turn = threading.Lock()
        self._kernel = os.urandom(8).hex()
        self.number = 0  # of the last change
        self._seen: dict[str, dict[str, Any]] = {}  # by row and option
        self._changes: dict[str, dict[str, tuple[int, bytes]]] = {}
        self._secrets: set[tuple[str, str]] = set()  # row and option: they are not saved, so workers get them again
        self._problems: dict[str, str] = {}  # of what cannot follow, by its name
        self._encoded: dict[bytes, bytes] | None = None  # the environment at the last look
        self._modules = 0  # how many were imported then
        self._marks: list[tuple[Callable[[Any], Any], Any, Any]] = []  # of the quick rows then
        self._path: tuple[list[str], list[list[str]]] = [], []  # sys.path, and what the person added to it

    def since(self, number: int) -> SettingsChange:
        """The changes after that one, up to now."""
        self.look()
        return self.seen_since(number)

    def seen_since(self, number: int) -> SettingsChange:
        """Those up to the last look, and all that may be secrets."""
        from .._common.cell_protocol import SettingsChange

        with self._turn:
            rows = {row: {option: one for option, one in options.items()
                          if one[0] > number or (row, option) in self._secrets}
                    for row, options in self._changes.items()}
            return SettingsChange(self._kernel, number, self.number, {row: new for row, new in rows.items() if new})

    def without_secrets(self, change: SettingsChange) -> SettingsChange:
        """For what lies in a file: no variables of the environment, and no other option that may be a secret."""
        rows = {row: {option: one for option, one in options.items() if (row, option) not in self._secrets}
                for row, options in change.rows.items() if row != "environment"}
        return replace(change, rows={row: options for row, options in rows.items() if options})

    def table(self) -> str:
        """What follows and what does not, as ``%pounce settings`` shows it."""
        self.look()
        lines = [f"{row}: {', '.join(sorted(filter(None, options))) or 'as here'}"
                 for row, options in sorted(self._changes.items())]
        lines += [f"{name} does not follow: {why}" for name, why in sorted(self._problems.items())]
        return "\n".join(lines) or "every setting is as in a fresh Python"

    def look(self, only_quick: bool = False) -> None:
        """Only in the main thread: others have a context of their own, and with it other options of numpy and another
        decimal context. `only_quick`: at what is read in some microseconds, the rest is left for another look."""
        if threading.current_thread() is threading.main_thread() and not (only_quick and self._is_as_seen()):
            with self._turn:
                self._look(only_quick)
                self._remember()

    def look_at_environment(self) -> None:
        """From any thread: all have the same environment."""
        if getattr(os.environ, _ENCODED) == self._encoded:
            return
        with self._turn, contextlib.suppress(RuntimeError):  # it is being changed: the next look sees it
            encoded = dict(getattr(os.environ, _ENCODED))
            self._take(*self._environment(), self.number + 1)
            self._encoded = encoded

    def _is_as_seen(self) -> bool:
        """Whether no quick row has changed since the last look."""
        if len(sys.modules) != self._modules or getattr(os.environ, _ENCODED) != self._encoded:
            return False
        try:
            for mark, module, known in self._marks:  # before each call: all() would take twice as long
                if mark(module) != known:
                    return False
        except Exception:  # of one library's options: a look tells of it
            return False
        return sys.path == self._path[0]

    def _remember(self) -> None:
        self._modules, self._marks = len(sys.modules), []
        for mark, setting in _QUICK:
            if setting.module is not None:
                with contextlib.suppress(Exception):
                    self._marks.append((mark, setting.module, mark(setting.module)))

    def _look(self, only_quick: bool) -> None:
        following = self.number + 1
        for row, now, before in self._rows(only_quick):
            self._take(row, now, before, following)
        for name, instead in ({} if only_quick else left_out()).items():
            self._has_problem(name, instead)

    def _take(self, row: str, now: _Options, before: _Options, following: int) -> None:
        if row in self._seen and is_equal(now, before):
            return
        new = differing(now, before)
        for option, value in new.items():
            if self._note(row, option, value, following):
                self.number = following
        if row not in self._seen:
            self._seen[row] = {**before, **_copied(now)}
        elif new:
            self._seen[row].update(_copied(new))

    def _rows(self, only_quick: bool) -> Iterator[tuple[str, _Options, _Options]]:
        """Each row with its options, and as they were when it was last looked at, or in a fresh process."""
        encoded = getattr(os.environ, _ENCODED)
        if encoded != self._encoded:
            self._encoded = dict(encoded)
            yield self._environment()
        for row, setting in _FOLLOWED:
            if (only_quick and not setting.is_quick) or setting.module is None:
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
        yield "search path", {"": self._added_to_path()}, self._seen.get("search path", {})

    def _environment(self) -> tuple[str, _Options, _Options]:
        known = self._seen.get("environment") or {
            name: value for name, value in environment_at_start().items() if not passed_on(name, value)}
        return "environment", {**dict.fromkeys(known), **os.environ}, known

    def _added_to_path(self) -> list[list[str]]:
        if self._path[0] != sys.path:
            self._path = list(sys.path), [list(part) for part in search_path()]
        return self._path[1]

    def _note(self, row: str, option: str, value: Any, number: int) -> bool:
        name = f"{row} {option}".strip()
        try:
            data = pickled(value)
        except Exception as error:
            self._changes.get(row, {}).pop(option, None)
            self._has_problem(name, f"{type(error).__name__}: {error}; {BY_SETUP}")
            return False
        self._problems.pop(name, None)
        keep = self._secrets.add if row in ROWS and is_secret(option, value) else self._secrets.discard
        keep((row, option))
        self._changes.setdefault(row, {})[option] = number, data
        return True

    def _has_problem(self, name: str, why: str) -> None:
        if self._problems.get(name) != why:
            self.tell(f"{name} does not follow to the worker: {why}")
        self._problems[name] = why


def _copied(options: _Options) -> _Options:
    return {option: copy.deepcopy(value) if isinstance(value, _CONTAINERS) else value
            for option, value in options.items()}


ours = ChangedSettings()
