"""What ``%pounce batch`` does: a notebook, a cell or a function of this kernel as a job script, and after it."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError

from .. import errors
from .._batch import making, notebook, run_folder
from .._batch.run import BatchRun
from .._common import here
from .._common.quiet_compile import python_of
from ..errors import BadRequest
from .batch_line import PARSER, BatchLine, parse, with_lines, with_targets
from .names import is_import, reads
from .options_line import parse_cell
from .remote import Remote
from .target import Target

_SUBMITS = "sbatch"  # the command for a terminal


def run(remote: Remote, words: Sequence[str]) -> Any:
    """Returns the line's value: the run, a run's result, or nothing."""
    try:
        return _run(remote, parse(words))
    except (BadRequest, errors.NoSuchName, errors.NameTaken) as error:
        raise UsageError(str(error)) from None


def _run(remote: Remote, line: BatchLine) -> Any:
    if line.help:
        print(PARSER.format_help())
        return None
    action, name = line.of_run
    if action:
        return _of_run(action, BatchRun(run_folder.found(name)))
    if not (line.notebook or line.cell or line.function):
        return _list()
    made = BatchRun(_made(remote, line))
    if line.submits:
        return submitted(made)
    print(f"written: {made.script}")
    print(f"not submitted: %pounce batch --submit does that, or a terminal: {_SUBMITS} {made.script}")
    return made


def submitted(made: BatchRun) -> BatchRun:
    print(f"written: {made.script}")
    made.submit()
    print(f"submitted: job {made.job}; %pounce batch --follow {made.name} shows what it prints")
    return made


def _of_run(action: str, there: BatchRun) -> Any:
    if action == "--result":
        return there.result()
    if action == "--follow":
        return there.follow()
    if action == "--cancel":
        there.cancel()
        return there
    there.submit()
    print(f"submitted: job {there.job}")
    return there


def _list() -> None:
    for name in (names := run_folder.names()):
        print(repr(BatchRun(run_folder.found(name))))
    if not names:
        print("there is no batch run yet: %pounce batch train.ipynb --submit; %pounce batch --help says more")


def _made(remote: Remote, line: BatchLine) -> run_folder.RunFolder:
    if line.function:
        return _function(remote, line)
    return _cell(remote, line) if line.cell else _notebook(line)


def _notebook(line: BatchLine) -> run_folder.RunFolder:
    path = Path(here.absolute(os.path.expanduser(line.notebook)))
    source = notebook.read(str(path))
    line = with_lines(line, notebook.worker_lines(source), notebook.hold_lines(source))
    # The notebook runs in its own folder, as its kernel does.
    return making.of_notebook(source, f"The notebook {path}", path.stem, line.parameters, _request(line),
                              brings=line.brings, directory=str(path.parent))


def of_running_cell(remote: Remote, number: int) -> BatchRun:
    """The cell that the notebook waits for, as a batch run that is not submitted yet.

    Raises
    ------
    BadRequest
    """
    return BatchRun(_cell(remote, BatchLine(cell=number), is_running=True))


def _cell(remote: Remote, line: BatchLine, is_running: bool = False) -> run_folder.RunFolder:
    inputs = remote.shell.history_manager.input_hist_raw
    text = inputs[line.cell] if line.cell < len(inputs) - (not is_running) else ""
    if not text.strip():
        raise BadRequest(f"there is no cell {line.cell} in this kernel",
                         f"Name one that has run: 1 to {len(inputs) - 2}.")
    first, _, rest = text.partition("\n")
    brings = line.brings
    if first.startswith("%%pounce"):
        cell_line, text = parse_cell(first.removeprefix("%%pounce")), rest
        line, brings = with_targets(line, [cell_line.target]), brings or cell_line.brings
    else:
        line = with_targets(line, [], _held(remote))
    names = [name for name in _names(remote, line.cell, text) if name not in line.parameters]
    remote.require_here(names)
    values = {name: remote.shell.user_ns[name] for name in names if remote.is_ours(name)}
    values = {name: value for name, value in values.items() if not _is_of_shell(name, value)}
    source = notebook.of_one_cell(text)
    if line.parameters:
        source["cells"].insert(0, notebook.code_cell(notebook.as_source(line.parameters), "injected-parameters"))
    return making.of_notebook(source, f"Cell {line.cell} of a notebook in {here.folder()}", f"cell-{line.cell}", {},
                              _request(line), values, brings)


def _held(remote: Remote) -> list[Target]:
    return [remote.hold.requested] if remote.hold is not None and remote.hold.is_there else []


def _names(remote: Remote, number: int, text: str) -> list[str]:
    try:
        tree = ast.parse(python_of(remote.shell, text))
    except SyntaxError as error:
        raise BadRequest(f"cell {number} is no Python: {error}") from None
    return sorted(reads(tree))


def _is_of_shell(name: str, value: Any) -> bool:
    is_pounce = is_import(value) and getattr(value, "__name__", "") == "pounce"
    return name in ("get_ipython", "In", "Out", "exit", "quit") or is_pounce


def _function(remote: Remote, line: BatchLine) -> run_folder.RunFolder:
    remote.require_here([line.function])
    line = with_targets(line, [], _held(remote))
    function = remote.shell.user_ns.get(line.function)
    if not callable(function):
        raise BadRequest(f"there is no function {line.function} in this notebook", "Run the cell that defines it.")
    if line.brings:
        raise BadRequest("--out is for variables of a notebook or a cell; a function returns its result",
                         "Leave --out away.")
    return making.of_function(function, (), line.parameters, _request(line))


def _request(line: BatchLine) -> making.Request:
    return making.Request(line.options, line.env, line.name, line.folder)
