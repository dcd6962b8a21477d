"""State of the process itself and not of a name: its directory, environment, seeds, and options of libraries."""

from __future__ import annotations

import functools
import importlib
import os
import pickle
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..._common.after_import import AfterImport
from ..._common.notebook_process import place
from ..._common.secrets import ROWS, is_secret
from ..._common.settings.setting import packed, pickled, unpacked
from ..._common.settings.table import GENERATORS, SETTINGS
from ..launch_variables import is_of_one_worker

if TYPE_CHECKING:  # a call does without
    from ..._common.cell_protocol import SettingsChange

SEEDS = {name: SETTINGS[name].library for name in GENERATORS}
_FOLLOWED = "followed"  # the part that says which of the notebook's changes it has: its id, and their last number


@dataclass
class Baseline:
    """The process's initial state. What differs from it is saved, and what was written here: another worker may be
    started in another folder and with other variables, since these are the notebook's at that time."""

    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    path: list[str] = field(default_factory=lambda: list(sys.path))
    settings: dict[str, bytes] = field(default_factory=lambda: _pickled(SETTINGS.keys() - SEEDS.keys()))


@functools.cache
def baseline() -> Baseline:
    """Of this process, as it was when it first got settings of a notebook."""
    return Baseline()


def _pickled(names: Collection[str], problems: dict[str, str] | None = None) -> dict[str, bytes]:
    """Settings of what is imported here. One that cannot be read or pickled is left out."""
    problems = {} if problems is None else problems
    values = {}
    for name, setting in SETTINGS.items():
        if name not in names or setting.module is None:
            continue
        try:
            value = setting.changed()
            if value is not None and setting.usual is not None:
                unfit: dict[str, str] = {}
                secrets = [option for option in value if name in ROWS and is_secret(option, value[option])]
                values[name] = packed({option: value[option] for option in value if option not in secrets}, unfit)
                problems |= {f"{name} {option}": why for option, why in unfit.items()}
            elif value is not None:
                values[name] = pickled(value)
        except Exception as error:  # in one library's options: the others are worth keeping
            problems[name] = f"{type(error).__name__}: {error}"
    return values


