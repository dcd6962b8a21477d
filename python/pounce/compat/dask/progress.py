"""``progress``: a bar over futures."""

from __future__ import annotations

import concurrent.futures
import html
import sys
import threading
from typing import Any

from ...errors import BadRequest
from ..call import Call
from .future import calls_of

_WIDTH = 40


def progress(*futures: Any, notebook: bool | None = None, multi: bool = True, complete: bool = True,
             group_by: str = "prefix", **kwargs: Any) -> None:
    """Shows how many of the calls have ended.

    In a notebook it returns at once and the bar goes on. Elsewhere it is one line on standard error, and the function
    blocks until all have ended. There is one bar for all of them: `multi` and `group_by` have no effect.
    """
    if kwargs:
        raise BadRequest(f"progress has no keyword {next(iter(kwargs))}=", "It takes futures, and notebook=.")
    calls = calls_of(futures)
    shell = _shell()
    in_notebook = (shell is not None and getattr(shell, "kernel", None) is not None) if notebook is None else notebook
    if in_notebook:
        _NotebookBar(calls)
    else:
        _terminal_bar(calls)


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def _terminal_bar(calls: list[Call]) -> None:
    waiting: set[concurrent.futures.Future[Any]] = set(calls)
    while True:
        _write(f"\r{_text(len(calls) - len(waiting), len(calls))}")
        if not waiting:
            _write("\n")
            return
        waiting = concurrent.futures.wait(waiting, None, concurrent.futures.FIRST_COMPLETED).not_done


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _text(done: int, all_: int) -> str:
    full = _WIDTH * done // all_ if all_ else _WIDTH
    return f"[{'#' * full}{' ' * (_WIDTH - full)}] {done} of {all_}"


class _NotebookBar:
    """Drawn again when a call ends, on the thread that runs the callback; at most a hundred times."""

    def __init__(self, calls: list[Call]):
        from IPython.display import display

        self._all, self._done, self._drawn = len(calls), 0, 0
        self._lock = threading.Lock()
        self._handle: Any = display(self._shown(), raw=True, display_id=True)
        for call in calls:
            call.add_done_callback(self._ended)

    def _ended(self, call: Any) -> None:
        with self._lock:
            self._done += 1
            if self._done < self._all and (self._done - self._drawn) * 100 < self._all:
                return
            self._drawn = self._done
            self._handle.update(self._shown(), raw=True)

    def _shown(self) -> dict[str, str]:
        label = html.escape(f"{self._done} of {self._all}")
        bar = f"<progress value='{self._done}' max='{max(1, self._all)}'></progress> {label}"
        return {"text/plain": _text(self._done, self._all), "text/html": bar}
