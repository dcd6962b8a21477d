"""Waiting for a cell, with the stop button at hand."""

from __future__ import annotations

import time
from typing import Any

from .. import errors
from ..future import engine_of
from .traceback import in_words

_LOOKS, _LOOK_S = 20, 0.05


class LeftBehind(KeyboardInterrupt):
    """The user waits no longer for a cell that does not stop."""


class KernelLeaves:
    """Whether the kernel ends, asked when it was interrupted: Jupyter interrupts a kernel before it restarts or ends
    it, with the signal of the stop button, and then says so."""

    def __init__(self, shell: Any):
        self._shell = shell
        self.seen = False

    def __call__(self) -> bool:
        """Blocks for a second at most on a machine that is not busy."""
        looks = _LOOKS if getattr(self._shell, "kernel", None) is not None else 0
        for _ in range(looks):
            if self._shell.exit_now:
                self.seen = True
                break
            time.sleep(_LOOK_S)
        return self.seen


def wait(future: Any, leaves: KernelLeaves | None = None) -> Any:
    """The cell's reply. Stop has the worker stop the cell, and the worker then reports its end. A third stop leaves the
    cell running, and so does the kernel's end where the cell goes on without that: then it `leaves`."""
    pressed, warned = 0, False
    if leaves is not None:
        engine_of(future)[1].spared = leaves
    while True:
        try:  # around everything that a press leads to: the next one may come at any line
            if pressed == 2 and not warned:
                warned = True
                say("the cell has not stopped yet; stop once more leaves it to itself, "
                    "and %pounce restart then ends its Python, with the variables there")
            elif pressed > 2:
                raise LeftBehind
            return future.result()
        except LeftBehind:
            raise
        except KeyboardInterrupt:
            if leaves is not None and leaves.seen:
                raise LeftBehind from None
            if future.done() and not future.cancelled():
                raise
            pressed += 1
        except errors.Cancelled:
            if not pressed:
                raise
            raise KeyboardInterrupt("the cell was taken back before it ran") from None
        except errors.PounceError as error:
            raise in_words(error) from None


def say(text: str) -> None:
    print(f"pounce: {text}", flush=True)
