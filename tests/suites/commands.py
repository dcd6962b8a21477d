"""Runs one command of a suite: its output in a log, a limit on its time, a sign of life while it runs."""

from __future__ import annotations

import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LOGS = BUILD / "logs"
DEMO = Path("/opt/pounce-demo")
PYTHON = str(DEMO / "bin" / "python")
CORES = os.cpu_count() or 2
COMMAND_LIMIT_S = 40 * 60  # what hangs outside a test fails too, long before the whole run's limit
_TAIL_LINES = 60


class Failed(Exception):
    """A command of a suite ended with an error; the text names its log."""


class LeftOut(Exception):
    """Why a suite cannot run here; that is no failure."""


def command(log_name: str, words: list[str], behind: bool = False, limit_s: float = COMMAND_LIMIT_S, **environment: str) -> None:
    """Runs `words`, with their output at the end of a log.

    behind: only with what the other commands leave of the processors. Linux shares them out by session first, so it is a session
    of its own, of the least weight.

    Raises
    ------
    Failed
        The exit code is not 0, or the limit is over; with the log's last lines.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{log_name}.log"
    env = {**os.environ, **one_compiler_cache(), "CCACHE_BASEDIR": str(ROOT), "POUNCE_BUILD_DIR": str(BUILD / "release"),
           "PYTHONUNBUFFERED": "1", "OMP_WAIT_POLICY": "PASSIVE",  # threads that wait leave the processors to other suites
           **environment}
    words = [*(_LEAST_WEIGHT if behind else []), *map(str, words)]
    with log.open("ab") as sink, shown_as_running(log):
        sink.write(f"== {' '.join(words)}\n".encode())
        sink.flush()
        trouble = _trouble_of(words, limit_s, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, env=env, cwd=ROOT,
                              start_new_session=behind)
    if trouble:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])
        raise Failed(f"{' '.join(words)}: {trouble}; the end of {log}:\n{tail}")


# man 7 sched, "The autogroup feature": where the kernel groups by session, the group's own weight counts, elsewhere chrt's.
_LEAST_WEIGHT = ["sh", "-c", 'echo 19 >/proc/self/autogroup; exec chrt --idle 0 "$@"', "sh"]


def _trouble_of(words: list[str], limit_s: float, **options) -> str:
    """Runs a command to its end, or to its limit; what is wrong with how it ended, or nothing."""
    if _stopping.is_set():
        return "not started: the run was stopped"
    own_group = {} if options["start_new_session"] else {"process_group": 0}
    with subprocess.Popen(words, **own_group, **options) as process:
        _processes.add(process.pid)
        try:
            code = process.wait(limit_s)
            return f"exit code {code}" if code else ""
        except BaseException as stopped:  # too long, or Ctrl-C: with all that it started
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(stopped, subprocess.TimeoutExpired):
                return f"no end within {limit_s / 60:.0f} minutes"
            raise
        finally:
            _processes.discard(process.pid)


_processes: set[int] = set()  # of the commands that run: each leads a group
_stopping = threading.Event()


def stop_all() -> None:
    """Ends what runs, with all that it started, and lets nothing begin any more: Ctrl-C."""
    _stopping.set()
    for pid in list(_processes):
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


@functools.cache
def one_compiler_cache() -> dict[str, str]:
    """packaging/environment, which has a cache of its own, then compiles only what the build has not, and the other way round.

    Where ccache is not installed yet, it is the folder that it will choose by itself.
    """
    by_itself = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ccache"
    try:
        config = subprocess.run(["ccache", "--get-config", "cache_dir"], capture_output=True, text=True)
    except FileNotFoundError:
        return {"CCACHE_DIR": os.environ.get("CCACHE_DIR") or str(by_itself)}
    return {"CCACHE_DIR": config.stdout.strip()} if config.returncode == 0 else {}


# ---- signs of life ---------------------------------------------------------------------------------------------------

_running: dict[Path, float] = {}  # logs that commands write to now, and since when


@contextmanager
def shown_as_running(log: Path) -> Iterator[None]:
    _running[log] = time.monotonic()
    try:
        yield
    finally:
        _running.pop(log, None)


@contextmanager
def signs_of_life() -> Iterator[None]:
    """What the logs say last: on a terminal each second on one line, elsewhere each half minute on lines of their own."""
    over, terminal = threading.Event(), sys.stdout.isatty()

    def watch() -> None:
        while not over.wait(1 if terminal else 30):
            texts = [f"{log.stem:9} {time.monotonic() - start:5.0f} s  {last_line(log)}" for log, start in list(_running.items())]
            if terminal and texts:
                say(" | ".join(texts)[: shutil.get_terminal_size().columns - 1], end="")
            elif texts:
                say("\n".join(texts))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def say(text: str, end: str = "\n") -> None:
    """A line for who watches; on a terminal in the place of the last sign of life."""
    print(f"\r\033[K{text}" if sys.stdout.isatty() else text, end=end, flush=True)


def last_line(log: Path) -> str:
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4096))
        lines = re.split(r"[\r\n]+", file.read().decode(errors="replace").strip())
    return lines[-1][-120:]


def each_of(work: list[Callable[[], None]]) -> None:
    """Runs all of it, `CORES` at a time; the first failure is raised when all have ended."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(CORES) as pool:
        futures = [pool.submit(each) for each in work]
    for future in futures:
        future.result()
