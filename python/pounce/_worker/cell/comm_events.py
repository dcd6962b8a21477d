"""Messages of a page to widgets that a worker's cells made, on their way there. Later ones may replace earlier ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]  # a part of a message of Jupyter's
# Of the messages from the worker: the event's "number", with "begins", "done", "message" or "printed".
KIND = "pounce_comm"
HERE = "comm_here"  # of the message for a comm that came to this worker: as "comm_open", unless the page has it
_BESIDE = b'{"comm_event": '  # how the text of one begins that travels beside the tasks


@dataclass(frozen=True, slots=True)
class CommEvent:
    """One comm message of a page."""

    road: str  # of the kernel that sends it; `number` counts its events
    number: int
    kind: str  # "comm_msg" or "comm_close"
    comm: str
    data: Json
    header: Json  # of the page's message
    metadata: Json
    buffers: Sequence[bytes] = ()


def packed(event: CommEvent) -> bytes:
    """As text, for beside the tasks."""
    buffers = [base64.b64encode(buffer).decode("ascii") for buffer in event.buffers]
    return _BESIDE + json.dumps({**asdict(event), "buffers": buffers}, default=str).encode() + b"}"


def unpacked(text: bytes) -> CommEvent | None:
    """None: the text is something else."""
    if not text.startswith(_BESIDE):
        return None
    fields = json.loads(text)["comm_event"]
    fields["buffers"] = [base64.b64decode(buffer) for buffer in fields["buffers"]]
    return CommEvent(**fields)


def left_of(comm: str, data: Json, later: Iterable[tuple[str, Json]]) -> Json | None:
    """What remains to be done of a message if `later` ones wait behind it: for each trait of a widget its last value
    counts. None: nothing. No message that is not such a value is overtaken."""
    if not _is_update(data):
        return data
    state = dict(data["state"])
    for other, newer in later:
        if not _is_update(newer):
            break
        if other == comm:
            for name in newer["state"]:
                state.pop(name, None)
    if not state:
        return None
    return data if data.get("buffer_paths") else {**data, "state": state}  # buffers stay with their traits


def _is_update(data: Json) -> bool:
    return data.get("method") == "update" and isinstance(data.get("state"), dict) and bool(data["state"])
