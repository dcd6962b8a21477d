"""Finding pounced, and starting it where there is none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

from .. import errors

_AGAIN_S = (0.0, 0.2, 1.0, 3.0, 10.0)  # the pause before each attempt to start pounced again
_TAKES_LONG_S = 90  # pounce-slurm may wait 60 s for a slurmctld that does not answer


def find_program(name: str) -> str:
    """The path of a program of this installation: beside the interpreter, else among its scripts, else on PATH."""
    scripts = sysconfig.get_path("scripts") or ""
    for folder in filter(None, (os.environ.get("POUNCE_PROGRAMS", ""), os.path.dirname(sys.executable), scripts)):
        path = Path(folder) / name
        if os.access(path, os.X_OK):
            return str(path)
    on_path = shutil.which(name)
    if on_path is None:
        raise errors.DaemonUnavailable(f"the program {name} is neither beside {sys.executable} nor on PATH",
                                       "Install pounce-hpc into this environment.")
    return on_path


def ensure(launcher: str | None, config: str | None) -> str:
    """Starts pounced unless it runs, and returns its endpoint as one line of JSON. Blocks. Raises the error that
    pounced gave, by its code; ``DaemonUnavailable`` if it gave none.
    """
    command = [find_program("pounced"), "ensure"]
    if config is not None:
        command += ["--config", os.fspath(config)]
    if launcher is not None:
        command += ["--launcher", launcher]
    try:
        answer = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=_TAKES_LONG_S)
    except subprocess.TimeoutExpired:
        raise errors.DaemonUnavailable(f"pounced did not start within {_TAKES_LONG_S} s") from None
    if answer.returncode == 0:
        return answer.stdout.strip()
    raise _error_of(answer)


def start_again(start: Callable[[], None], is_over: Callable[[], bool]) -> None:
    """For a pounced that has gone and is needed: tries several times, until `is_over()`. Blocks, and raises the error
    of the last attempt."""
    problem: errors.PounceError | None = None
    for pause in _AGAIN_S:
        time.sleep(pause)
        if is_over():
            return
        try:
            return start()
        except (errors.DaemonUnavailable, errors.SlurmUnreachable) as error:  # waiting repairs no other
            problem = error
    assert problem is not None
    raise problem


def _error_of(answer: subprocess.CompletedProcess[str]) -> errors.PounceError:
    try:
        error = json.loads(answer.stdout)["error"]
        return errors.make(error["code"], error["text"], error.get("remedy", ""), error.get("context", {}))
    except (ValueError, KeyError, TypeError):
        words = (answer.stderr or answer.stdout).strip() or "without a word"
        return errors.DaemonUnavailable(f"pounced ended with code {answer.returncode}: {words}")
