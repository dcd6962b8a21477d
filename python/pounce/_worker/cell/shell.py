"""The IPython that runs cells on a worker, in its main thread, with the worker's ``__main__`` as its namespace."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import contextvars
import getpass
import importlib.util
import json
import os
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Type
from traitlets.config import Config

from ... import errors
from ..._common import exceptions, traceback_lines
from ..._common.mlflow_work import SECRETS
from .. import interpreter
from ..state import cell_files
from . import held, kept, time_limit
from .comms import Comm, use_comms
from .publish import Publisher, ResultHook, send

may_ask = False  # a cell runs, and its kernel waits for it


class ZMQInteractiveShell(InteractiveShell):
    """Named as the notebook's: tqdm, rich, Hugging Face and others look at the name, the configuration and the modules
    of a shell to find out whether there is a page that can show more than text."""

    displayhook_class = Type(ResultHook)
    display_pub_class = Type(Publisher)
    stb: list[str] | None = None  # the traceback of the cell's own error, in lines: the notebook shows it
    problem: Any = None  # the cell's, found before it runs
    own_result: Any = None  # of the cell
    _inside = 0  # of the code that shows an error, which is then not the cell's own: run_cell() in a cell, %run, a repr

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        if self._inside:
            send("error", {"ename": etype.__name__, "evalue": text_of(evalue), "traceback": list(stb)})
        else:
            self.stb = list(stb)

    def _format_exception_for_storage(self, exception: BaseException, *_: Any, **__: Any) -> Any:
        """For a history that the notebook keeps: IPython fails here if the error has no text."""
        return {"ename": type(exception).__name__, "evalue": text_of(exception), "traceback": []}

    def show_usage_error(self, exc: Any) -> None:
        if self._inside:
            super().show_usage_error(exc)

    def showtraceback(self, exc_tuple: Any = None, filename: Any = None, tb_offset: Any = None,
                      exception_only: bool = False, running_compiled_code: bool = False) -> None:
        """IPython leaves exception groups to Python, which would print them here, and again in the notebook."""
        try:
            error = self._get_exc_info(exc_tuple)[1]
        except ValueError:  # there is none to show
            error = None
        if isinstance(error, (errors.WalltimeReached, KeyboardInterrupt)):
            traceback_lines.cut(error.__traceback__, time_limit.__name__)  # as a plain kernel shows neither
        with self._of_code_inside(not running_compiled_code and not any(error is own for own in self._own_errors())):
            if not exceptions.leads_to_group(error):
                super().showtraceback(exc_tuple, filename, tb_offset, exception_only, running_compiled_code)
                return
            kind, error, trace = self._get_exc_info(exc_tuple)
            lines = traceback.format_exception(kind, error, traceback_lines.below(trace, "IPython", "pounce") or trace)
            self._showtraceback(kind, error, "".join(lines).splitlines())

    def _own_errors(self) -> list[Any]:
        """The errors that end the cell, as far as there are any yet."""
        result = self.own_result
        found = [self.problem, *([result.error_before_exec, result.error_in_exec] if result is not None else [])]
        return [error for error in found if error is not None]

    async def run_ast_nodes(self, *args: Any, **kwargs: Any) -> Any:
        if not self._inside:
            self.own_result = kwargs.get("result")
        return await super().run_ast_nodes(*args, **kwargs)

    def run_cell(self, *args: Any, **kwargs: Any) -> Any:
        with self._of_code_inside(True):
            return super().run_cell(*args, **kwargs)

    @contextlib.contextmanager
    def _of_code_inside(self, is_inside: bool) -> Iterator[None]:
        self._inside += is_inside
        try:
            yield
        finally:
            self._inside -= is_inside

    def set_next_input(self, s: str, replace: bool = False) -> None:
        send("next_input", {"text": s, "replace": replace})

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
    shell.compile._filename_map = cell_files.numbers
    shell.autoawait = True
    if page:
        shell.set_hook("show_in_pager", _page, 99)
        _figures(shell).for_type_by_name("matplotlib.figure", "Figure", _figure)
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


def know_files(files: dict[str, tuple[int, str]]) -> None:
    """Registers the cells that the notebook's functions come from, so that tracebacks show their lines."""
    for filename, (number, text) in files.items():
        cell_files.know(cell_files.CellFile(filename, number, text))


