"""Names of variables, as messages show them."""

from __future__ import annotations

from collections.abc import Iterable

LAST = ("_", "__", "___")  # IPython's names of the last values


def is_persons(name: str) -> bool:
    """Whether the user chose the name: IPython keeps values such as the last results under names with an underscore."""
    return not name.startswith("_")


def persons(names: Iterable[str]) -> list[str]:
    return sorted(filter(is_persons, names))


def listed(names: list[str], most: int) -> str:
    """``a, b and 3 more``."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
