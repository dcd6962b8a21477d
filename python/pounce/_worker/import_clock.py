"""How long the main thread has waited for modules: all imports since the process began, each counted once."""

from __future__ import annotations

import sys
import threading
import time
import types
from typing import Any

_IMPORT = "_find_and_load"  # Python calls it for each module that is not loaded yet, from statements and calls alike


class ImportClock:
    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._thread = threading.get_ident()

    def start(self) -> None:
        """A Python that has no such function measures nothing."""
        bootstrap = sys.modules["_frozen_importlib"]
        find = getattr(bootstrap, _IMPORT, None)
        if isinstance(find, types.FunctionType):
            setattr(bootstrap, _IMPORT, self._timed(find))

    def _timed(self, find: Any) -> Any:
        get_ident, monotonic = threading.get_ident, time.monotonic

        def timed(name: str, import_: Any) -> Any:
            if get_ident() != self._thread or self._depth:
                return find(name, import_)
            self._depth, start = 1, monotonic()
            try:
                return find(name, import_)
            finally:
                self._depth, self.seconds = 0, self.seconds + monotonic() - start

        # Under the file name of importlib, whose frames tracebacks leave out.
        timed.__code__ = timed.__code__.replace(co_filename=find.__code__.co_filename)
        return timed
