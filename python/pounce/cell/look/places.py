"""Which worker a text in the notebook is about, and which names live where."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..held_cells import LOCAL, goes
from ..notebook_state import NotebookState
from ..remote import Remote

_NAME = re.compile(r"[^\W\d]\w*")
_BARE_NAME = re.compile(r"(?<![\w.])(?:[^\W\d]\w*)?$")
_MAGIC = "%%pounce"
_ON = re.compile(r"--on[ =]+(\S+)")


@dataclass(frozen=True)
class Place:
    """Where the cursor is."""

    state: NotebookState | None  # whose worker knows more; None: the notebook alone does
    start: int  # of the text that the worker would run
    of_notebook: bool  # the notebook may know something that the worker does not
    names: list[str]  # of variables on workers that may stand here


class Places:
    def __init__(self, remote: Remote):
        self._remote = remote

    def of(self, text: str, offset: int) -> Place | None:
        """None: in the line of a magic of pounce's."""
        line = text[text.rfind("\n", 0, offset) + 1:offset]
        if line.lstrip().startswith("%pounce"):
            return None
        words = set(_NAME.findall(line))
        bare = _BARE_NAME.search(line) if not _inside_string(line) else None
        state, start = None, 0
        if text.startswith(_MAGIC) and text[len(_MAGIC):len(_MAGIC) + 1].isspace():
            start = text.find("\n", 0, offset) + 1
            first = text[len(_MAGIC):start]
            if not start:
                return None
            if first.split() != [LOCAL]:
                found = _ON.search(first)
                state = self._remote.workers.states.get(found.group(1) if found else "")
        elif self._remote.hold is not None and goes(text.splitlines(keepends=True)):
            state = self._remote.hold.state
        in_cell = state is not None
        state = state or next(filter(None, map(self.home, sorted(words))), None)
        on_worker = set(state.ledger.entries) if state is not None else set()
        ours = any(self._remote.is_ours(word) and word not in on_worker for word in words)
        states = [state] if in_cell and state is not None else list(self._remote.workers.states.values())
        names = {name for one in states for name in self.living(one)} if bare else set()
        return Place(state, start if in_cell else 0, bare is not None or ours,
                     sorted(name for name in names if bare and name.startswith(bare.group())))

    def home(self, name: str) -> NotebookState | None:
        """The state whose worker has the name's value, or the later one. None: the notebook has it, or no place."""
        return next((state for state in self._remote.workers.states.values() if name in self.living(state)), None)

    def living(self, state: NotebookState) -> set[str]:
        """The names that live on that state's worker, or are saved."""
        ledger, user_ns = state.ledger, self._remote.shell.user_ns
        return {name for name, entry in ledger.entries.items()
                if not entry.is_gone and (ledger.is_later(name) or name not in user_ns)}


def _inside_string(line: str) -> bool:
    return line.count("'") % 2 == 1 or line.count('"') % 2 == 1
