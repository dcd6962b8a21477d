"""Figures in words: cells of tables, and parts of sentences."""

from __future__ import annotations

from ..tally import Share
from .document import Cell
from .drawing import number


def words(text: str) -> Cell:
    return Cell(text or "-")


def count(value: int) -> Cell:
    return Cell(f"{value:,}", value)


def hours(seconds: float) -> Cell:
    """Read as hours, kept in seconds."""
    return Cell(hours_words(seconds), seconds)


def seconds(value: float) -> Cell:
    """Read as a short span, kept in seconds."""
    return Cell(span_words(value), round(value, 1))


def hours_words(seconds: float) -> str:
    return f"{number(seconds / 3600)} h"


def span_words(seconds: float) -> str:
    """12 -> "12 s", 340 -> "6 min", 9000 -> "2.5 h"."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else hours_words(seconds)


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def percent_cell(part: float, whole: float) -> Cell:
    return Cell(percent(part, whole), round(part / whole, 4) if whole else 0)


def busy_words(share: Share) -> str:
    """"61 % of the 70 % that is known"."""
    if not share.known_s:
        return "not known"
    busy = percent(share.busy_ms / 1000, share.known_s)
    return busy if share.known_s >= 0.99 * share.gpu_s else f"{busy} of the {percent(share.known_s, share.gpu_s)} known"


def idle_s(share: Share) -> float:
    """GPU time of which it is known that it did not compute."""
    return share.known_s - share.busy_ms / 1000
