"""``python idle_interpreter.py -m pounce._worker``: the real interpreter, whose idle() and last act are a test's.

A task sets them: ``builtins.idle`` is called where the interpreter has nothing to run, ``builtins.leave`` when serve() has returned.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

from pounce._worker import interpreter

_ours = sys.modules["__main__"]  # kept alive, since user code gets another


class _WithIdle:
    def __init__(self, core: Any):
        self._core = core

    def __getattr__(self, name: str) -> Any:
        return getattr(self._core, name)

    def serve(self, execute: Any, describe: Any, _idle: Any = None) -> None:
        self._core.serve(execute, describe, lambda: _hook("idle"))
        _hook("leave")


def _hook(name: str) -> Any:
    return getattr(builtins, name, lambda: None)()


def _start(start: Any = interpreter._start) -> Any:
    return _WithIdle(start())


interpreter._start = _start
interpreter.main()
