"""The form of one line of a report (docs/reports.md): numbers by name, and last a status or a file.

    loss=0.3 step=7
    loss=0.3 status=epoch 3 of 10
    file=/scratch/alice/curve.png

Imports nothing of pounce: a batch run has a copy of this file.
"""

from __future__ import annotations

import os
import re
from typing import Any

VARIABLE = "POUNCE_REPORT"   # the pipe's path: pounce's own variable, so no setting of the notebook's
STATUS, FILE = "status", "file"  # as _common/report.py has them
LINE_BYTES = 4096  # with the line break: what a pipe takes whole, beside other writers
_NUMBER = re.compile(r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|nan|inf(?:inity)?)", re.ASCII | re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,100}")
_TO_THE_END = tuple(f"{name}=".encode() for name in (STATUS, FILE))


class WrongLine(ValueError):
    """Says what is wrong with the line."""


def read(line: bytes) -> dict[str, Any]:
    """What it says; empty: nothing. Any bytes may come.

    Raises
    ------
    WrongLine
    """
    rest = line.strip(b" \t\r\n")
    found: dict[str, Any] = {}
    while rest and not rest.startswith(_TO_THE_END):
        word, *more = rest.split(None, 1)
        name, number = _number(word.decode("utf-8", "backslashreplace"))
        found[name] = number
        rest = more[0] if more else b""
    if rest:
        last, _, value = rest.partition(b"=")
        found[last.decode()] = _file(value) if last == FILE.encode() else value.decode("utf-8", "replace")
    return found


def _number(word: str) -> tuple[str, float]:
    name, equals, value = word.partition("=")
    if not equals or not _NAME.fullmatch(name):
        raise WrongLine(f"{word[:80]!r} is no NAME=NUMBER")
    if not _NUMBER.fullmatch(value):
        raise WrongLine(f"{value[:80]!r} in {word[:80]!r} is no number")
    is_whole = len(value) < 20 and value.lstrip("+-").isdigit()
    return name, int(value) if is_whole else float(value)


def _file(path: bytes) -> str:
    try:
        name = path.decode()
    except UnicodeDecodeError:
        raise WrongLine(f"the path {path[:80]!r} is no text") from None
    if not os.path.isabs(name) or "\0" in name:
        raise WrongLine(f"{name[:80]!r} is no absolute path")
    return name


def written(content: dict[str, Any]) -> bytes:
    """A line that says the numbers, and lines for status and file; texts and None beside them are left out."""
    numbers = " ".join(f"{name}={float(value)!r}" if isinstance(value, float) else f"{name}={int(value)}"
                       for name, value in content.items()
                       if isinstance(value, (bool, int, float)) and _NAME.fullmatch(name))
    lines = [numbers, *(f"{name}={content[name]}" for name in (STATUS, FILE) if content.get(name))]
    return b"".join(line.encode("utf-8", "replace") + b"\n" for line in lines if line and len(line) < LINE_BYTES)


def write(lines: bytes) -> None:
    """From another process of the lease. Does nothing where the pipe has no reader any more."""
    try:
        pipe = os.open(os.environ[VARIABLE], os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.set_blocking(pipe, True)  # where the worker is far behind it waits, as it would with what it prints
        for line in lines.splitlines(keepends=True):
            os.write(pipe, line)
    except BrokenPipeError:
        return
    finally:
        os.close(pipe)
