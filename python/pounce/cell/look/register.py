"""Puts the looks at workers into a shell."""

from __future__ import annotations

from typing import Any

from ..remote import Remote
from .channel import LookChannel
from .completions import Completions
from .inspection import Inspection, Questions
from .places import Places
from .variables import Variables


def register(shell: Any, remote: Remote) -> None:
    channel, places = LookChannel(remote.workers), Places(remote)
    remote.ask_use = channel.ask_use
    shell.register_magics(Variables(remote, channel, places))
    shell.object_inspect_mime = Inspection(shell, channel, places, lambda: remote.workers.states.values()).inspect
    shell.register_magics(Questions(shell, channel, places))
    if hasattr(shell.Completer, "completions"):
        completions = Completions(shell.Completer, channel, places)
        shell.Completer.completions = completions.completions
        shell.events.register("post_run_cell", completions.cell_ended)
