"""The names of submitit.helpers: calls with their arguments, functions that keep their state, commands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .. import not_offered

if TYPE_CHECKING:
    from .job import Job

_INSTEAD = {
    "TorchDistributedEnvironment": "A job has one task on one node, with as many GPUs as gpus_per_node says.",
    "RsyncSnapshot": "Nothing is copied: the notebook's own code travels with the call, an edited module too.",
    "monitor_jobs": "Print the jobs, or look at `pouncectl top`.",
    "FunctionSequence": "Submit a function that calls them one after the other.",
    "clean_env": "Workers have the notebook's environment, without Slurm's variables of another job.",
    "run_cmd": "CommandFunction is.",
}


class DelayedSubmission:
    """A function and its arguments, to be called later. ``checkpoint`` returns one."""

    def __init__(self, function: Callable[..., Any], *args: Any, **kwargs: Any):
        self.function, self.args, self.kwargs = function, args, kwargs

    def result(self) -> Any:
        """Calls it here."""
        return self.function(*self.args, **self.kwargs)


class Checkpointable:
    """A function with a state: derive from it, and define ``__call__``.

    When the time of its job is nearly over, ``checkpoint`` is called in the thread that runs the function, with the
    arguments of the call. Its return value is kept (``pounce.checkpoint``), and the job's next run calls that instead.
    The function is not interrupted.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __call__")

    def checkpoint(self, *args: Any, **kwargs: Any) -> DelayedSubmission:
        """By default this object in its current state, with the same arguments."""
        return DelayedSubmission(self, *args, **kwargs)


class CommandFunction:
    """A command line as a function: prints and returns the command's standard output.

    Raises
    ------
    subprocess.CalledProcessError
        It ended with another code than 0; ``output`` is what it had printed.
    """

    def __init__(self, command: Sequence[str], verbose: bool = True, cwd: str | os.PathLike[str] | None = None,
                 env: dict[str, str] | None = None):
        if isinstance(command, str):
            raise TypeError("command is a list of words, such as ['python', 'train.py']")
        self.command, self.verbose, self.cwd, self.env = list(command), verbose, cwd, env

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        """`args` are appended as words, `kwargs` as ``--name=value``."""
        words = [*self.command, *map(str, args), *(f"--{name}={value}" for name, value in kwargs.items())]
        environment = None if self.env is None else {**os.environ, **self.env}
        lines = []
        with subprocess.Popen(words, cwd=self.cwd, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line)
                if self.verbose:
                    sys.stdout.write(line)
                    sys.stdout.flush()
        output = "".join(lines)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, words, output)
        return output.strip()


def as_completed(jobs: Iterable[Job], timeout: float | None = None, poll_frequency: float = 10) -> Iterator[Job]:
    """The jobs in the order in which they end. Blocks. `poll_frequency` has no effect: pounce does not poll.

    Raises
    ------
    TimeoutError
        They have not all ended within `timeout` seconds.
    """
    from .job import completed

    return completed(jobs, timeout)


def __getattr__(name: str) -> Any:
    not_offered.name_of_module(__name__, name, _INSTEAD)
