"""``pouncectl attach [NAME]``: a cell that goes on without its kernel, in a terminal."""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from typing import Any

from .._tables.text_table import as_text
from ..command_line import EXIT_FAILED, EXIT_OK, answered
from ..errors import BadRequest
from . import records
from .attached import Attached, found_root
from .output_reader import Output
from .records import Record

_PAGE = """\
pouncectl attach [NAME]   a cell that goes on without its kernel: its output from the beginning, and then as it comes

  NAME      the one of %%pounce --name, or the beginning of its id; without it the newest cell
  --list    the cells that run, and those that have ended and are still kept
  --json    with --list: one document on standard output

A figure is a line with the name of its file. Ctrl-C ends the looking; the cell goes on. Exit codes: 0; 1 the cell
raised an error, or its worker has gone; 2 wrong usage.

Examples:
  pouncectl attach --list
  pouncectl attach training"""
_FILES = {"image/png": "png", "image/jpeg": "jpg", "image/svg+xml": "svg", "application/pdf": "pdf"}


def main(words: list[str]) -> int:
    return answered("attach", _PAGE, _run, words)


def _run(words: list[str]) -> int:
    names = [word for word in words if not word.startswith("-")]
    flags = {word for word in words if word.startswith("-")}
    unknown = flags - {"--list", "--json"}
    if unknown:
        raise BadRequest(f"there is no option {min(unknown)}", "The options are --list, --json.")
    if "--json" in flags and "--list" not in flags:
        raise BadRequest("--json is for --list")
    if len(names) > 1 or (names and "--list" in flags):
        raise BadRequest("name one cell, or none with --list", "For example: pouncectl attach training.")
    root = found_root()
    if "--list" in flags:
        found = records.records(root)
        print(json.dumps({"cells": [record.as_dict() for record in found]}) if "--json" in flags else table(found))
        return EXIT_OK
    return _follow(Attached(records.find(root, names[0] if names else "")))


def table(found: list[Record]) -> str:
    """What runs, and what has ended, the newest first."""
    if not found:
        return "no cell has gone on without its kernel yet"
    head = ("name", "state", "cell", "notebook", "began", "first line")
    return as_text([head, *map(_row, found)])


def _row(record: Record) -> tuple[str, ...]:
    about = record.about
    began = time.strftime("%Y-%m-%d %H:%M", time.localtime(float(about.get("began", 0))))
    return (record.name, record.state(), str(record.cell), os.path.basename(str(about.get("notebook", ""))), began,
            str(about.get("line", "")))


def _follow(attached: Attached) -> int:
    figures = _Figures(attached.record.folder)
    try:
        for output in attached.outputs():
            _print(output, figures)
    except KeyboardInterrupt:
        print(f"\npounce: the cell goes on; pouncectl attach {attached.name} follows it again", file=sys.stderr)
        return EXIT_OK
    end = attached.record.end()
    assert end is not None
    if end.shown is not None:
        print(figures.words(end.shown[0]))
    for message in end.below:
        print(figures.words(message["content"].get("data", {})))
    if end.error is not None:
        print("\n".join(end.error.lines or [f"{end.error.type}: {end.error.text}"]), file=sys.stderr)
    return EXIT_FAILED if end.error is not None else EXIT_OK


def _print(output: Output, figures: _Figures) -> None:
    if output.kind == "missing":
        print(f"pounce: {output.words()}", flush=True)
    elif output.kind == "message":
        message = output.message()
        if message["type"] in ("display_data", "update_display_data", "page"):
            print(figures.words(message["content"]["data"]), flush=True)
    else:
        stream = sys.stderr if output.kind == "stderr" else sys.stdout
        stream.write(output.text())
        stream.flush()


class _Figures:
    """The figures of one cell, as files in its folder. They go with that."""

    def __init__(self, folder: str):
        self._folder = os.path.join(folder, "figures")
        self._number = 0

    def words(self, data: dict[str, Any]) -> str:
        """What a terminal shows of a display: the name of its figure's file, or its text."""
        kind = next((kind for kind in _FILES if kind in data), None)
        if kind is None:
            return str(data.get("text/plain", ""))
        self._number += 1
        path = os.path.join(self._folder, f"{self._number:04}.{_FILES[kind]}")
        content = "".join(data[kind])
        try:
            self._write(path, content.encode() if kind == "image/svg+xml" else base64.b64decode(content))
        except (OSError, ValueError) as error:
            return f"[a figure that cannot be written: {error}]"
        return f"[figure: {path}]"

    def _write(self, path: str, data: bytes) -> None:
        if os.path.exists(path):
            return
        os.makedirs(self._folder, 0o700, exist_ok=True)
        new = f"{path}.{os.getpid()}"
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
        os.rename(new, path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
