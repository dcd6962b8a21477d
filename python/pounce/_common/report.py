"""One line of numbers that a task tells of itself while it runs, as it travels: the worker makes it, the client keeps it."""

from __future__ import annotations

import json
from typing import Any

from ..errors import BadRequest

KIND = "pounce_report"  # of the message
KEPT = 10_000           # of one task, the newest: a long training has fewer steps, and a loop that reports too often fills no memory
_MOST_CHARS = 16_384


def encoded(values: dict[str, Any]) -> bytes:
    """The message. Raises ``BadRequest`` for what is no plain value, by its name."""
    content = {name: _plain(name, value) for name, value in values.items()}
    text = json.dumps({"type": KIND, "content": content})
    if len(text) > _MOST_CHARS:
        too_long = f"a report of {len(text)} characters is too long"
        raise BadRequest(too_long, f"Report numbers and short texts, {_MOST_CHARS} characters at most.")
    return text.encode()


def _plain(name: str, value: Any) -> Any:
    """A number, a text, a bool or None; of an array or a tensor with one element that element."""
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
