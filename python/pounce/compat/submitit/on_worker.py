"""A submitit job on its worker: its output also goes to files, and a Checkpointable keeps its state in time."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TextIO

import pounce

from . import environment
from .helpers import DelayedSubmission
from .paths import Paths

_LOOK_S = 1.0  # between two checks of the remaining time


class Work(NamedTuple):
    """The description of a job."""

    job_id: str
    folder: str
    one_file: bool    # for both streams
    ahead_s: float    # a Checkpointable keeps its state so long before the end of its time
    submission: DelayedSubmission


def run(work: Work) -> Any:
    """Calls the job's function: returns or raises what it does."""
    environment.running = (work.job_id, work.folder)
    submission = pounce.restored(work.submission)  # or the one that a Checkpointable kept in an earlier run
    try:
        with _output_in_files(work), _checkpoint_in_time(submission, work.ahead_s):
            return submission.function(*submission.args, **submission.kwargs)
    finally:
        environment.running = None


class _Both:
    """A stream that also writes to a file."""

    def __init__(self, stream: TextIO, file: TextIO):
        self._stream, self._file = stream, file

    def write(self, text: str) -> int:
        self._file.write(text)
        return self._stream.write(text)

    def flush(self) -> None:
        self._file.flush()
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def _output_in_files(work: Work) -> Iterator[None]:
    """If the folder cannot be written on this node, output goes only to the notebook and pounce's log."""
    paths = Paths(work.folder, work.job_id)
    with contextlib.ExitStack() as files:
        try:
            os.makedirs(work.folder, exist_ok=True)
            out = files.enter_context(open(paths.stdout, "a", buffering=1))
            err = out if work.one_file else files.enter_context(open(paths.stderr, "a", buffering=1))
        except OSError as problem:
            print(f"pounce: no log files in {work.folder}: {problem.strerror}", file=sys.stderr, flush=True)
            yield
            return
        with contextlib.redirect_stdout(_Both(sys.stdout, out)), contextlib.redirect_stderr(_Both(sys.stderr, err)):
            yield


@contextlib.contextmanager
def _checkpoint_in_time(submission: DelayedSubmission, ahead_s: float) -> Iterator[None]:
    """Calls the function's ``checkpoint`` in this thread when its time is nearly over. The next run gets the result."""
    make: Callable[..., Any] | None = getattr(submission.function, "checkpoint", None)
    if make is None:
        yield
        return

    def keep(*_: object) -> None:
        print("pounce: the time is nearly over: the job's checkpoint is kept", file=sys.stderr, flush=True)
        pounce.checkpoint(make(*submission.args, **submission.kwargs))

    before = signal.signal(signal.SIGUSR2, keep)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR2})
    over, lock = threading.Event(), threading.Lock()
    whole = pounce.time_left()
    ahead_s = ahead_s if whole is None else min(ahead_s, whole / 2)  # a short job keeps half of its time
    arguments = ahead_s, threading.get_ident(), over, lock
    threading.Thread(target=_watch, args=arguments, name="pounce-checkpoint", daemon=True).start()
    try:
        yield
    finally:
        with lock:  # from here on no signal is sent, and a pending one is dropped: by default it would end the worker
            over.set()
            signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        signal.signal(signal.SIGUSR2, before)


def _watch(ahead_s: float, thread: int, over: threading.Event, lock: threading.Lock) -> None:
    while not over.wait(_LOOK_S):
        remaining = pounce.time_left()
        if remaining is not None and remaining <= ahead_s:
            with lock:
                if not over.is_set():
                    signal.pthread_kill(thread, signal.SIGUSR2)
            return
