"""When the first output of a task was here, and the first that looks like a loss. It is read where the output arrives
anyway: no message is added, and no thread."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

_NAME = r"(?:loss|nll|perplexity|ppl|mse|elbo|cross[ _-]?entropy)"
# All counts are bounded, and a name is taken whole: any text is read in a time that grows with its length alone.
_PART = r"(?:[_/.-][^\W_]{1,30}(?![^\W_])){0,6}"  # train_loss has it before the word, loss_cls and loss/val behind it
_BETWEEN = r"['\"\])]{0,3}(?:[ \t]{0,20}(?:[:=|]|\bis\b|\bof\b))?[ \t]{0,20}(?:tensor\()?"
_NUMBER = r"[-+]?(?:\d{1,30}(?:\.\d{0,30})?(?:e[-+]?\d{1,4})?|\.\d{1,30}(?:e[-+]?\d{1,4})?|nan|inf)(?![^\W_]|%)"
_LOSS = re.compile(rf"(?<![^\W_]){_NAME}{_PART}{_BETWEEN}{_NUMBER}", re.IGNORECASE)
_LOSS_NAME = re.compile(rf"(?<![^\W_]){_NAME}(?![^\W_])", re.IGNORECASE)  # of a report
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_MOST_CHARS = 1024 * 1024  # of output without a loss; then none is looked for
_LINE_CHARS = 500  # of a line that has begun
_SHOWN_CHARS = 40
_SHOWING = ("display_data", "update_display_data")


class FirstOutput:
    """Of one task. Thread: the one that handles events.

    Attributes
    ----------
    output, loss : float
        When they were here, on the monotonic clock; 0: not yet.
    words : str
        What was taken for a loss: ``loss: 0.31``.
    in_line : bool
        Its last print has begun a line and not ended it, as bars do.
    """

    __slots__ = ("_begun", "_chars", "in_line", "loss", "output", "words")

    def __init__(self) -> None:
        self.output = self.loss = 0.0
        self.words, self.in_line = "", False
        self._begun = ""  # the line that has begun
        self._chars = 0

    def printed(self, data: Any) -> None:
        self.output = self.output or time.monotonic()
        self.in_line = bytes(data[-1:]) != b"\n"
        if not self.loss and self._chars < _MOST_CHARS:
            text = self._begun + bytes(data).decode("utf-8", "replace")
            self._chars += len(data)
            self._begun = text[max(text.rfind("\n"), text.rfind("\r")) + 1:][-_LINE_CHARS:]
            self._look(text)

    def message(self, message: Mapping[str, Any]) -> None:
        """A display, or a change of a widget: both may have text."""
        kind, content = message["type"], message["content"]
        if kind in _SHOWING:
            text = content["data"].get("text/plain", "")
        elif kind in ("comm_open", "comm_msg"):
            state = content.get("data", {}).get("state")
            text = state.get("value", "") if isinstance(state, dict) else ""
        else:
            return
        self.output = self.output or time.monotonic()
        if not self.loss and isinstance(text, str):
            self._look(text[:_LINE_CHARS])

    def reported(self, values: Mapping[str, Any]) -> None:
        """By ``pounce.report``: it is below the cell, so it is output too."""
        self.output = self.output or time.monotonic()
        for name, value in values.items():
            if not self.loss and _LOSS_NAME.search(name) and isinstance(value, (int, float)):
                self._took(f"{name}={value:.6g}")

    def _look(self, text: str) -> None:
        found = _LOSS.search(_COLOUR.sub("", text))
        if found:
            self._took(found.group())

    def _took(self, words: str) -> None:
        self.loss, self.words, self._begun = time.monotonic(), words[:_SHOWN_CHARS], ""
