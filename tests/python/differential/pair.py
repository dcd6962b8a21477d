"""A plain kernel and one with pounce run the same cells in the same order; what a person sees of each is compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from conftest import Home, made_home
from journeys import IN_ITS_PLACE, Cell, Journey
from kernel import Notebook

_STARTUP = "started = 7\ndef started_twice(): return 2 * started\nclass Started:\n    n = 3\n"
_CONFIG = "c = get_config()\nc.InteractiveShellApp.exec_lines = ['from_a_line = [1, 2]', 'import textwrap as line_module']\n"
# IPython 9 shows frames of a cell's file, which ipykernel names and does not write, at the line where they ended.
_PLACES = "import IPython.core.ultratb as _ultratb\n_ultratb.get_line_number_of_frame = lambda frame: 0\n"
_ANEW = (  # what differs between two runs of one plain kernel, and the name of a cell's file, which docs/cell.md tells
    (re.compile(r"/tmp/pounce-home-\w+"), "~"),
    (re.compile(r"/tmp/ipykernel_\d+/\d+\.py|(?<=\()\d+\.py(?=, line)|(~/)?<ipython-input-\d+-\w+>"), "<cell>"),
    (re.compile(r"^(CPU times|Wall time):.*", re.MULTILINE), r"\1"),
    (re.compile(r"\(\d+ times\)"), "(often)"),  # of similar frames, before which there are others
    (re.compile(r"^<>:.*\n", re.MULTILINE), ""),  # IPython has compiled the cell once more
    (re.compile(r"\b0x[0-9a-f]{6,}"), "0x"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "id"),
)
_WHERE = re.compile(r"on \S+( · .*)?")  # the line above a worker's traceback
_OWN_LINE = re.compile(r"(^|\x1b\[90m)pounce: .*\n?", re.MULTILINE)  # one in grey may stand behind a text without a line's end


class Pair:
    def __init__(self, plain: Notebook, remote: Notebook):
        self._plain, self._remote = plain, remote

    def warm(self, journeys: list[Journey]) -> dict[str, Any]:
        """The cells of each journey after one another, on one worker."""
        return {journey.name: [self.cell(cell) for cell in journey.cells] for journey in journeys}

    def released(self, journeys: list[Journey]) -> dict[str, Any]:
        """A new worker for each cell of a journey. One release serves all journeys."""
        shown: dict[str, Any] = {journey.name: [] for journey in journeys}
        for step in range(max(len(journey.cells) for journey in journeys)):
            if step:
                self.release()
            for journey in journeys:
                if step < len(journey.cells):
                    shown[journey.name].append(self.cell(journey.cells[step]))
        return shown

    def release(self) -> None:
        """The next cell has a new worker."""
        self._remote.ended(self._remote.client.execute("%pounce release", store_history=False))

    def cell(self, cell: Cell) -> tuple[Any, Any]:
        """What a person sees of it in the plain kernel, and with pounce."""
        here = self._plain.start(cell.plain, bool(cell.answers))
        there = self._remote.start(cell.source, bool(cell.answers))
        return _seen(self._plain, here, cell), _seen(self._remote, there, cell)


def _seen(notebook: Notebook, cell: str, of: Cell) -> dict[str, Any]:
    """All that a person sees of a cell, without what differs between two runs of it."""
    prompts = [notebook.asked(answer) for answer in of.answers]
    shown = notebook.ended(cell)
    pager = [_same(page["data"]) for page in shown.reply.get("payload", []) if page["source"] == "page"]
    seen = {"prompts": prompts, "stdout": _same(_OWN_LINE.sub("", shown.stream("stdout"))), "stderr": _same(shown.stream("stderr")),
            "others": [part for message in shown.messages for part in _other(message)], "pager": pager,
            "number": shown.reply.get("execution_count")}
    return {what: value for what, value in seen.items() if value}


def _other(message: dict) -> list[Any]:
    kind, content = message["msg_type"], message["content"]
    if kind in ("display_data", "update_display_data", "execute_result"):
        if content["data"].get("text/plain", "").startswith("pounce: "):  # what a cell waits for
            return []
        return [(kind, _same(content["data"]), _same(content["metadata"]))]
    if kind == "error":
        lines = "\n".join(content["traceback"]).split("\n")
        own = [line for line in lines if not _WHERE.fullmatch(line) and IN_ITS_PLACE not in line]
        return [(content["ename"], _same(content["evalue"]), _same(own))]
    if kind == "comm_open":
        return [(kind, content["data"]["state"].get("_model_name"))]
    return [(kind,)] if kind == "clear_output" else []


def _same(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _same(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_same(each) for each in value]
    if isinstance(value, str):
        for anew, word in _ANEW:
            value = anew.sub(word, value)
    return value


def _settled(home: Home) -> Home:
    """With a profile of IPython's that has names of its own."""
    profile = home.folder / ".ipython" / "profile_default"
    (profile / "startup").mkdir(parents=True)
    (profile / "startup" / "names.py").write_text(_PLACES + _STARTUP)
    (profile / "ipython_kernel_config.py").write_text(_CONFIG)
    return home


@contextmanager
def pair() -> Iterator[Pair]:
    with made_home() as plain_home, made_home(idle_release_s=600) as home:
        plain, remote = Notebook(_settled(plain_home)), Notebook(_settled(home))
        for cell in ("%load_ext pounce", f"%%pounce --setup\n{_PLACES}"):
            assert not remote.ended(remote.client.execute(cell, store_history=False)).of("error")
        yield Pair(plain, remote)
        remote.run("%pounce release")
        remote.close()
        plain.close()


