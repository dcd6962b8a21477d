"""Brings what a worker has saved on its node into the notebook's own folder, which is one whole state at all times."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .._common.cell_protocol import PartingOffer, SavedOffer
from .._worker.cell import transfer_calls
from .._worker.state import crossing
from .._worker.state.folder import Folder
from .._worker.state.key import key_of
from .._worker.state.manifest import Manifest
from .._worker.state.problems import Damaged


class Intake:
    """The intake of one worker, until close(). It takes the notebook's folder as a worker that sees it would; `ask` has
    the worker run a function of transfer_calls, and returns its answer. Thread: one at a time."""

    def __init__(self, path: str, ask: Callable[..., Any]):
        self._id, self._key, self._ask = os.path.basename(path), key_of(os.path.dirname(path)), ask
        self._folder = Folder(path)
        self._folder.take()
        self._assembly = crossing.Assembly(self._folder)
        self._brought = ""  # the version that is here
        self._parting: Manifest | None = None
        self.nbytes = 0  # received so far

    def bring(self, last: bool = False, pauses: Callable[[], bool] = lambda: False) -> bool:
        """Blocks. Returns whether all of it is here now; what is not saved yet has to be fetched again.

        Parameters
        ----------
        last : bool
            The worker is about to go, and saves everything first.
        pauses : callable
            True: bring() returns after the part that is on its way; the next bring() continues there.

        Raises
        ------
        StateError, OSError
            The earlier state here is whole.
        """
        before = ""
        while not pauses():
            offer: SavedOffer = self._ask(transfer_calls.offered, self._id, last)
            if offer.version == self._brought or self._has_come(offer, pauses):
                return not offer.behind
            if offer.version == before:
                raise Damaged("The worker does not have a file of what it has saved. Run the cells again.")
            before = "" if pauses() else offer.version
        return False

    def _has_come(self, offer: SavedOffer, pauses: Callable[[], bool]) -> bool:
        state = crossing.arrived(offer.manifest)
        if not self._fetch(state, pauses):
            return False
        crossing.commit(self._folder, state, self._key)
        self._brought = offer.version
        self._ask(transfer_calls.brought, self._id, self._brought, "")
        return True

    def take_parting(self, offer: PartingOffer, buffers: list[Any]) -> tuple[list[str], int]:
        """Takes what a departing worker offers: first the list of its files, then the requested parts. Returns which
        blobs it is to send next, and from which byte of the first on; none: it may go.

        Raises
        ------
        StateError, OSError
            The earlier state here is whole.
        """
        if offer.parts is None:
            self._parting = crossing.arrived(bytes(buffers[0]))
        elif not offer.parts:
            raise Damaged("The worker does not have a file of what it has saved. Run the cells again.")
        else:
            for (blob, start, size), data in zip(offer.parts, buffers, strict=True):
                self._add(crossing.Part(blob, start, size, data))
        assert self._parting is not None
        blobs = crossing.lacking(self._folder, self._parting.digests())[: crossing.MOST_BLOBS]
        if not blobs:
            crossing.commit(self._folder, self._parting, self._key)
        return blobs, self._assembly.reached(blobs[0]) if blobs else 0

    def cannot(self, why: str) -> None:
        """Tells the worker, which tells the user."""
        self._ask(transfer_calls.brought, self._id, "", why)

    def close(self) -> None:
        self._folder.leave()
        self._folder.close()

    def _fetch(self, state: Manifest, pauses: Callable[[], bool]) -> bool:
        """Returns False if not everything could be fetched."""
        blobs = crossing.lacking(self._folder, state.digests())
        while blobs and not pauses():
            some = blobs[: crossing.MOST_BLOBS]
            parts = crossing.as_come(self._ask(transfer_calls.parts, self._id, some, self._assembly.reached(some[0])))
            if not parts:
                return False  # a newer save has removed it
            for part in parts:
                if self._add(part):
                    blobs.remove(part.blob)
        return not blobs

    def _add(self, part: crossing.Part) -> bool:
        self.nbytes += len(part.data)
        return self._assembly.add(part)
