"""Shift and tab on a name that lives on a worker: signature, docstring and source by its own IPython."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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


class Pages:
    """In front of ``_inspect`` of a shell: what ``name?`` and ``name??`` page in a cell that runs in the notebook."""

    def __init__(self, shell: Any, channel: LookChannel, places: Places):
        self._shell, self._channel, self._places = shell, channel, places
        self._local = shell._inspect

    def inspect(self, method: str, name: str, namespaces: Any = None, **options: Any) -> Any:
        home = self._places.home(first_name(name)) if method == "pinfo" and namespaces is None else None
        if home is None:
            return self._local(method, name, namespaces, **options)
        found = _bundle([self._channel.ask(home, Look("inspect", name, detail=options.get("detail_level", 0)))])
        if found is None:
            return say(f"{name} is not in the notebook, and no worker tells of it now: a %%pounce cell that reads "
                       f"{first_name(name)} brings it back")
        from IPython.core.page import page

        if not self._shell.enable_html_pager:
            found.pop("text/html", None)
        return page(found)


def first_name(name: str) -> str:
    return name.strip().partition(".")[0].partition("[")[0]


def _bundle(asked: list[Pending | None]) -> dict[str, str] | None:
    answers = [pending.answer() for pending in asked if pending is not None]
    return next((answer.bundle for answer in answers if answer is not None and answer.bundle is not None), None)
