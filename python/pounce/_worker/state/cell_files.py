"""Texts of cells, for the functions that come from them: inspect.getsource, torch.jit.script and tracebacks read them.
A cell has a file name without a file, so a function that is restored elsewhere takes its cell's text along."""

from __future__ import annotations

import linecache
from typing import NamedTuple

numbers: dict[str, int] = {}  # of the cells that this process knows, by file name: the shell's own


class CellFile(NamedTuple):
    name: str
    number: int
    text: str


def cell_file(name: str) -> CellFile | None:
    """None: the file is no cell's."""
    number = numbers.get(name)
    return None if number is None else CellFile(name, number, "".join(linecache.getlines(name)))


def know(file: CellFile) -> None:
    numbers[file.name] = file.number
    linecache.cache[file.name] = (len(file.text), None, file.text.splitlines(keepends=True), file.name)
