"""One line of numbers that a running task reports, as a message: the worker makes it, the client keeps it."""

from __future__ import annotations

import os
from typing import Any

from ..errors import BadRequest

KIND = "pounce_report"  # of the message
KEPT = 10_000           # newest reports of a task: a long training has fewer, and a fast loop does not fill memory
STATUS, FILE = "status", "file"  # what it does now, in words; a file that it has written
STEP = "step"
_MOST_CHARS, _STATUS_CHARS = 16_384, 200


def content_of(values: dict[str, Any]) -> dict[str, Any]:
    """The plain values. Raises ``BadRequest`` with the name of a value that is not plain."""
    content = {name: _plain(name, _path(value) if name == FILE else value) for name, value in values.items()}
    if content.get(STATUS) is not None:
        content[STATUS] = one_line(str(content[STATUS]))
    return content


def encoded(values: dict[str, Any]) -> bytes:
    return message(content_of(values))


def message(content: dict[str, Any]) -> bytes:
    """Raises ``BadRequest`` if it is too long."""
    import json  # not before a task reports: a worker begins without it

    text = json.dumps({"type": KIND, "content": content})
    if len(text) > _MOST_CHARS:
        too_long = f"a report of {len(text)} characters is too long"
        raise BadRequest(too_long, f"Report numbers and short texts, {_MOST_CHARS} characters at most.")
    return text.encode()


def one_line(status: str) -> str:
    """For a terminal, a table and a tag: no control characters, and bounded."""
    text = "".join(char if char.isprintable() else " " for char in status).strip()
    return text if len(text) <= _STATUS_CHARS else text[:_STATUS_CHARS - 1] + "…"


def in_words(content: dict[str, Any], most: int = 6) -> str:
    """The status and the numbers: "epoch 3; loss=0.3 step=7"."""
    numbers = {name: text for name, value in content.items() if (text := number_text(value))}
    words = " ".join(f"{name}={text}" for name, text in [*numbers.items()][-most:])
    return "; ".join(filter(None, (content.get(STATUS), words)))


def number_text(value: Any) -> str:
    """Empty: it is no number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return ""
    return str(value) if isinstance(value, int) and abs(value) < 10**15 else f"{value:.6g}"


def _path(value: Any) -> Any:
    """Absolute; a value of another kind is refused as any other."""
    if value is None or isinstance(value, (str, os.PathLike)):
        return value if value is None else os.path.abspath(os.fsdecode(value))
    kind = type(value).__name__
    raise BadRequest(f"report(file=...) takes a path, not a {kind}", "Write the file, and report its path.")


def _plain(name: str, value: Any) -> Any:
    """A number, a text, a bool or None; an array or a tensor with one element gives that element."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "size", None) is not None:
        try:
            return _plain(name, item())
        except (ValueError, RuntimeError):  # it has several
            pass
    kind = type(value).__name__
    raise BadRequest(f"report({name}=...) takes a number, a text, a bool or None, not a {kind}",
                     f"Report one number of it, as in {name}=float(...).")
