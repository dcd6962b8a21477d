"""Notes about saved variables for the user, in grey, under the cell that ran last: each note once."""

from __future__ import annotations

import contextlib
from collections.abc import Collection

from ..._common.byte_size import size
from ..._common.names_shown import is_persons, listed, persons
from ..state.restorer import Loaded

_GREY, _PLAIN = "\x1b[90m", "\x1b[0m"
_MOST_NAMES = 12  # in a line


def tell(words: str) -> None:
    with contextlib.suppress(ValueError, OSError):  # a cell has closed its standard output
        print(f"{_GREY}pounce: {words}{_PLAIN}\n", end="", flush=True)  # at once: the next cell's output may follow


class StateNotes:
    def __init__(self) -> None:
        self.unparkable: dict[str, str] = {}
        self.problem = ""
        self._failed: set[tuple[str, str]] = set()
        self._left_out: set[str] = set()  # settings that the user was told of

    def restored(self, loaded: Loaded, seconds: float) -> None:
        names = persons(loaded.names)
        if names:
            tell(f"restored {listed(names, _MOST_NAMES)} ({size(loaded.nbytes)}, {seconds:.1f} s)")
        for name, why in loaded.failed.items():
            tell(f"{name} was not restored: {why}")

    def not_saved(self, why: str) -> None:
        """Nothing of the namespace can be saved now."""
        if why != self.problem:
            tell(f"the variables of this worker are not saved: {why}")
        self.problem = why

    def saved(self, unparkable: dict[str, str], remade: Collection[str]) -> None:
        """All names were saved except `unparkable`, each with its reason."""
        for name, why in unparkable.items():
            if self.unparkable.get(name) != why and name not in remade and is_persons(name):
                tell(f"{name} cannot be saved, and goes when this worker does: {why}")
        self.unparkable, self.problem = dict(unparkable), ""

    def settings_failed(self, reasons: dict[str, str]) -> None:
        """Settings of the notebook, or of the worker before, that this worker cannot take."""
        for name, why in reasons.items():
            if (name, why) not in self._failed:
                tell(f"the setting {name} could not be made here: {why}")
            self._failed.add((name, why))

    def settings_left_out(self, reasons: dict[str, str]) -> None:
        """The next worker will not have these settings."""
        for name in sorted(reasons.keys() - self._left_out):
            tell(f"{name} stays with this worker: {reasons[name]}")
        self._left_out |= reasons.keys()
