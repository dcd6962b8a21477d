"""Reports of the running task, in order with its output."""

from __future__ import annotations

from typing import Any

from .._common import report
from . import interpreter


def send(values: dict[str, Any]) -> None:
    """Any thread. Blocks while the notebook is far behind. Without a client the report is lost, like a display."""
    message = report.encoded(values)
    if interpreter.running is not None and interpreter.core is not None:
        interpreter.core.show(message, [])
