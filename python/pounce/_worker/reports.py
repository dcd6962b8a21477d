"""What the task that runs reports, in order with what it prints."""

from __future__ import annotations

from typing import Any

from .._common import report
from . import interpreter


def send(values: dict[str, Any]) -> None:
    """Any thread. Blocks while the notebook is far behind. Nobody has to be there: then it is gone, as a display would be."""
    message = report.encoded(values)
    if interpreter.running is not None and interpreter.core is not None:
        interpreter.core.show(message, [])
