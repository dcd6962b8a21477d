"""The kernel's end of what a worker shows: Jupyter messages of the worker become this cell's own."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .shell import shell as ipython

COMMS = ("comm_open", "comm_msg", "comm_close")
comm_heard: Callable[[Any, dict[str, Any]], dict[str, Any]] | None = None  # see comm_for_page


def comm_for_page(session: Any, message: dict[str, Any]) -> dict[str, Any]:
    """A comm message of a worker, which came in this session, as the page gets it."""
    return comm_heard(session, message) if comm_heard is not None else message


def republish(message: dict[str, Any], buffers: list[Any]) -> None:
    """Shows one message of a worker; without a shell it is dropped."""
    shell = ipython()
    if shell is None:
        return
    kind, content = message["type"], message["content"]
    if kind in ("display_data", "update_display_data"):
        shell.display_pub.publish(content["data"], content["metadata"], transient=content["transient"],
                                  update=kind == "update_display_data")
    elif kind == "clear_output":
        shell.display_pub.clear_output(content["wait"])
    elif kind == "error":
        named = type(content["ename"], (Exception,), {})
        shell._showtraceback(named, content["evalue"], content["traceback"])
    elif kind == "page":
        from IPython.core.page import page

        page(content["data"], content["start"])
    elif kind == "next_input":
        shell.set_next_input(content["text"], replace=content["replace"])
    elif kind in COMMS and getattr(shell, "kernel", None) is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        comm(shell.kernel, message, buffers, shell.kernel.get_parent("shell"))


def show_below(messages: Sequence[dict[str, Any]]) -> None:
    """Shows messages of a worker below what the running cell's value or error shows."""
    shell = ipython()
    if shell is None or not messages:
        return

    def show() -> None:
        shell.events.unregister("post_execute", show)
        for message in messages:
            republish(message, [])

    shell.events.register("post_execute", show)


def ask(question: dict[str, Any]) -> dict[str, str]:
    """Asks the user on behalf of the code on the worker. A KeyboardInterrupt passes to the caller."""
    try:
        return {"value": (getpass.getpass if question["password"] else input)(question["prompt"])}
    except Exception as error:  # EOFError, or there is no terminal
        return {"error": type(error).__name__, "text": str(error)}


def comm(kernel: Any, message: dict[str, Any], buffers: list[Any], parent: Any) -> None:
    content = message["content"]
    kernel.session.send(kernel.iopub_socket, message["type"], content, metadata=message["metadata"], parent=parent,
                        ident=f"comm-{content['comm_id']}".encode(), buffers=[bytes(buffer) for buffer in buffers])


class Shown:
    """The value of a remote cell's last expression, as the worker showed it."""

    def __init__(self, data: dict[str, Any], metadata: dict[str, Any], number: int = 0):
        """`number`: the cell's, whose worker has the value; 0: none has it."""
        self._data, self._metadata, self.number = data, metadata, number

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self._data, self._metadata

    def __repr__(self) -> str:
        return self._data.get("text/plain", "<a value on a worker>")
