"""A worker that ends by itself offers state that its notebook's machine lacks, and leaves when the kernel has it.

No task runs any more, so the worker sends messages beside the tasks' output, and the kernel answers each (its half is
cell/state_transfer.py). The supervisor waits as long as the worker says `saving`.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from ..._common.cell_protocol import PartingOffer
from .. import interpreter
from ..state.crossing import Part
from . import held

KIND = "pounce_parting"  # of its messages; the answer is {"parting": [blobs, start]}: the blobs to send next, or none
LEAVE_S = 60  # how long a worker may take for it at most, by default
_ANSWER_S = 15.0  # how long it waits for an answer: the kernel's disk may be slow
_MOST_LIST_BYTES = 32 * 1024 * 1024


def part_with(state: str, holder: str, list_of_it: bytes, parts: Any) -> None:
    """Blocks until the kernel has it, does not want it, or says nothing. `holder`: the process that has it;
    `list_of_it`: crossing.unsigned(); `parts` takes blobs and a start, like crossing.parts_of()."""
    if len(list_of_it) > _MOST_LIST_BYTES:
        return
    held.tell_state("saving")
    wanted = _wanted(PartingOffer(state, holder), [list_of_it])
    while wanted and wanted[0]:
        sent: list[Part] = parts(*wanted)
        wanted = _wanted(PartingOffer(state, holder, [part[:3] for part in sent]), [part.data for part in sent])


def _wanted(offer: PartingOffer, buffers: list[bytes]) -> Any:
    """Sends a message; returns what the kernel wants next. None: no kernel answers."""
    content = {name: value for name, value in asdict(offer).items() if value is not None}
    interpreter.core.show(json.dumps({"type": KIND, "content": content}).encode(), buffers)
    while True:
        answer = interpreter.core.answer(_ANSWER_S)
        if answer is None:
            return None
        wanted = json.loads(answer)
        if "parting" in wanted:  # otherwise it was for a task that has ended
            return wanted["parting"]
