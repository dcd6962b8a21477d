"""``pouncectl run [OPTIONS] -- COMMAND`` runs a program in a lease, and passes on its output, exit code and signals."""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from typing import Any

from ._engine import allocation, resource_words
from ._engine.options import CellOption, Options
from ._worker.command import run as run_there
from ._worker.command import run_and_say_where
from .calls import View, session_of, view_with
from .client import Client
from .command_line import EXIT_USAGE
from .errors import BadRequest, Cancelled, PounceError, Unsatisfiable
from .future import Future, engine_of
from .tracked_command import TrackedCommand

EXIT_OURS, EXIT_NOT_STARTED, EXIT_NOT_FOUND = 125, 126, 127  # as timeout(1) and env(1) have them
_BY_SIGNAL = 128  # plus the signal's number, as a shell has it
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_ENV = CellOption("--env", "PREFIX", "~/envs/torch", "another environment's Python on the worker")
_LEASE = CellOption("--lease", help="a lease also inside a job of Slurm's, whose CPUs and GPUs it would have otherwise")
_MLFLOW = CellOption("--mlflow", help="keeps it as an MLflow run: the command, its reports, its output, its exit code")
_EXPERIMENT = CellOption("--experiment", "NAME", "digits", "of that run; made if there is none")
OPTIONS = {**resource_words.WORDS, **{option.word: option for option in (_ENV, _LEASE, _MLFLOW, _EXPERIMENT)}}


def main(words: list[str]) -> int:
    if words[:1] in (["--help"], ["-h"]):
        print(page())
        return 0
    try:
        said, command = parsed(words)
        options = resource_words.options_of(said)
        if _EXPERIMENT.word in said and _MLFLOW.word not in said:
            raise BadRequest("--experiment is of an MLflow run", "Add --mlflow.")
    except BadRequest as error:
        print(f"pouncectl run: {error}", file=sys.stderr)
        return EXIT_USAGE
    try:
        tracked = TrackedCommand(command, said.get(_EXPERIMENT.word, "")) if _MLFLOW.word in said else None
    except BadRequest as error:
        print(f"pouncectl run: {error}", file=sys.stderr)
        return EXIT_OURS
    code = _leased(said, options, command, tracked)
    if tracked is not None:
        tracked.end(code)
    return code


def _leased(said: dict[str, Any], options: Options, command: list[str], tracked: TrackedCommand | None) -> int:
    try:
        with Client(env=said.get("--env"), here=False if _LEASE.word in said else "auto") as client:
            return _run(view_with(client, options, ""), command, tracked)
    except PounceError as error:
        print(f"pouncectl run: {error}", file=sys.stderr)
        if isinstance(error, Unsatisfiable) and allocation.is_inside() and _LEASE.word not in said:
            print(f"pouncectl run: this job is all that it has here; {_LEASE.word} leases beside it", file=sys.stderr)
        return EXIT_OURS


def parsed(words: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The options, and the command behind them."""
    said: dict[str, Any] = {}
    rest = list(words)
    while rest and rest[0].startswith("-"):
        word, equals, value = rest.pop(0).partition("=")
        if word == "--" and not equals:
            break
        if word not in OPTIONS:
            raise BadRequest(f"there is no option {word}",
                             f"The options are {', '.join(OPTIONS)}; the command stands behind --.")
        resource_words.note(said, OPTIONS[word], value if equals else None, rest)
    if not rest:
        raise BadRequest("no command is given", "For example: pouncectl run --gpu 1 -- nvidia-smi")
    return said, rest


def page() -> str:
    lines = [f"  {option.word + ' ' + option.value:<22}{option.help}" for option in OPTIONS.values() if option.help]
    return "\n".join([
        "pouncectl run [OPTIONS] -- COMMAND...   runs a program in a lease, which ends with it", "", *lines, "",
        "Its output comes as it is printed, its standard input is empty. "
        "Signals (INT, TERM, HUP, QUIT, USR1, USR2) go to the program.",
        "Exit codes: the program's; 128 and the number of the signal that ended it; "
        "127 there is no such program, 126 it cannot",
        "be started, 141 nobody reads its output, "
        "125 there was no lease for it, or it was lost with its worker, 2 wrong usage.", "",
        "Examples:", "  pouncectl run --gpu 1 -- nvidia-smi",
        "  pouncectl run --cpus 8 --mem 16GB --time 2h --class lion -- pbrun germline --ref ref.fa",
        "  pouncectl run --gpu 1 --mlflow --experiment digits -- law run TrainingTask"])


class Signals:
    """Passes this process's signals on to the program. Handlers only queue them: they may interrupt a call of the
    session."""

    def __init__(self) -> None:
        self.last = 0
        self._heard: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in _FORWARDED:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP: it stays ignored
                signal.signal(number, self.hear)

    def hear(self, number: int, frame: object = None) -> None:
        self.last = number
        self._heard.put(number)

    def forward(self, future: Future) -> None:
        """Blocks for ever."""
        session, task = engine_of(future)
        while True:
            number = self._heard.get()
            if number == signal.SIGPIPE:  # the reader of its output is gone
                session.cancel(task)
            elif future.running():
                session.core.tell(task.id, json.dumps({"signal": number}).encode())
            elif number not in (signal.SIGUSR1, signal.SIGUSR2):  # it has not begun: the request is taken back
                session.cancel(task)


class Output:
    """Shows what the program prints, byte for byte."""

    def __init__(self, signals: Signals, tracked: TrackedCommand | None) -> None:
        self._signals, self._tracked = signals, tracked

    def printed(self, is_error: bool, data: bytes) -> None:
        if self._tracked is not None:
            self._tracked.keep(data)
        stream = sys.stderr if is_error else sys.stdout
        if stream is None:  # closed by the parent process
            return
        try:
            stream.flush()  # our own output
            stream.buffer.write(data)
            stream.buffer.flush()
        except BrokenPipeError:
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())  # for further output
            self._signals.hear(signal.SIGPIPE)  # ends the program as if it had written to that pipe itself

    def message(self, message: dict[str, Any], buffers: list[Any]) -> None:
        """A program displays nothing."""


def _run(view: View, command: list[str], tracked: TrackedCommand | None) -> int:
    signals, session = Signals(), session_of(view)
    with session.events_held_back():
        future = (view.submit(run_there, command) if tracked is None else
                  view.submit(run_and_say_where, command, tracked.environment()))
        session.show_at(engine_of(future)[1], Output(signals, tracked))
    threading.Thread(target=signals.forward, args=(future,), name="signals", daemon=True).start()
    try:
        code = future.result() if tracked is None else tracked.came_back(*future.result())
    except Cancelled:
        if tracked is not None:
            tracked.is_killed = True
        return _BY_SIGNAL + signals.last
    except PounceError:
        raise
    except OSError as error:  # of the worker, about the program
        print(f"pouncectl run: {command[0]}: {error.strerror}", file=sys.stderr)
        return EXIT_NOT_FOUND if isinstance(error, FileNotFoundError) else EXIT_NOT_STARTED
    return int(code) if code >= 0 else int(_BY_SIGNAL - code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
