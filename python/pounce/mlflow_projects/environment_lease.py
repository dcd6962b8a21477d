"""Has an environment made on a lease without a GPU, or on the machine that submits, and shows how far it is."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from typing import Any

from .. import _core, errors
from .._batch import slurm
from .._batch.placement import placed
from .._engine import allocation
from .._engine.options import Options
from .._engine.status_line import live_output
from ..calls import session_of, view_with
from ..client import Client
from ..errors import BadRequest, PounceError
from ..future import Future, engine_of
from . import environment_cache
from .environment_build import Recipe, build, build_on_node, variables_of_builders

_ENDS_S = 15.0  # a program that is stopped, and the job of the lease
_WAY_OUT = 'make the environment on this machine with the key "build_on": "login", or name one with the key "env"'


def made(recipe: Recipe, options: Options, build_on: str) -> str:
    """The prefix of the environment. Blocks while it is made. `options`: the run's. `build_on`: node or login.

    Raises
    ------
    BadRequest
        It cannot be made; the cache is not seen by the node.
    Unsatisfiable, ...
        No lease without a GPU is to be had.
    """
    if environment_cache.is_there(recipe):
        return recipe.prefix
    on_lease = build_on == "node" and not _is_on_node_without_gpu()
    if on_lease and (kind := environment_cache.other_disk()):
        _say(f"{environment_cache.cache()} lies on a disk of this machine ({kind}), which nodes do not see unless they "
             "mount it: name another folder with XDG_CACHE_HOME")

    def begin(recipe: Recipe, lock: int, token: str) -> str:
        progress = Progress()
        try:
            if on_lease:
                return _build_on_lease(recipe, options, token, progress)
            build(recipe, progress.line, lock)
            return "this machine"
        finally:
            progress.end()

    return environment_cache.made(recipe, begin)


class Progress:
    """The last line that the build has printed, in one line that is replaced. Any thread."""

    def __init__(self) -> None:
        self._out, self._since = live_output(), time.monotonic()

    def line(self, text: str) -> None:
        shown = f"pounce: making the project's environment: {text.strip()}"
        seconds = f" · {time.monotonic() - self._since:.0f} s"
        width = shutil.get_terminal_size().columns - len(seconds) - 1
        self._out.show(_core.printable(shown[:width] + seconds))

    def end(self) -> None:
        self._out.clear()

    def printed(self, is_error: bool, data: bytes) -> None:
        lines = [line for line in data.decode(errors="replace").splitlines() if line.strip()]
        if lines:
            self.line(lines[-1])

    def message(self, message: dict[str, Any], buffers: list[Any]) -> None:
        """A build displays nothing."""


def _is_on_node_without_gpu() -> bool:
    """Inside a job that holds no GPU, such as that of a project's first step, the environment is made right here."""
    if not allocation.is_inside():
        return False
    try:
        return not allocation.found().gpus
    except BadRequest:
        return False


def _build_on_lease(recipe: Recipe, options: Options, token: str, progress: Progress) -> str:
    """Returns who made it."""
    jobs: list[int] = []
    try:
        wanted = without_gpu(options)
        with Client(here=False, imports="no") as client:
            view, session = view_with(client, wanted, ""), session_of(client)
            with session.events_held_back():
                future = view.submit(build_on_node, recipe, token, variables_of_builders(os.environ))
                session.show_at(engine_of(future)[1], progress)
            try:
                future.result()
            except KeyboardInterrupt:  # which has cancelled it
                _wait_for_end(future)
                raise
            finally:
                jobs = [lease.job for lease in client.leases() if lease.job and session.launcher == "slurm"]
    except (BadRequest, errors.Cancelled):
        raise
    except errors.WalltimeReached as error:
        raise errors.WalltimeReached("the project's environment was not made in the time of its job",
                                     f"{_WAY_OUT.capitalize()}.", error.context) from None
    except PounceError as error:
        remedy = f"{error.remedy} Or {_WAY_OUT}."
        raise errors.make(error.code, f"no lease made the project's environment: {error.text}", remedy,
                          error.context) from None
    finally:
        _wait_for_jobs(jobs)
    return f"job {jobs[0]}" if jobs else "a worker"


def without_gpu(options: Options) -> Options:
    """What a site gives to work without a GPU, else the class of the run."""
    wanted = options.resources
    plain = Options().with_resources(account=wanted.account)
    if not wanted.class_:
        return plain
    of_run = plain.with_resources(class_=wanted.class_)
    try:
        return plain if placed(plain).class_ else of_run
    except errors.Unsatisfiable:
        return of_run


def _wait_for_end(future: Future) -> None:
    """The programs are told to end, and leave nothing."""
    with contextlib.suppress(PounceError):
        future.exception(_ENDS_S)


def _wait_for_jobs(jobs: list[int]) -> None:
    """A class may let one job at a time be submitted, and the next one is the project's."""
    deadline = time.monotonic() + _ENDS_S
    for job in jobs:
        with contextlib.suppress(PounceError):  # without an answer there is nothing to wait for
            while (word := slurm.state(job)[0]) and not slurm.has_ended(word) and time.monotonic() < deadline:
                time.sleep(0.2)


def _say(text: str) -> None:
    print(f"pounce: {text}", file=sys.stderr, flush=True)