def taken(baseline: Baseline, waiting: Waiting | None = None, problems: dict[str, str] | None = None) -> bytes:
    """The pickled state. A part that cannot be pickled is left out, and added to `problems` with the reason; a part
    that still waits stays as it was. What may be a secret is left out: the notebook sends it again."""
    parts, written = ({}, {}) if waiting is None else (_without_secrets(waiting.parts), waiting.written)
    changes = {"environment": _environment(baseline, written.get("environment", ())), "path": _path(baseline)}
    parts |= {name: pickle.dumps(value, 5) for name, value in changes.items() if value is not None}
    for name, part in _pickled(SETTINGS, problems).items():
        if part != baseline.settings.get(name) or name in written:
            parts[name] = _merged(part, parts[name]) if name in parts and _has_options(name) else part
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
        self.written: dict[str, set[str]] = {}  # the names of parts that are written here, with their options
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
            new = {option: value for option, (number, value) in options.items()
                   if number > had or number <= change.since}
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
        return _merged(self.parts[name], pickle.dumps(new, 5)) if name in self.parts else pickle.dumps(new, 5)

    def libraries(self) -> set[str]:
        """Those that settings wait for. Generators of random numbers have a way of their own."""
        return {SETTINGS[name].library for name in self.parts if name in SETTINGS and name not in GENERATORS
                and SETTINGS[name].waits()}

    def put_back(self, words: Collection[str] = (), of: str = "", but: Collection[str] = ()) -> dict[str, str]:
        """Restores parts of no library, or of a library that is imported here or whose name is among `words`; with
        `of` only those of that library. Returns the reasons by part, for parts that do not fit this process.
        """
        failed: dict[str, str] = {}
        for name in [name for name in self.parts if name not in but]:
            setting = SETTINGS.get(name)
            if of and (setting is None or setting.library != of or name in GENERATORS):
                continue
            if setting is not None and setting.waits() and setting.package not in words and not self._acts(name):
                continue
            part = self.parts.get(name)
            if part is None:  # an import that one of the others made has written it
                continue
            written = self.written.setdefault(name, set())
            try:
                if _has_options(name):
                    options = unpacked(part)
                    written.update(options)
                    failed |= self._put_options_back(name, options)
                elif setting is not None:
                    setting.write(importlib.import_module(setting.library), pickle.loads(part))
                else:
                    _WRITERS[name](pickle.loads(part))
            except Exception as error:
                failed[name] = f"{type(error).__name__}: {error}"
            if self.parts.get(name) is part:  # now, so that what an interrupt cut off is written with the next call
                del self.parts[name]
        return failed

    def _acts(self, name: str) -> bool:
        part = self.parts.get(name)
        return part is not None and _has_options(name) and SETTINGS[name].at_once(unpacked(part))

    def _put_options_back(self, name: str, options: dict[str, bytes]) -> dict[str, str]:
        """One by one, so that one that does not fit costs no other. One whose module is not here goes on waiting."""
        failed, later = {}, {}
        setting = SETTINGS.get(name)
        write = _set_environment if setting is None else functools.partial(
            setting.write, importlib.import_module(setting.library))
        for option, value in options.items():
            try:
                write({option: pickle.loads(value)})
            except ModuleNotFoundError as error:
                later[option] = value
                failed[f"{name} {option}"] = (f"this worker has no module {error.name}; "
                                              f"%pip install {error.name} in a %%pounce cell installs it")
            except Exception as error:
                failed[f"{name} {option}"] = f"{type(error).__name__}: {error}"
        if later:
            self.parts[name] = pickle.dumps(later, 5)
        return failed


present = Waiting()  # this process's: of the namespace that is here, or of calls
_awaited: set[str] = set()


def put_back_on_import(tell: Callable[[dict[str, str]], None], but: Collection[str] = ()) -> None:
    """What waits for a library is written as soon as that is imported: the next line finds its settings. `tell` is
    given the reasons, as put_back() returns them."""
    for library in present.libraries() - _awaited:
        _awaited.add(library)
        AfterImport(library, functools.partial(_imported, library, tell, but))


def _imported(library: str, tell: Callable[[dict[str, str]], None], but: Collection[str]) -> None:
    _awaited.discard(library)
    tell(present.put_back(of=library, but=but))


def begin(data: bytes = b"") -> None:
    """Another namespace is here from now on. `data`: the process that was saved with it."""
    global present
    present = Waiting(data)


def _has_options(name: str) -> bool:
    """Whether the part is a dict of options, each pickled by itself."""
    return name == "environment" or (name in SETTINGS and SETTINGS[name].usual is not None)


def _merged(part: bytes, newer: bytes) -> bytes:
    return pickle.dumps(unpacked(part) | unpacked(newer), 5)


# ---- the environment and the search path, by their changes ----

def _environment(baseline: Baseline, written: Collection[str]) -> Any:
    now, before = dict(os.environ), baseline.environment
    changed = {name: now.get(name) for name in now.keys() | before.keys() if now.get(name) != before.get(name)}
    changed |= {name: now.get(name) for name in written}
    return {name: value for name, value in changed.items()
            if not is_of_one_worker(name) and not is_secret(name, value)} or None


def _without_secrets(parts: dict[str, bytes]) -> dict[str, bytes]:
    """Of the options that still wait for their library, or to be written."""
    return {name: _options_without(part) if name in ROWS else part for name, part in parts.items()}


def _options_without(part: bytes) -> bytes:
    options = unpacked(part)
    return pickle.dumps({name: value for name, value in options.items() if not is_secret(name, pickle.loads(value))}, 5)


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


_WRITERS: dict[str, Callable[[Any], None]] = {"path": _set_path, "search path": place}
