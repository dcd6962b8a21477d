"""What this worker's lease uses, for the line under a cell that runs here. Nothing is measured unless it is wanted."""

from __future__ import annotations

from .. import interpreter
from ..tracking.lease_meter import LeaseMeter

_meter: LeaseMeter | None = None


def lease_use() -> dict[str, float]:
    """As LeaseMeter has it. Thread: a look's own, one at a time."""
    global _meter
    _meter = _meter or LeaseMeter(interpreter.visible_devices or "")
    return _meter.look()
