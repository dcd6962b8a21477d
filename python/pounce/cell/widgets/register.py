"""Has the comms of workers' widgets answered in a kernel."""

from __future__ import annotations

from typing import Any

from ..._engine import display
from ..remote import Remote
from .road import Road


def register(shell: Any, remote: Remote) -> None:
    if getattr(getattr(shell, "kernel", None), "comm_manager", None) is None:  # there is no page
        return
    road = Road(shell, remote)
    display.comm_heard = road.heard
    remote.cell_over, remote.released = road.cell_ended, road.released
