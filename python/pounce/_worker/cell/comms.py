"""The comms of widgets that cells made here, to the page through the kernel, and back to life after a restore."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import comm
from comm.base_comm import BaseComm

from ... import errors
from .. import interpreter
from .comm_events import HERE, Json
from .publish import send

_unpickled: list[Comm] = []  # the newest at the end


class StandInKernel:
    """The part of a kernel that an output widget needs: the message of the cell whose output it captures."""

    message = ""

    def get_parent(self) -> Json:
        return {"header": {"msg_id": self.message}} if self.message else {}


class Comm(BaseComm):
    """A widget's connection to the page, through the kernel."""

    kernel = StandInKernel()
    is_back = False  # it is opened once more, after its widget was restored

    def publish_msg(self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None,
                    **keys: Any) -> None:
        if interpreter.core is None:
            raise errors.BadRequest("this widget lives on the worker that made it, and the notebook has a copy",
                                    "Change it in a %%pounce cell.")
        if msg_type == "comm_open" and Comm.is_back:
            msg_type = HERE
        send(msg_type, {"comm_id": self.comm_id, "data": data or {}, **keys}, metadata, buffers)

    def __getstate__(self) -> Json:
        """Of a copy, which is closed: nothing is sent when that goes. traitlets leaves out who observes a widget."""
        return {**self.__dict__, "_closed": True, "observers": _observers(_widget_of(self))}

    def __setstate__(self, state: Json) -> None:
        self.__dict__.update(state)
        if interpreter.core is not None:
            _unpickled.append(self)


def _widget_of(one: Comm) -> Any:
    return getattr(one._msg_callback, "__self__", None)


def _observers(widget: Any) -> list[tuple[str, str, Any]]:
    """The trait, the type of the event and the function of each that was added to the widget."""
    known = getattr(widget, "_trait_notifiers", {})
    return [(name, kind, function) for name, kinds in known.items() for kind, functions in kinds.items()
            for function in functions if type(function).__module__ != "traitlets.traitlets"]


def use_comms() -> None:
    comm.create_comm = Comm


def revive() -> None:
    """Widgets that were restored, or sent back, answer from now on."""
    copies = list(_unpickled)
    _unpickled.clear()
    widgets = {copy.comm_id: _widget_of(copy) for copy in copies}
    for copy in copies:
        for id in _below(copy.comm_id, widgets, set()):
            _open_again(widgets.pop(id))


def _below(id: str, widgets: Json, seen: set[str]) -> Iterator[str]:
    """A widget behind those that it refers to."""
    widget = widgets.get(id)
    if id in seen or widget is None:
        return
    seen.add(id)
    for value in _values(getattr(widget, "_trait_values", {})):
        yield from _below(getattr(getattr(value, "comm", None), "comm_id", ""), widgets, seen)
    yield id


def _values(of: Json) -> Iterator[Any]:
    for value in of.values():
        yield from value if isinstance(value, (list, tuple)) else (value,)


def _open_again(widget: Any) -> None:
    if not hasattr(widget, "open") or widget.comm is None:
        return
    for name, kind, function in widget.comm.__dict__.pop("observers", ()):
        if (name, kind, function) not in _observers(widget):
            widget.observe(function, name, kind)
    Comm.is_back, widget.comm = True, None  # it keeps its id
    try:
        widget.open()
    finally:
        Comm.is_back = False


def names_of_widgets(names: Json) -> dict[str, str]:
    """The variable that each widget is, or is in, by the comm's id."""
    module = sys.modules.get("ipywidgets")
    if module is None:
        return {}
    found: dict[str, str] = {}
    for name, value in list(names.items()):
        if isinstance(value, module.Widget) and not name.startswith("_"):
            _name(value, name, found)
    return found


def _name(widget: Any, name: str, found: dict[str, str]) -> None:
    if widget.comm is None or widget.comm.comm_id in found:
        return
    found[widget.comm.comm_id] = name
    for child in getattr(widget, "children", ()):
        if hasattr(child, "comm"):
            _name(child, name, found)
