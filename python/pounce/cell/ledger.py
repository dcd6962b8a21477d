"""What one worker's namespace holds, as far as the kernel knows, and so what has to travel with the next cell.

When a variable changed on both sides the later change wins, by the kernel's count of executed cells. A change in place
is first seen by the next cell that reads the variable, and counts as made then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from .. import errors
from .._common import bundle, serialize
from .names import is_import

_OF_WIDGET = "._trait_values['comm']"  # in the path of what cannot be sent


@dataclass
class Entry:
    """A variable that the worker has."""

    digest: bytes        # of the kernel's value when the two were last compared; b"": the kernel had none
    ident: int           # its identity then
    kernel_at: int = 0   # the cell that gave the name another value in the kernel since; 0: none did
    worker_at: int = 0   # the cell that assigned it on the worker since; 0: none did
    turn: int = 0        # of the request that brought it to this
    is_gone: bool = False  # a cell deleted it on the worker; it stays so until the kernel gives the name a value
    by_name: Any = None  # a function that was sent as its name: after a reload its module has another one


@dataclass
class Parcel:
    """What travels with one cell."""

    values: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    unchecked: list[str] = field(default_factory=list)  # compared by samples only, and equal
    files: set[str] = field(default_factory=set)        # of functions: for their lines in tracebacks
    notes: list[str] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)        # everything of ours that the cell reads, sent or there already


    def of_the_rest(self) -> Parcel:
        """For a cell that continues elsewhere: what travelled with it is saved with what it made of that."""
        return Parcel(files=self.files, names=self.names)


class Ledger:
    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}

    def parcel(
        self, names: Iterable[str], namespace: dict[str, Any], now: int, turn: int, forced: bool = False,
    ) -> Parcel:
        """Everything in `names`, and all that their functions look up, that the worker lacks or has in an older state.
        It travels with the request of this turn.

        `forced` sends what the worker has, too, except imports.
        """
        parcel = Parcel()
        ahead, seen = sorted(names), parcel.names
        while ahead:
            name = ahead.pop()
            if name in seen or name not in namespace:
                continue
            seen.add(name)
            value = namespace[name]
            measured = self._measured(name, value)
            ahead.extend(measured.names)
            parcel.files |= measured.files
            if (forced and not is_import(value)) or self._is_due(name, value, measured, now, parcel):
                parcel.values[name] = value
                parcel.sizes[name] = measured.nbytes
                by_name = value if isinstance(value, FunctionType) and is_import(value) else None
                parcel.entries[name] = Entry(measured.digest, id(value), turn=turn, by_name=by_name)
        return parcel

    def _is_due(self, name: str, value: Any, measured: bundle.Measured, now: int, parcel: Parcel) -> bool:
        entry = self.entries.get(name)
        if entry is None:
            return True
        if entry.is_gone:
            return entry.kernel_at > entry.worker_at
        if entry.digest == measured.digest and not entry.kernel_at > entry.worker_at > 0:
            if not measured.checked:
                parcel.unchecked.append(name)
            return False
        if not entry.worker_at:
            return value is not entry.by_name  # if it is, the worker has that function too, from before the reload
        kernel_at = entry.kernel_at or now
        mine = kernel_at > entry.worker_at
        side = "the notebook's" if mine else "the worker's"
        if not is_import(value):
            parcel.notes.append(f"{name} changed in the notebook (cell {kernel_at}) "
                                f"and on the worker (cell {entry.worker_at}): {side} value, the later one, is used")
        if not mine:
            self.entries[name] = Entry(measured.digest, id(value), 0, entry.worker_at, entry.turn)
        return mine

    @staticmethod
    def _measured(name: str, value: Any) -> bundle.Measured:
        try:
            return bundle.measure(value)
        except Exception as error:
            found = serialize.path_of_unpicklable(value, name)
            where, part, why = found or (name, value, error)
            if _OF_WIDGET in where:
                raise errors.NotPicklable(
                    f"the cell reads {name}, and {where.partition(_OF_WIDGET)[0]} is a widget, which answers in the "
                    "notebook, where it was made", "Make it in a %%pounce cell, or send what it holds, such as its "
                    "value.", {"path": where}) from None
            raise errors.NotPicklable(
                f"the cell reads {name}, which cannot be sent: {where} is a {type(part).__name__}: {why}",
                f"Make {name} inside a %%pounce cell, or say with --in which variables to send.",
                {"path": where},
            ) from error

    def is_later(self, name: str) -> bool:
        """Whether the worker's value is the later one."""
        entry = self.entries.get(name)
        return entry is not None and not entry.is_gone and entry.worker_at > entry.kernel_at

    # ---- what has happened ----

    def arrived(self, parcel: Parcel) -> None:
        self.entries.update(parcel.entries)

    def withdraw(self, parcel: Parcel) -> None:
        """The parcel was recorded before it had arrived, and it did not arrive. Later records stay."""
        for name, entry in parcel.entries.items():
            if self.entries.get(name) is entry:
                del self.entries[name]

    def assigned(self, names: Iterable[str], namespace: dict[str, Any], now: int, turn: int) -> None:
        """The worker's cell gave values to these names."""
        for name in names:
            self.entries[name] = Entry(_digest(namespace, name), id(namespace.get(name)), 0, now, turn)

    def removed(self, names: Iterable[str], namespace: dict[str, Any], now: int, turn: int) -> None:
        """The worker's cell deleted these names. One that the kernel has is not sent again unless it is assigned."""
        for name in names:
            if name in namespace:
                ident = id(namespace[name])
                self.entries[name] = Entry(b"", ident, worker_at=now, turn=turn, is_gone=True)
            else:
                self.entries.pop(name, None)

    def deleted(self, names: Iterable[str]) -> None:
        for name in names:
            self.entries.pop(name, None)

    def brought(self, names: Iterable[str], namespace: dict[str, Any]) -> None:
        """Both sides have the worker's value now."""
        for name in names:
            turn = self.entries[name].turn if name in self.entries else 0
            self.entries[name] = Entry(_digest(namespace, name), id(namespace[name]), turn=turn)

    def cell_ended(self, namespace: dict[str, Any], now: int, assigned: Collection[str] = ()) -> None:
        """Notes which names a cell of the kernel's own has given a value: another one, or those `assigned` anew."""
        for name, entry in self.entries.items():
            if not entry.kernel_at and (name in assigned or id(namespace.get(name)) != entry.ident):
                entry.kernel_at = now

    def back_to(self, turn: int) -> list[str]:
        """A new worker has the namespace as it was after this turn. Returns what workers have changed since."""
        gone = [name for name, entry in self.entries.items() if entry.turn > turn]
        lost = [name for name in gone if self.entries[name].worker_at and not self.entries[name].is_gone]
        self.deleted(gone)
        return lost


def _digest(namespace: dict[str, Any], name: str) -> bytes:
    if name not in namespace:
        return b""
    try:
        return bundle.measure(namespace[name]).digest
    except Exception:  # it cannot be sent: sending it raises the error
        return b"?"
