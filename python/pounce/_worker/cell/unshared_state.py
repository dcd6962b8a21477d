"""Saved state of notebooks whose folder this worker does not see: it is saved here, and the kernel copies it across.

Until the kernel says that it has all of it, the worker reports `saving`: a worker with the only copy is not idle.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Collection

from ..._common.cell_protocol import NamespaceRequest, SavedOffer
from ..state import crossing
from ..state.folder import Folder
from ..state.key import key_of
from ..state.manifest import Manifest
from ..state.needs import closure
from . import held
from .own_folders import OwnFolders

PATIENCE_S = 60.0  # how long a kernel may be silent before the worker may be taken away like others


class UnsharedState:
    """Thread: the one that runs the cells."""

    def __init__(self) -> None:
        self._folders = OwnFolders()
        self._paths: dict[str, str] = {}  # by the state's id
        self._word = ""  # to report when the kernel has all of it; empty: it has
        self._brought = ""  # the version of the manifest that the kernel has
        self._heard = 0.0

    def folder(self, request: NamespaceRequest) -> str:
        """Where this worker saves a request's state; empty: it sees the notebook's own folder, or cannot make one."""
        path = self._paths.get(request.id, "")
        if not path and request.folder and not os.path.isdir(request.folder):
            with contextlib.suppress(OSError):
                path = self._paths[request.id] = self._folders.folder(request.id)
        return path

    def knows(self, state: str) -> bool:
        return state in self._paths

    def has(self, path: str) -> bool:
        return self._folders.holds(path)

    def lacks(self, request: NamespaceRequest, pending: Collection[str] | None,
              reads: Callable[[], Collection[str] | None]) -> list[str]:
        """Blobs that the cell needs and that the kernel has, or crossing.MANIFEST. The request has the folder here.
        `pending`: names that are not loaded yet; None: the namespace is not on this worker. `reads()`: the names that
        the cell reads; None: any name."""
        if not pending and not (pending is None and request.after):
            return []
        with contextlib.closing(Folder(request.folder)) as folder:
            state = crossing.state_in(folder, _key(folder))
            if pending is None and state.turn < request.after:  # otherwise the state here is newer than the kernel's
                if request.supply is None:
                    return [crossing.MANIFEST]
                _take_in(folder, request.supply)
                state = crossing.state_in(folder, _key(folder))
            absent = set(crossing.lacking(folder, state.digests()))
            return sorted(absent & _needed(state, pending, reads())) if absent else []

    # ---- for the kernel ----

    def offer(self, state: str) -> SavedOffer:
        self._heard = time.monotonic()
        with contextlib.closing(Folder(self._paths[state])) as folder:
            data = folder.manifest()
            if data is None:
                return SavedOffer()
            return SavedOffer(crossing.unsigned(crossing.state_in(folder, _key(folder))), _version(data))

    def owes(self, state: str) -> bool:
        """Whether the kernel lacks some of what is saved here."""
        if state not in self._paths:
            return False
        version = self.offer(state).version
        return bool(version) and version != self._brought

    def parts(self, state: str, blobs: list[str], start: int) -> list[crossing.Part]:
        self._heard = time.monotonic()
        with contextlib.closing(Folder(self._paths[state])) as folder:
            return crossing.parts_of(folder, blobs, start)

    def receive(self, state: str, parts: list[crossing.Part]) -> None:
        """Takes whole blobs. The loader compares them with their digests, as on any disk."""
        with contextlib.closing(Folder(self._paths[state])) as folder:
            for part in parts:
                folder.write(part.blob, [memoryview(part.data)])

    def brought(self, state: str, version: str) -> None:
        """The kernel has that version, so its blobs are removed here."""
        self._brought = version
        with contextlib.closing(Folder(self._paths[state])) as folder:
            data = folder.manifest()
            if data is None or _version(data) != version:
                return
            folder.drop(crossing.state_in(folder, _key(folder)).digests())
        if self._word:
            held.tell_state(self._word)
            self._word = ""

    # ---- for the lease ----

    def tell_saved(self, folder: Folder, word: str) -> None:
        """The worker has saved its state in its folder. Reports `word`, or `saving` until the kernel has the state."""
        data = folder.manifest() if self.has(folder.path) else None
        if data is None or _version(data) == self._brought:
            self._word = ""
            held.tell_state(word)
        else:
            self._word, self._heard = word, time.monotonic()
            held.tell_state("saving")

    def idle(self) -> float | None:
        """Seconds until it is to be called again."""
        if not self._word:
            return None
        remaining = self._heard + PATIENCE_S - time.monotonic()
        if remaining <= 0:
            held.tell_state("unsaved")
        return remaining if remaining > 0 else None

    def end(self) -> None:
        """This process ends."""
        self._folders.remove()


def _take_in(folder: Folder, supply: bytes) -> None:
    """Replaces the state here by the newer one. A namespace with the old one saves nothing more."""
    state = crossing.arrived(supply)
    folder.take()
    crossing.replace(folder, state, _key(folder))
    folder.leave()


def _needed(state: Manifest, pending: Collection[str] | None, reads: Collection[str] | None) -> set[str]:
    units = {name: unit for unit in state.units for name in unit.names}
    names = closure(units if reads is None else reads, units, state.modules) & units.keys()
    stored = [one for name in names if pending is None or name in pending for one in units[name].stored()]
    if pending is None and state.process is not None:
        stored.append(state.process)
    return {piece for one in stored for piece in one.pieces}


def _key(folder: Folder) -> bytes:
    return key_of(os.path.dirname(folder.path))


def _version(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
