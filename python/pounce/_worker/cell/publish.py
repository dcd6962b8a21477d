"""The worker's side of everything that a notebook shows beside text. Each becomes a Jupyter message in the task's
output, in order with the printed text."""

from __future__ import annotations

import json
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher

from .. import interpreter
from . import quiet

_MOST_BYTES = 32 * 1024 * 1024


def send(kind: str, content: dict[str, Any], metadata: dict[str, Any] | None = None, buffers: Any = None) -> None:
    """Any thread. Blocks while the notebook does not read."""
    if quiet.is_quiet():
        return
    text = json.dumps({"type": kind, "content": content, "metadata": metadata or {}}, default=_plain).encode()
    views = [memoryview(buffer).cast("B") for buffer in buffers or ()]
    size = len(text) + sum(view.nbytes for view in views)
    if size > _MOST_BYTES:
        print(f"[pounce: {_what(kind, content)} of {size >> 20} MiB is not shown; the most is {_MOST_BYTES >> 20} MiB]")
        return
    interpreter.flush()
    show = quiet.shows() or interpreter.core.show
    show(text, [view.tobytes() for view in views])


def _what(kind: str, content: dict[str, Any]) -> str:
    if kind == "comm_open":
        return f"a widget ({content['data'].get('state', {}).get('_model_name', content.get('target_name'))})"
    return "an update of a widget" if kind == "comm_msg" else "an output"


def _plain(value: Any) -> Any:
    """Images are bytes here and base64 in a notebook's messages."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        import base64

        return base64.b64encode(value).decode("ascii")
    return str(value)


class Publisher(DisplayPublisher):
    below: list[dict[str, Any]] | None = None  # messages for below the cell's value, while they are held back

    def publish(self, data: Any, metadata: Any = None, source: Any = None, *, transient: Any = None,
                update: Any = False, **_: Any) -> None:
        self._validate_data(data, metadata)
        kind = "update_display_data" if update else "display_data"
        content = {"data": data, "metadata": metadata or {}, "transient": transient or {}}
        if self.below is None:
            send(kind, content)
        else:
            self.below.append(json.loads(json.dumps({"type": kind, "content": content}, default=_plain)))

    def take(self) -> list[dict[str, Any]]:
        below, self.below = self.below or [], None
        return below

    def clear_output(self, wait: bool = False) -> None:
        send("clear_output", {"wait": wait})


class ResultHook(DisplayHook):
    """The value of the last expression is kept for the reply: the kernel shows it as its own ``Out``."""

    shown: tuple[dict[str, Any], dict[str, Any]] | None = None

    def start_displayhook(self) -> None:
        self._is_active = True

    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: dict[str, Any], md_dict: dict[str, Any] | None = None) -> None:
        if self.shown is not None:  # a cell that shows every expression: only the last is its value
            send("display_data", {"data": self.shown[0], "metadata": self.shown[1], "transient": {}})
        self.shown = json.loads(json.dumps((format_dict, md_dict or {}), default=_plain))

    def finish_displayhook(self) -> None:
        self._is_active = False

    def take(self) -> tuple[dict[str, Any], dict[str, Any]] | None:
        shown, self.shown = self.shown, None
        return shown
