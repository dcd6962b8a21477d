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
from ..errors import BadRequest
from .batch_line import PARSER, BatchLine, parse, with_lines, with_places
from .names import is_import, reads
from .options_line import parse_cell
from .place import Place
from .remote import Remote

_SUBMITS = "sbatch"  # what a terminal has for it


def run(remote: Remote, words: Sequence[str]) -> Any:
    """Returns what the line is worth: the run, a run's result, or nothing."""
    try:
        return _run(remote, parse(words))
    except (BadRequest, errors.NoSuchName, errors.NameTaken) as error:
        raise UsageError(str(error)) from None


def _run(remote: Remote, asked: BatchLine) -> Any:
    if asked.help:
        print(PARSER.format_help())
        return None
    deed, name = asked.of_run
    if deed:
        return _of_run(deed, BatchRun(run_folder.found(name)))
    if not (asked.notebook or asked.cell or asked.function):
        return _list()
    made = BatchRun(_made(remote, asked))
    print(f"written: {made.script}")
    if asked.submits:
        made.submit()
        print(f"submitted: job {made.job}; %pounce batch --follow {made.name} shows what it prints")
    else:
        print(f"not submitted: %pounce batch --submit does that, or a terminal: {_SUBMITS} {made.script}")
    return made


def _of_run(deed: str, there: BatchRun) -> Any:
    if deed == "--result":
        return there.result()
    if deed == "--follow":
        return there.follow()
    if deed == "--cancel":
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


def _made(remote: Remote, asked: BatchLine) -> run_folder.RunFolder:
    if asked.function:
        return _function(remote, asked)
    return _cell(remote, asked) if asked.cell else _notebook(asked)


def _notebook(asked: BatchLine) -> run_folder.RunFolder:
    path = Path(here.absolute(os.path.expanduser(asked.notebook)))
    source = notebook.read(str(path))
    asked = with_lines(asked, notebook.worker_lines(source), notebook.hold_lines(source))
    # It runs in its own folder, as its kernel does.
    return making.of_notebook(source, f"The notebook {path}", path.stem, asked.parameters, _asked(asked), brings=asked.brings,
                              directory=str(path.parent))


def _cell(remote: Remote, asked: BatchLine) -> run_folder.RunFolder:
    inputs = remote.shell.history_manager.input_hist_raw
    text = inputs[asked.cell] if asked.cell < len(inputs) - 1 else ""
    if not text.strip():
        raise BadRequest(f"there is no cell {asked.cell} in this kernel", f"Name one that has run: 1 to {len(inputs) - 2}.")
    first, _, rest = text.partition("\n")
    brings = asked.brings
    if first.startswith("%%pounce"):
        line, text = parse_cell(first.removeprefix("%%pounce")), rest
        asked, brings = with_places(asked, [line.place]), brings or line.brings
    else:
        asked = with_places(asked, [], _held(remote))
    names = [name for name in _names(remote, asked.cell, text) if name not in asked.parameters]
    remote.require_here(names)
    values = {name: remote.shell.user_ns[name] for name in names if remote.is_ours(name)}
    source = notebook.of_one_cell(text)
    if asked.parameters:
        source["cells"].insert(0, notebook.code_cell(notebook.as_source(asked.parameters), "injected-parameters"))
    return making.of_notebook(source, f"Cell {asked.cell} of a notebook in {here.folder()}", f"cell-{asked.cell}", {}, _asked(asked),
                              {name: value for name, value in values.items() if not _is_of_shell(name, value)}, brings)


def _held(remote: Remote) -> list[Place]:
    return [remote.hold.asked] if remote.hold is not None and remote.hold.is_there else []


def _names(remote: Remote, number: int, text: str) -> list[str]:
    try:
        tree = ast.parse(remote.shell.transform_cell(text))
    except SyntaxError as error:
        raise BadRequest(f"cell {number} is no Python: {error}") from None
    return sorted(reads(tree))


def _is_of_shell(name: str, value: Any) -> bool:
    return name in ("get_ipython", "In", "Out", "exit", "quit") or (is_import(value) and getattr(value, "__name__", "") == "pounce")


def _function(remote: Remote, asked: BatchLine) -> run_folder.RunFolder:
    remote.require_here([asked.function])
    asked = with_places(asked, [], _held(remote))
    function = remote.shell.user_ns.get(asked.function)
    if not callable(function):
        raise BadRequest(f"there is no function {asked.function} in this notebook", "Run the cell that defines it.")
    if asked.brings:
        raise BadRequest("--out is for variables of a notebook or a cell; a function returns its result", "Leave --out away.")
    return making.of_function(function, (), asked.parameters, _asked(asked))


def _asked(asked: BatchLine) -> making.Asked:
    return making.Asked(asked.options, asked.env, asked.name, asked.folder)
