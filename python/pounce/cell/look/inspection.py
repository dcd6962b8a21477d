"""Shift and tab on a name that lives on a worker: signature, docstring and source by its own IPython."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magics.namespace import NamespaceMagics

from ..._common.cell_protocol import Look
from ..stop import say
from .channel import LookChannel, Pending
from .places import Places


class Inspection:
    """In front of ``object_inspect_mime`` of a shell, in the same form."""

    def __init__(self, shell: Any, channel: LookChannel, places: Places, states: Any):
        self._channel, self._places, self._states = channel, places, states
        self._local = shell.object_inspect_mime

    def inspect(self, name: str, detail_level: int = 0, omit_sections: Iterable[str] = ()) -> dict[str, str]:
        look = Look("inspect", name, detail=detail_level, omit=list(omit_sections))
        home = self._places.home(first_name(name))
        found = _bundle([self._channel.ask(home, look)]) if home is not None else None
        if found is not None:
            return found
        try:
            return dict(self._local(name, detail_level, omit_sections))
        except KeyError:  # a cell that still runs may have it
            found = _bundle([self._channel.ask(state, look) for state in self._states() if state is not home])
            if found is None:
                raise
            return found


@magics_class
class Questions(Magics):
    """What ``name?`` and ``name??`` page in a cell that runs in the notebook."""

    def __init__(self, shell: Any, channel: LookChannel, places: Places):
        super().__init__(shell)
        self._user_shell, self._channel, self._places = shell, channel, places
        self._plain: Any = NamespaceMagics(shell)

    @line_magic("pinfo")  # type: ignore[arg-type]
    def pinfo(self, line: str = "", namespaces: Any = None) -> None:
        """IPython's own. Of a name that lives on a worker it shows what that knows."""
        if namespaces is not None or not self._paged(line, 0):
            self._plain.pinfo(line, namespaces)

    @line_magic("pinfo2")  # type: ignore[arg-type]
    def pinfo2(self, line: str = "", namespaces: Any = None) -> None:
        """IPython's own, with the source. Of a name that lives on a worker it shows what that knows."""
        if namespaces is not None or not self._paged(line, 1):
            self._plain.pinfo2(line, namespaces)

    def _paged(self, name: str, detail: int) -> bool:
        """False: the name lives in the notebook, or nowhere."""
        home = self._places.home(first_name(name))
        if home is None:
            return False
        found = _bundle([self._channel.ask(home, Look("inspect", name.strip(), detail=detail))])
        if found is None:
            say(f"{name} is not in the notebook, and no worker tells of it now: a %%pounce cell that reads "
                f"{first_name(name)} brings it back")
            return True
        from IPython.core.page import page

        if not self._user_shell.enable_html_pager:
            found.pop("text/html", None)
        page(found)
        return True


def first_name(name: str) -> str:
    return name.strip().partition(".")[0].partition("[")[0]


def _bundle(asked: list[Pending | None]) -> dict[str, str] | None:
    answers = [pending.answer() for pending in asked if pending is not None]
    return next((answer.bundle for answer in answers if answer is not None and answer.bundle is not None), None)
