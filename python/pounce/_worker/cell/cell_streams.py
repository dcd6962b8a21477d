"""Random generators on a notebook's worker: a cell continues where the last one stopped, whatever ran in between."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection
from typing import Any

from ..._common.cell_protocol import CellRandom
from ..._common.generators import GENERATORS, TorchsGenerator
from ..._common.random_streams import Streams, begin, when_here
from ..kernel_calls import CELLS, is_of
from .state_notes import tell


class CellStreams:
    """Thread: the one that runs tasks.

    Attributes
    ----------
    are_here : bool
        The generators are as the last cell left them.
    """

    def __init__(self) -> None:
        self.are_here = False
        self._kept: dict[str, bytes] = {}  # states, as the last cell left them
        self._devices: list[Any] = []      # states of the GPUs' generators, while other tasks draw from these
        self._sent: dict[str, bytes] = {}  # states that the notebook knows

    # ---- other tasks ----

    def before_call(self, function: Callable[..., Any], streams: Streams) -> None:
        """Keeps a task that is no cell from drawing the cells' next numbers; without streams it gets random seeds."""
        if streams or not is_of(function, CELLS):
            self._leave(streams)

    def _leave(self, streams: Streams) -> None:
        if self.are_here:
            self._devices = _torch().devices() if _torch().is_here else []
            streams = {name: os.urandom(16) for name in self._kept} | streams
            self.are_here = False
        begin(streams)

    # ---- cells ----

    def forget(self) -> None:
        """The states were another notebook's, or are saved by now."""
        self.are_here, self._kept, self._devices = False, {}, []

    def restored(self, names: Collection[str]) -> None:
        """These generators were restored."""
        self._kept |= {name: GENERATORS[name].state() for name in names}

    def back(self) -> None:
        """Puts the generators back to where the last cell left them."""
        if self._kept and not self.are_here:
            for name, state in self._kept.items():
                GENERATORS[name].restore(state)
            if self._devices:
                _torch().restore_devices(self._devices)
            self.are_here = True

    def begin(self, request: CellRandom) -> None:
        if request.streams is not None:
            return self._leave(request.streams)
        self.back()
        self._sent = request.states
        for name in GENERATORS:
            state, here = self._sent.get(name), self._kept.get(name)
            if state is None or state == here or (here is not None and name in request.unused):
                when_here(name, None)
            else:
                when_here(name, functools.partial(_take, name, state))

    def end(self) -> dict[str, bytes]:
        """The states that the notebook does not know."""
        self._kept |= {name: generator.state() for name, generator in GENERATORS.items() if generator.is_here}
        self.are_here = True
        return {name: state for name, state in self._kept.items() if state != self._sent.get(name)}


def _take(name: str, state: bytes) -> None:
    if why := GENERATORS[name].take(state):
        tell(f"the random numbers of {name} are others than the notebook's here, whose version of it is another: {why}")


def _torch() -> TorchsGenerator:
    torch = GENERATORS["torch"]
    assert isinstance(torch, TorchsGenerator)
    return torch


streams = CellStreams()  # of this process
