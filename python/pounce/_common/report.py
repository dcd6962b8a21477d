"""One line of numbers that a running task reports, as a message: the worker makes it, the client keeps it."""

from __future__ import annotations

import json
from typing import Any

from ..errors import BadRequest

KIND = "pounce_report"  # of the message
KEPT = 10_000           # newest reports of a task: a long training has fewer, and a fast loop does not fill memory
_MOST_CHARS = 16_384


def encoded(values: dict[str, Any]) -> bytes:
    """The message. Raises ``BadRequest`` with the name of a value that is not plain."""
    content = {name: _plain(name, value) for name, value in values.items()}
    text = json.dumps({"type": KIND, "content": content})
    if len(text) > _MOST_CHARS:
        too_long = f"a report of {len(text)} characters is too long"
        raise BadRequest(too_long, f"Report numbers and short texts, {_MOST_CHARS} characters at most.")
    return text.encode()


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
