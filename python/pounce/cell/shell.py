"""The IPython that runs cells on a worker, in its main thread, with the worker's ``__main__`` as its namespace."""

from __future__ import annotations

import asyncio
import builtins
import getpass
import importlib.util
import os
import sys
import types
from typing import Any

from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

from .publish import Publisher, ResultHook, use_comms


class ZMQInteractiveShell(InteractiveShell):
    """Named as the notebook's: tqdm, rich, Hugging Face and others look at the name, the configuration and the modules
    of a shell to find out whether there is a page that can show more than text."""

    displayhook_class = Type(ResultHook)
    display_pub_class = Type(Publisher)
    stb: list[str] | None = None  # the last traceback, in lines

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        self.stb = list(stb)

    def ask_exit(self) -> None:
        print("The worker goes on: %pounce restart empties it, %pounce release gives it back.")

    def init_history(self) -> None:
        super().init_history()
        self.history_manager.enabled = False  # the notebook keeps it

    def enable_gui(self, gui: Any = None) -> None:
        """There is no screen."""


def make() -> ZMQInteractiveShell:
    config = Config()
    config.IPKernelApp.connection_file = ""
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.xmode = "Context"
    stand_in = types.ModuleType("ipykernel.zmqshell")
    stand_in.ZMQInteractiveShell = ZMQInteractiveShell  # type: ignore[attr-defined]
    sys.modules.setdefault("ipykernel.zmqshell", stand_in)
    if importlib.util.find_spec("matplotlib_inline") is not None:
        os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    use_comms()
    asyncio.set_event_loop(asyncio.new_event_loop())
    shell = ZMQInteractiveShell.instance(config=config, user_module=sys.modules["__main__"])
    shell.autoawait = True
    builtins.input = getpass.getpass = _input
    return shell


def _input(prompt: Any = "", *_: Any, **__: Any) -> str:
    raise StdinNotImplementedError("a cell on a worker cannot ask; ask in a cell of the notebook, and the answer is sent along")


def run(shell: ZMQInteractiveShell, source: str, number: int) -> Any:
    """Runs one cell; returns IPython's result. The line of the magic counts, so that line numbers are the notebook's."""
    problem, code = None, source
    try:
        code = "\n" + shell.transform_cell(source)
    except Exception:
        problem = sys.exc_info()
    shell.execution_count = number
    shell.stb = None
    cell = shell.run_cell_async(source, store_history=True, transformed_cell=code, preprocessing_exc_tuple=problem)
    try:
        return _finished(cell)
    finally:
        shell.events.trigger("post_execute")


def _finished(coroutine: Any) -> Any:
    """On a loop, as in a kernel: libraries that ask for the running one find it."""
    loop = asyncio.get_event_loop_policy().get_event_loop()
    task = loop.create_task(coroutine)
    try:
        return loop.run_until_complete(task)
    except KeyboardInterrupt:  # it struck while the cell awaited
        task.cancel()
        return loop.run_until_complete(task)
