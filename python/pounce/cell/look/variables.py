"""``%who`` and ``%whos`` of a notebook that has variables on workers: both sides, and where each is."""

from __future__ import annotations

from dataclasses import dataclass

from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magics.namespace import NamespaceMagics

from ..._common.cell_protocol import Look
from ..._worker.cell.look_answers import print_table
from ..._worker.cell.quiet import quiet
from ..notebook_state import NotebookState
from ..remote import Remote
from .channel import LookChannel, Pending
from .places import Places

_NAME, _TYPE, _WHERE, _DATA = "Variable", "Type", "Where", "Data/Info"
_HERE = "notebook"


@dataclass
class Row:
    name: str
    kind: str
    data: str
    where: str = _HERE


@magics_class
class Variables(Magics):
    def __init__(self, remote: Remote, channel: LookChannel, places: Places):
        super().__init__(remote.shell)
        self._remote, self._channel, self._places = remote, channel, places
        self._plain = NamespaceMagics(remote.shell)

    @line_magic("who")  # type: ignore[arg-type]
    def who(self, line: str = "") -> None:
        self._plain.who(line)
        for state in self._remote.workers.states.values():
            rows = self._rows_of(state, line, self._asked(state, line))
            names = [row.name for row in rows if row.where != "both"]
            if names:
                print(f"{'saved' if all(row.where.startswith('saved') for row in rows) else _worker(state)}: "
                      + "  ".join(names))

    @line_magic("whos")  # type: ignore[arg-type]
    def whos(self, line: str = "") -> None:
        states = [state for state in self._remote.workers.states.values() if state.ledger.entries]
        if not states:
            return self._plain.whos(line)
        asked = [self._asked(state, line) for state in states]
        printed: list[str] = []
        with quiet(printed.append):
            print_table(self._remote.shell, line)
        rows = rows_of("".join(printed))
        for state, pending in zip(states, asked, strict=True):
            found = self._rows_of(state, line, pending)
            both = {row.name for row in found if row.where == "both"}
            for row in rows:
                if row.name in both:
                    row.where = "both"
            rows += [row for row in found if row.where != "both"]
        if not rows:
            return self._plain.whos(line)
        _print(sorted(rows, key=lambda row: row.name))

    def _asked(self, state: NotebookState, line: str) -> Pending | None:
        return self._channel.ask(state, Look("variables", line))

    def _rows_of(self, state: NotebookState, kinds: str, pending: Pending | None) -> list[Row]:
        """The variables of a state: as its worker has them, and the names of those that it has only saved."""
        answer = pending.answer() if pending is not None else None
        rows, living = rows_of(answer.table if answer is not None else ""), self._places.living(state)
        own = self._remote.shell.user_ns
        for row in rows:
            is_same = row.name in own and row.name not in living
            row.where = "both" if is_same else _worker(state)
        if kinds.split():
            return rows
        rest = living - {row.name for row in rows}
        where = _worker(state) if pending is not None and answer is None else "saved"
        return rows + [Row(name, "", "", where) for name in sorted(rest)]


Variables.who.__doc__, Variables.whos.__doc__ = NamespaceMagics.who.__doc__, NamespaceMagics.whos.__doc__


def _worker(state: NotebookState) -> str:
    on = state.target.on if state.target is not None else ""
    return f"worker {on}" if on else "worker"


def rows_of(table: str) -> list[Row]:
    """The rows of a table of IPython's %whos, whose header says where the columns begin."""
    lines = table.splitlines()
    if not lines or not lines[0].startswith(_NAME):
        return []
    kind, data = lines[0].index(_TYPE), lines[0].index(_DATA)
    return [Row(line[:kind].strip(), line[kind:data].strip(), line[data:]) for line in lines[2:] if line.strip()]


def _print(rows: list[Row]) -> None:
    widths = [max(len(head), *(len(getattr(row, name)) for row in rows)) + 3
              for head, name in ((_NAME, "name"), (_TYPE, "kind"), (_WHERE, "where"))]
    head = _line(widths, _NAME, _TYPE, _WHERE, _DATA)
    print(head)
    print("-" * len(head))
    for row in rows:
        print(_line(widths, row.name, row.kind, row.where, row.data))


def _line(widths: list[int], *words: str) -> str:
    return "".join([*(word.ljust(width) for word, width in zip(words, widths, strict=False)), words[-1]]).rstrip()
