"""Waiting for a cell, with the stop button at hand."""

from __future__ import annotations

from typing import Any

from .. import errors
from .traceback import in_words


class LeftBehind(KeyboardInterrupt):
    """The user waits no longer for a cell that does not stop."""


def wait(future: Any) -> Any:
    """The cell's reply. Stop has the worker stop the cell, and the worker then reports its end. A third stop leaves the
    cell running."""
    pressed, warned = 0, False
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
