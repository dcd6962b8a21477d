"""What pounce itself shows under a cell: a page with buttons where the notebook has widgets, and words elsewhere."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
from collections.abc import Callable
from importlib import resources
from typing import Any

from ..._engine import status_line
from ..background import CellOutput

Json = dict[str, Any]
_VIEW = "application/vnd.jupyter.widget-view+json"


class UnderCell:
    """An output of the cell. It is empty in the end, so that a saved notebook has nothing of it. Thread: any, but the
    first `show` is by the cell's own."""

    def __init__(self, shell: Any, output: CellOutput, hear: Callable[[Json], Json]):
        """`hear` handles a message of the page, and returns what the page shows from now on. Any thread."""
        self._shell, self._output, self._hear = shell, output, hear
        self._id, self._words = os.urandom(8).hex(), ""
        self._is_shown = False
        self._page: _Page | None = None

    @property
    def has_page(self) -> bool:
        """Whether the kernel can make a page; whether the front end draws it is known once that has spoken."""
        return getattr(self._shell, "kernel", None) is not None and importlib.util.find_spec("anywidget") is not None

    def show(self, facts: Json, words: str) -> None:
        """`facts` for the page, `words` where there is none."""
        before, self._words = self._words, words
        if getattr(self._shell, "kernel", None) is None:
            if words and not before and status_line.shows_live():  # a terminal has them once
                status_line.output().end(words)
            return
        if self._page is not None:
            self._page.send({**facts, "words": words})
        elif self.has_page and not self._is_shown:
            with contextlib.suppress(Exception):  # of an anywidget that does not work: the words do
                self._page = _Page(self._shell, self._output, self._hear, {**facts, "words": words})
        if words != before or not self._is_shown:
            self._display(words, self._page)

    def notify(self, title: str, text: str) -> None:
        """Has the browser notify, where the user has allowed it."""
        if self._page is not None:
            self._page.send({"notify": {"title": title, "text": text}})

    def end(self) -> None:
        if self._is_shown:
            self._display("", None)

    def _display(self, words: str, page: _Page | None) -> None:
        data: Json = {"text/plain": f"{words}\n" if words else ""}
        if page is not None:
            data[_VIEW] = {"version_major": 2, "version_minor": 0, "model_id": page.id}
        kind = "update_display_data" if self._is_shown else "display_data"
        self._is_shown = True
        self._output.send(kind, {"data": data, "metadata": {}, "transient": {"display_id": self._id}})


class _Page:
    """A widget of anywidget's. Its messages are heard in the subshell that they come in, also while a cell runs: what
    ipykernel makes for a comm has them wait for the cell (gotchas P48), so this stands in its place."""

    target_name = "jupyter.widget"

    def __init__(self, shell: Any, output: CellOutput, hear: Callable[[Json], Json], facts: Json):
        anywidget: Any = importlib.import_module("anywidget")
        traitlets: Any = importlib.import_module("traitlets")
        page = resources.files(__package__) / "page"

        class Wait(anywidget.AnyWidget):
            _esm = (page / "wait.mjs").read_text()
            _css = (page / "wait.css").read_text()
            facts = traitlets.Dict().tag(sync=True)

        self._widget = Wait(facts=facts)
        self.id = str(self._widget.model_id)
        self._output, self._hear = output, hear
        comms = shell.kernel.comm_manager.comms
        self._own = comms[self.id]
        comms[self.id] = self

    def send(self, content: Json) -> None:
        data = {"method": "custom", "content": content}
        self._output.message({"type": "comm_msg", "content": {"comm_id": self.id, "data": data}, "metadata": {}}, [])

    # ---- called by the kernel ----

    def handle_msg(self, message: Json) -> None:
        data = message["content"]["data"]
        if data.get("method") != "custom":
            return self._own.handle_msg(message)
        self.send({**self._hear(data.get("content") or {}), "heard": True})

    def handle_close(self, message: Json) -> None:
        self._own.handle_close(message)