def text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "its message cannot be shown"


def _figures(shell: Any) -> Any:
    return shell.display_formatter.formatters["image/png"]


def _figure(figure: Any) -> Any:
    """IPython shows figures once pyplot is imported, which a restored figure does not need."""
    import matplotlib_inline.backend_inline  # noqa: F401

    formatter = _figures(InteractiveShell.instance())
    return None if formatter.lookup(figure) is _figure else formatter(figure)


def _page(_: Any, data: Any, start: int = 0, **__: Any) -> None:
    send("page", {"data": data if isinstance(data, dict) else {"text/plain": data}, "start": start})


def _input(prompt: Any = "", /) -> str:
    return _ask(prompt, password=False)


def _getpass(prompt: Any = "Password: ", stream: Any = None, **_: Any) -> str:
    return _ask(prompt, password=True)


def _ask(prompt: Any, password: bool) -> str:
    """Asks the user at the notebook; the answer comes to the thread that runs the cell."""
    if not may_ask or threading.current_thread() is not threading.main_thread():
        raise StdinNotImplementedError("only a cell that runs in the foreground can ask, and only its main thread")
    send("input_request", {"prompt": str(prompt), "password": password})
    while True:
        answer = kept.input() if held.is_kept() else interpreter.core.input()
        if answer is None:
            raise EOFError("the worker ends, or the notebook that could answer has gone")
        reply = json.loads(answer)
        if SECRETS not in reply:  # which a request of MLflow's did not wait for
            break
    if "error" in reply:
        raise (EOFError if reply["error"] == "EOFError" else StdinNotImplementedError)(reply["text"])
    return str(reply["value"])


def run(shell: ZMQInteractiveShell, source: str, number: int, asks: bool, message: str, magic_line: bool = True,
        holds: bool = False) -> Any:
    """Runs one cell; returns IPython's result. The line of its magic, if it has one, counts, so that line numbers are
    the notebook's. `holds`: figures that are shown at its end are held back, for below its value."""
    global may_ask
    problem, code = None, source
    try:
        code = "\n" * magic_line + shell.transform_cell(source)
    except Exception:
        problem = sys.exc_info()
    shell.execution_count = number
    shell.stb, shell.own_result, shell.problem = None, None, problem and problem[1]
    Comm.kernel.message = message
    cell = shell.run_cell_async(source, store_history=True, transformed_cell=code, preprocessing_exc_tuple=problem)
    may_ask = asks
    try:
        result = _finished(cell)
    finally:
        may_ask = False
        publisher: Any = shell.display_pub
        publisher.below = [] if holds else None
        shell.events.trigger("post_execute")
    shell.events.trigger("post_run_cell", result)
    return result


def run_callback(function: Callable[[], Any]) -> Any:
    """Calls it between two cells, on the loop that cells run on."""

    async def call() -> tuple[Any, BaseException | None]:
        try:
            return function(), None
        except BaseException as error:  # asyncio's loop goes on for ever behind a task that an interrupt ended
            return None, error

    value, error = _finished(call())
    if error is not None:
        raise error
    return value


def _finished(coroutine: Any) -> Any:
    """Runs the coroutine on a loop, as a kernel does: libraries find the running loop."""
    loop = asyncio.get_event_loop_policy().get_event_loop()
    variables: dict[contextvars.ContextVar[Any], Any] = {}
    task = loop.create_task(_with_variables(coroutine, variables))
    try:
        return loop.run_until_complete(task)
    except (KeyboardInterrupt, errors.WalltimeReached):  # it came while the cell awaited
        task.cancel()
        return loop.run_until_complete(task)
    finally:
        for variable, value in variables.items():
            variable.set(value)


async def _with_variables(coroutine: Any, variables: dict[contextvars.ContextVar[Any], Any]) -> Any:
    """A task has a copy of the context, while a kernel runs all cells in one. numpy's options of printing and the
    decimal context are variables of it."""
    try:
        return await coroutine
    finally:
        variables.update(contextvars.copy_context())
