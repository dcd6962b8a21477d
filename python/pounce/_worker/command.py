"""A program of the user's on a worker, for ``pouncectl run``: its output is ours and comes live, and signals reach it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess

from . import interpreter

_HEARS_S = 0.05   # so late a signal may come, and the end be noticed
_ENDS_S = 3.0     # of a program that was told to end


def run(words: list[str]) -> int:
    """Its exit code; negative: the signal that ended it. What is told to the task, {"signal": n}, goes to its whole group."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True) as child:
        try:
            while child.poll() is None:
                told = interpreter.core.answer(_HEARS_S)
                if told is not None and child.poll() is None:
                    _tell(child, json.loads(told)["signal"])
        except BaseException:  # cancelled
            _tell(child, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_ENDS_S)
            raise
        finally:
            _tell(child, signal.SIGKILL)  # what it has started and left behind, too
    return child.returncode


def _tell(child: subprocess.Popen[bytes], number: int) -> None:
    """Its whole group, of which it may be gone itself."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)
