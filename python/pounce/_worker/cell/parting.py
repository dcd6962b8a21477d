"""A worker goes by itself, and has what its notebook's machine has not: it offers that, and leaves when it was taken.

No task runs any more, so it is the worker that speaks: messages beside what tasks print, each answered by the kernel (its half is
cell/state_relay.py). The supervisor lets it, for as long as it says `saving`.
"""

from __future__ import annotations

import json
from typing import Any

from .. import interpreter
from ..state.crossing import Part
from . import held

KIND = "pounce_parting"  # of its messages; what answers them is {"parting": [blobs, start]}: none are wanted any more, or these
LEAVE_S = 60  # what a worker may take for it at most, by default
_ANSWER_S = 15.0  # so long it waits for one: the kernel's disk may be slow
_MOST_LIST_BYTES = 32 * 1024 * 1024


def part_with(state: str, holder: str, list_of_it: bytes, parts: Any) -> None:
    """Blocks until the kernel has it, does not want it, or says nothing.

    Parameters
    ----------
    state, holder : str
        What it is of, and which process has it.
    list_of_it : bytes
        crossing.unsigned().
    parts : callable
        Of blobs and a start: as crossing.parts_of().
    """
    if len(list_of_it) > _MOST_LIST_BYTES:
        return
    held.tell_state("saving")
    wanted = _asked({"state": state, "holder": holder}, [list_of_it])
    while wanted and wanted[0]:
        found: list[Part] = parts(*wanted)
        wanted = _asked({"state": state, "holder": holder, "parts": [part[:3] for part in found]}, [part.data for part in found])


def _asked(content: dict[str, Any], buffers: list[bytes]) -> Any:
    """What the kernel wants next; None: nobody answers."""
    interpreter.core.show(json.dumps({"type": KIND, "content": content}).encode(), buffers)
    while True:
        answer = interpreter.core.answer(_ANSWER_S)
        if answer is None:
            return None
        wanted = json.loads(answer)
        if "parting" in wanted:  # else it was for a task that has ended
            return wanted["parting"]
