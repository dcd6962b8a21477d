"""Tables as which objects show themselves. The first row is the heading. Cells often hold text of untrusted peers,
hence printable().
"""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

from .. import _core

R = TypeVar("R")


class Rows(Generic[R]):
    """A list of rows that shows itself as a table: has a length, an order and items."""

    _COLUMNS: tuple[str, ...]
    _nothing: str  # shown where there are none

    def __init__(self, rows: list[R]):
        self.rows = rows

    def _cells(self, row: R) -> tuple[str, ...]:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __repr__(self) -> str:
        return as_text(self._table()) if self.rows else self._nothing

    def _repr_html_(self) -> str:
        return as_html(self._table()) if self.rows else f"<i>{self._nothing}</i>"

    def _table(self) -> list[tuple[str, ...]]:
        return [self._COLUMNS, *map(self._cells, self.rows)]


def as_text(table: Sequence[Sequence[str]]) -> str:
    table = [[_core.printable(cell) for cell in row] for row in table]
    widths = [max(map(display_width, column)) for column in zip(*table, strict=True)]
    return "\n".join("  ".join(map(padded, row, widths)).rstrip() for row in table)


def as_html(table: Sequence[Sequence[str]]) -> str:
    table = [[_core.printable(cell) for cell in row] for row in table]
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table[0])
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in table[1:])
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def padded(text: str, width: int) -> str:
    """`text` with spaces at its end, `width` columns wide on a terminal."""
    return text + " " * (width - display_width(text))


def display_width(text: str) -> int:
    """Columns on a terminal: combining marks take none, East Asian letters two."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
