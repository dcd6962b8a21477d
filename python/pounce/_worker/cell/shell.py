"""The IPython that runs cells on a worker, in its main thread, with the worker's ``__main__`` as its namespace."""

from __future__ import annotations

import asyncio
import builtins
import getpass
import importlib.util
import json
import linecache
import os
import sys
import threading
import traceback
import types
from typing import Any

from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

from ..._common import exceptions, traceback_lines
from .. import interpreter
from .publish import Comm, Publisher, ResultHook, send, use_comms

may_ask = False  # a cell runs, and its kernel waits for it


class ZMQInteractiveShell(InteractiveShell):
    """Named as the notebook's: tqdm, rich, Hugging Face and others look at the name, the configuration and the modules
    of a shell to find out whether there is a page that can show more than text."""

    displayhook_class = Type(ResultHook)
    display_pub_class = Type(Publisher)
    stb: list[str] | None = None  # the last traceback, in lines

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        self.stb = list(stb)

    def showtraceback(self, exc_tuple: Any = None, *args: Any, **kwargs: Any) -> None:
        """IPython leaves exception groups to Python, which would print them here, and again in the notebook."""
        if not exceptions.leads_to_group((exc_tuple or sys.exc_info())[1]):
            super().showtraceback(exc_tuple, *args, **kwargs)
            return
        kind, error, trace = self._get_exc_info(exc_tuple)
        lines = traceback.format_exception(kind, error, traceback_lines.below(trace, "IPython", "pounce") or trace)
        self._showtraceback(kind, error, "".join(lines).splitlines())

    def ask_exit(self) -> None:
        print("The worker goes on: %pounce restart empties it, %pounce release gives it back.")

    def init_history(self) -> None:
        super().init_history()
        self.history_manager.enabled = False  # type: ignore[union-attr]  # the notebook keeps it

    def enable_gui(self, gui: Any = None) -> None:
        """There is no screen."""


class TerminalInteractiveShell(ZMQInteractiveShell):
    """Named as ipython's: the same libraries draw with text then."""


def make(page: bool) -> ZMQInteractiveShell:
    """Makes the shell. The kernel decides whether there is a `page`: plain ipython has none."""
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.xmode = "Context"
    if page:
        config.IPKernelApp.connection_file = ""
        stand_in = types.ModuleType("ipykernel.zmqshell")
        stand_in.ZMQInteractiveShell = ZMQInteractiveShell  # type: ignore[attr-defined]
        sys.modules.setdefault("ipykernel.zmqshell", stand_in)
    if importlib.util.find_spec("matplotlib_inline") is not None:
        os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    use_comms()
    asyncio.set_event_loop(asyncio.new_event_loop())
    kind = ZMQInteractiveShell if page else TerminalInteractiveShell
    shell = kind.instance(config=config, user_module=sys.modules["__main__"])
    shell.autoawait = True
    builtins.input = _input
    getpass.getpass = _getpass
    return shell


def the_only(page: bool, colors: str) -> ZMQInteractiveShell:
    """The shell of this process."""
    if ZMQInteractiveShell.initialized():
        return ZMQInteractiveShell.instance()
    shell = make(page)
    shell.colors = colors
    return shell


def know_files(shell: ZMQInteractiveShell, files: dict[str, tuple[int, str]]) -> None:
    """Registers the cells that the notebook's functions come from, so that tracebacks show their lines."""
    for filename, (number, text) in files.items():
        shell.compile._filename_map[filename] = number
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)


def _input(prompt: Any = "", /) -> str:
    return _ask(prompt, password=False)


def _getpass(prompt: Any = "Password: ", stream: Any = None, **_: Any) -> str:
    return _ask(prompt, password=True)


def _ask(prompt: Any, password: bool) -> str:
    """Asks the user at the notebook; the answer comes to the thread that runs the cell."""
    if not may_ask or threading.current_thread() is not threading.main_thread():
        raise StdinNotImplementedError("only a cell that runs in the foreground can ask, and only its main thread")
    send("input_request", {"prompt": str(prompt), "password": password})
    answer = interpreter.core.input()
    if answer is None:
        raise EOFError("the worker ends")
    reply = json.loads(answer)
    if "error" in reply:
        raise (EOFError if reply["error"] == "EOFError" else StdinNotImplementedError)(reply["text"])
    return str(reply["value"])


def run(shell: ZMQInteractiveShell, source: str, number: int, asks: bool, message: str, magic_line: bool = True) -> Any:
    """Runs one cell; returns IPython's result. The line of its magic, if it has one, counts, so that line numbers are
    the notebook's."""
    global may_ask
    problem, code = None, source
    try:
        code = "\n" * magic_line + shell.transform_cell(source)
    except Exception:
        problem = sys.exc_info()
    shell.execution_count = number
    shell.stb = None
    Comm.kernel.message = message
    cell = shell.run_cell_async(source, store_history=True, transformed_cell=code, preprocessing_exc_tuple=problem)
    may_ask = asks
    try:
        return _finished(cell)
    finally:
        may_ask = False
        shell.events.trigger("post_execute")


def _finished(coroutine: Any) -> Any:
    """Runs the coroutine on a loop, as a kernel does: libraries find the running loop."""
    loop = asyncio.get_event_loop_policy().get_event_loop()
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except KeyboardInterrupt:  # it came while the cell awaited
        task.cancel()
        return loop.run_until_complete(task)
