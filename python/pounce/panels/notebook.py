"""The panel in a notebook: a widget of anywidget's where the front end has widgets, and text where not."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from .. import errors
from .._engine.submission import open_sessions
from ..lease import of_session
from . import actions, rows

_STATUS_S = 5.0
_LOOK_S = 1.0
_OPEN_S = 5.0  # a page that is seen asks each second
_CHOICES_S = 60.0  # Slurm is asked for them


class Notebook:
    """What a notebook's panel shows, and what its buttons do. Any thread."""

    def __init__(self, remote: Any):
        self._remote = remote
        self._choices: dict[int, tuple[float, list[Any]]] = {}  # of waiting cells, by id(): when they were known
        self._turn = threading.Lock()

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            trouble = self._done(request)
            return {**self.look(), **({"trouble": trouble} if trouble else {})}
        except errors.PounceError as error:
            return {"trouble": str(error)}

    def look(self) -> dict[str, Any]:
        sessions = open_sessions()
        states = [(name, job, job.state) for name, job in self._jobs()]
        cells = [rows.cell_of(name, state == "waiting", job.log(), self._choices_of(job) if state == "waiting" else ())
                 for name, job, state in states if state != "done"]
        if not sessions:
            return {"leases": [], "cells": cells}
        own = frozenset(lease.id for session in sessions for lease in of_session(session))
        return {"leases": rows.leases_of(sessions[0].status(_STATUS_S), time.time(), own), "cells": cells}

    def _done(self, request: Mapping[str, Any]) -> str:
        """Returns why it could not be done."""
        match request.get("do"):
            case "release":
                return actions.release(str(request.get("lease", "")))
            case "stop" | "take" as verb:
                job = dict(self._jobs()).get(str(request.get("cell", "")))
                if job is None:
                    return "that cell has ended"
                if verb == "stop":
                    job.cancel()
                elif not job.take(str(request.get("option", ""))):
                    return "that cell does not wait any more"
        return ""

    def _jobs(self) -> Iterator[tuple[str, Any]]:
        names = {id(value): name for name, value in list(self._remote.shell.user_ns.items()) if name[:1] != "_"}
        for number, job in enumerate(self._remote.jobs, 1):
            yield names.get(id(job), str(number)), job

    def _choices_of(self, job: Any) -> list[dict[str, str]]:
        """What a cell that waits could have now. Known a moment later: Slurm is asked on another thread."""
        with self._turn:
            since, known = self._choices.get(id(job), (-_CHOICES_S, []))
            if time.monotonic() - since >= _CHOICES_S:
                self._choices[id(job)] = time.monotonic(), known
                threading.Thread(target=self._ask_choices, args=(job,), name="pounce-choices", daemon=True).start()
        return [{"option": choice.option, "words": str(choice)} for choice in known]

    def _ask_choices(self, job: Any) -> None:
        try:
            found = [choice for choice in job.choices() if choice.now and choice.kind in ("gpu", "cpu", "class")]
        except errors.PounceError:
            return
        with self._turn:
            self._choices[id(job)] = time.monotonic(), found


def panel() -> Any:
    """What this notebook's user holds on the cluster, as a picture: leases with their GPU, memory and time left, what
    waits and why, background cells with their last line; and buttons that release, stop, and take a smaller GPU that is
    free. The same as ``%pounce panel``.

    Returns
    -------
    object
        Shows itself: with ``anywidget`` in a front end that has widgets it is live (its page asks once a second, while
        it is seen); elsewhere it is text, as of now.

    Raises
    ------
    BadRequest
        This is no notebook.

    Examples
    --------
    >>> pounce.panel()  # doctest: +SKIP
    """
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    shell = get_ipython() if get_ipython is not None else None
    if shell is None:
        raise errors.BadRequest("pounce.panel() is for notebooks", "pouncectl panel shows the same in a browser.")
    return panel_of(shell.magics_manager.registry["PounceMagics"].remote)


_panels: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def panel_of(remote: Any) -> Any:
    """The panel of this notebook, to display: always the same one."""
    if remote not in _panels:
        _panels[remote] = _new_panel(remote)
    return _panels[remote]


def _new_panel(remote: Any) -> Any:
    notebook = Notebook(remote)
    if getattr(remote.shell, "kernel", None) is None:
        return Text(notebook, "")
    if importlib.util.find_spec("anywidget") is None:
        return Text(notebook, "for a live one with buttons: pip install anywidget, or pouncectl panel in a terminal")
    return _widget(notebook, remote.shell)


class Text:
    """The panel as text, as it is when it is shown."""

    def __init__(self, notebook: Notebook, hint: str):
        self._notebook, self._hint = notebook, hint

    def __repr__(self) -> str:
        return "\n".join(filter(None, (_text(self._notebook), self._hint)))


def _text(notebook: Notebook) -> str:
    facts = notebook.answer({})
    return facts.get("trouble") or rows.as_text(facts["leases"], facts["cells"])


def _widget(notebook: Notebook, shell: Any) -> Any:
    anywidget: Any = importlib.import_module("anywidget")
    page = resources.files(__package__) / "page"

    class Panel(anywidget.AnyWidget):
        """Answers its page, which asks each second while it is seen. A page that is closed costs nothing."""

        _esm = (page / "panel.mjs").read_text()
        _css = (page / "panel.css").read_text()

        def __init__(self) -> None:
            super().__init__()
            self._beside = BesideACell(shell, lambda: self.send({**notebook.answer({}), "pushed": True}))
            self.on_msg(self._asked)

        def _asked(self, _: Any, content: dict[str, Any], buffers: Any) -> None:
            if content.get("do") == "closed":
                return self._beside.page_closed()
            self._beside.page_asked()
            self.send(notebook.answer(content))

        def __repr__(self) -> str:
            return _text(notebook)

    return Panel()


class BesideACell:
    """While a cell runs, a kernel without subshells hears nothing of a page: what an open one would ask for is sent
    each second, from another thread."""

    def __init__(self, shell: Any, send: Any):
        self._send = send
        self._asked = -_OPEN_S
        self._cell_ended = threading.Event()
        self._shell = shell
        shell.events.register("pre_run_cell", self._begins)
        shell.events.register("post_run_cell", self._ends)

    def page_asked(self) -> None:
        self._asked = time.monotonic()

    def page_closed(self) -> None:
        self._asked = -_OPEN_S

    def _begins(self, *_: Any) -> None:
        if time.monotonic() - self._asked < _OPEN_S:
            self._cell_ended = threading.Event()
            threading.Thread(target=self._run, args=(self._cell_ended,), name="pounce-panel", daemon=True).start()

    def _ends(self, *_: Any) -> None:
        self._cell_ended.set()

    def _run(self, cell_ended: threading.Event) -> None:
        while not cell_ended.wait(_LOOK_S):
            if time.monotonic() - self._asked > 1.5 * _LOOK_S:  # not answered already, by a subshell
                self._send()
