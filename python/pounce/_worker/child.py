"""Runs a program as a child of this process: its output is shown live, and it ends with the task that runs it."""

from __future__ import annotations

import subprocess

_ENDS_S = 3.0  # how long a program may take to end when it was told to


def run(words: list[str], environment: dict[str, str] | None = None) -> int:
    """The program's exit code; negative: the signal that ended it. `environment` None: ours."""
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, env=environment) as child:
        try:
            return child.wait()
        except BaseException:  # cancelled
            child.terminate()
            try:
                child.wait(_ENDS_S)
            except subprocess.TimeoutExpired:
                child.kill()
            raise
