"""Makes an environment with the programs that build one: on the node of a lease, or on the machine that submits.

It imports nothing of MLflow.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import BadRequest

_LAST_LINES = 8
_END_OF_LINE = re.compile(rb"[\r\n]")
_STEP_S = 0.5
_ENDS_S = 3.0  # how long a program may take to end when it was told to
_OF_PYTHON = ("PYTHONPATH", "PYTHONHOME")  # pip would take the packages there for installed
# Variables that say to pip, uv, conda and compilers what to do. Of others a worker has those that all workers have.
_OF_BUILDERS = re.compile(r"(PIP|UV|CONDA|MAMBA|PYENV|CARGO)_\w+|(?i:(https?|all|no)_proxy)|SSL_CERT_(FILE|DIR)|"
                          r"(REQUESTS|CURL)_CA_BUNDLE|NETRC|CC|CXX|(C|CXX|CPP|LD)FLAGS")
_NO_NETWORK = re.compile(
    "name resolution|name or service not known|failed to resolve|dns error|network is unreachable|no route to host|"
    "connection refused|connection timed out|connecttimeout|newconnectionerror|failed to establish a new connection|"
    "error sending request|error trying to connect|could not connect|connection failed|condahttperror", re.IGNORECASE)


@dataclass(frozen=True)
class Recipe:
    """How an environment is made."""

    prefix: str     # its folder, in the cache, which is named by its content
    directory: str  # where the programs run: the project's
    commands: tuple[tuple[str, ...], ...]


def variables_of_builders(environment: Mapping[str, str]) -> dict[str, str]:
    """Those that the programs need on a node, too: indexes, proxies, compilers. Some hold passwords."""
    return {name: value for name, value in environment.items() if _OF_BUILDERS.fullmatch(name)}


def build(recipe: Recipe, say: Callable[[str], None], lock: int, node: str = "",
          variables: Mapping[str, str] | None = None) -> None:
    """`say` gets each line that a program prints. The programs hold `lock`, too: it is not free while one of them still
    writes. `node`: where this is; empty: the machine that submits. `variables`: for the programs, beside those of this
    process.

    Raises
    ------
    BadRequest
        A program cannot be started, or failed; with its last lines.
    """
    for words in recipe.commands:
        _run(words, recipe.directory, say, lock, node, variables or {})


def build_on_node(recipe: Recipe, token: str, variables: Mapping[str, str]) -> None:
    """In a task on a lease. What the programs print is the task's output.

    `token`: stands in the file of the cache's lock, which the submitting process holds. `variables`: that process's, by
    variables_of_builders().
    """
    node = os.environ.get("SLURMD_NODENAME") or os.uname().nodename
    _check_same_folders(recipe, token, node)
    # Of a process that was killed with its submitting process, programs may still write for a moment.
    with open(f"{recipe.prefix}.node.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(recipe.prefix, ignore_errors=True)
        try:
            build(recipe, lambda line: print(line, flush=True), lock.fileno(), node, variables)
        except BaseException:
            shutil.rmtree(recipe.prefix, ignore_errors=True)
            raise


def _check_same_folders(recipe: Recipe, token: str, node: str) -> None:
    folder = Path(recipe.prefix).parent
    if _token_in(f"{recipe.prefix}.lock") != token:
        with contextlib.suppress(OSError):  # NFS remembers for a minute what was not there, unless this node writes
            seen = folder / f"looked.{node}.{os.getpid()}"
            seen.touch(mode=0o600)
            seen.unlink()
        if _token_in(f"{recipe.prefix}.lock") != token:
            raise BadRequest(f"{node} does not see {folder} of the machine that submits, where the project's "
                             "environment belongs", "Name a folder that both see with XDG_CACHE_HOME.")
    if not os.path.isdir(recipe.directory):
        raise BadRequest(f"{node} does not see the project's folder {recipe.directory}",
                         "Move the project into a folder that the nodes see.")


def _token_in(file: str) -> str:
    try:
        return Path(file).read_text().split()[-1]
    except (OSError, IndexError):
        return ""


def _run(words: Sequence[str], directory: str, say: Callable[[str], None], lock: int, node: str,
         variables: Mapping[str, str]) -> None:
    whole = {**os.environ, **variables}
    environment = {name: value for name, value in whole.items() if name not in _OF_PYTHON}
    try:
        program = subprocess.Popen(words, cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                                   pass_fds=[lock])
    except OSError as problem:
        where = f" on {node}" if node else ""
        raise BadRequest(f"{words[0]} cannot be started{where}: {problem.strerror}",
                         "See whether it is installed there." + (_otherwise() if node else "")) from None
    last: deque[str] = deque(maxlen=_LAST_LINES)
    assert program.stdout is not None
    with program, program.stdout as output:
        try:
            for line in _lines(program, output.fileno()):
                last.append(line)
                say(line)
            program.wait()
        except BaseException:  # the user has stopped it
            _tell(program, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(_ENDS_S)
            raise
        finally:
            _tell(program, signal.SIGKILL)  # also for programs that it started and left behind
    if program.returncode:
        raise _failed(words, program.returncode, list(last), node)


def _lines(program: subprocess.Popen[bytes], descriptor: int) -> Iterator[str]:
    """Each as soon as it is there, also those of bars, until the program has ended. A signal that comes just before a
    wait would be handled behind it, so none takes longer than _STEP_S."""
    begun = b""
    while True:
        if not select.select([descriptor], [], [], _STEP_S)[0]:
            if program.poll() is not None:  # what it has left behind keeps its output open
                return
            continue
        data = os.read(descriptor, 64 * 1024)
        *whole, begun = _END_OF_LINE.split(begun + data if data else begun + b"\n")
        yield from (text for line in whole if (text := line.decode(errors="replace").rstrip()))
        if not data:
            return


def _failed(words: Sequence[str], code: int, last: list[str], node: str) -> BadRequest:
    place = f" on {node}" if node else ""
    how = f"exit code {code}" if code > 0 else signal.Signals(-code).name
    remedy = "Its last lines say why."
    if code == -signal.SIGKILL:
        remedy = "It was killed, as what needs more memory than there is." + (_otherwise() if node else "")
    elif _NO_NETWORK.search("\n".join(last)):
        remedy = (f"{node or 'This machine'} did not reach the package index: name one that it reaches, as pip, uv or "
                  "conda are configured." + (_otherwise() if node else ""))
    program = words[2] if words[1] == "-m" else Path(words[0]).name
    return BadRequest(f"the project's environment cannot be made{place}: {program} ended with {how}",
                      remedy, {"last_lines": "\n".join(last)})


def _otherwise() -> str:
    return ' Or make it on the machine that submits: "build_on": "login".'


def _tell(program: subprocess.Popen[bytes], number: int) -> None:
    """Signals the program's whole group; the program itself may be gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(program.pid, number)
