"""A notebook as a batch run executes it: its parameters are set, and cells for workers become plain ones."""

from __future__ import annotations

import ast
import contextlib
import copy
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from .._engine.resource_words import did_you_mean
from ..errors import BadRequest

_REST = r"(?:.*\\\n)*.*"  # a line magic goes on behind a backslash at the line's end
_OURS = re.compile(r"^(?P<indent>[ \t]*)(?P<line>%%pounce\b.*"
                   rf"|%(?:pounce|(?:load_ext|reload_ext)[ \t]+pounce)\b{_REST})", re.MULTILINE)
_HOLD = re.compile(rf"^[ \t]*%pounce[ \t]+(hold\b{_REST})", re.MULTILINE)
_GOES_ON = re.compile(r"^[ \t]*[%!](?:.*\\\n)+.*", re.MULTILINE)
_NO_PYTHON = re.compile(r"^\s*[%!?]|\?\s*$")
_ASKS = ("input", "getpass")
_INJECTED = "injected-parameters"  # papermill's tag of such a cell
_KERNELS = {"ir": "R", "bash": "bash"}  # kernels that some tools register without their language


def read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            notebook = json.load(file)
    except OSError as problem:
        raise BadRequest(f"{path} cannot be read: {problem.strerror}", "Name a notebook that is there.") from None
    except ValueError:
        raise BadRequest(f"{path} is no notebook: it is not JSON", "Name a file that JupyterLab has saved.") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list) or notebook.get("nbformat") != 4:
        raise BadRequest(f"{path} is no notebook of format 4", "Open it in JupyterLab and save it again.")
    if (language := language_of(notebook)).lower() != "python":
        raise BadRequest(f"{path} is a notebook in {language}, and a batch run executes Python",
                         f"In a script of your own, jupyter nbconvert --to notebook --execute {path} starts its own "
                         "kernel.")
    return notebook


def language_of(notebook: Mapping[str, Any]) -> str:
    """The language of its kernel; Python if the notebook does not say."""
    metadata = notebook.get("metadata") or {}
    kernel, last_run = metadata.get("kernelspec") or {}, metadata.get("language_info") or {}
    of_kernel = kernel.get("language") or _KERNELS.get(str(kernel.get("name", "")))
    return str(of_kernel or last_run.get("name") or "Python")


def of_one_cell(source: str) -> dict[str, Any]:
    return {"cells": [code_cell(source)], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}


def code_cell(source: str, *tags: str) -> dict[str, Any]:
    metadata = {"tags": list(tags)} if tags else {}
    return {"cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": [], "source": source}


def for_batch(notebook: dict[str, Any], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A copy to execute: nothing is run here.

    Raises
    ------
    BadRequest
        A cell asks the user a question. There are parameters but no cell of parameters, or that cell does not set them.
    """
    made = copy.deepcopy(notebook)
    for number, cell in code_cells(made):
        text = source_of(cell)
        _refuse_questions(number, text)
        cell.update(source=_OURS.sub(_as_comment, text), outputs=[], execution_count=None)
    if parameters:
        _set(made, parameters)
    return made


def with_ids(notebook: dict[str, Any]) -> dict[str, Any]:
    """Gives each cell an id, if the format requires one."""
    if notebook.get("nbformat_minor", 0) >= 5:
        for number, cell in enumerate(notebook["cells"]):
            cell.setdefault("id", f"pounce-{number}")
    return notebook


def code_cells(notebook: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """With their number among the code cells, from 1."""
    yield from enumerate((cell for cell in notebook["cells"] if cell.get("cell_type") == "code"), 1)


def source_of(cell: Mapping[str, Any]) -> str:
    return "".join(cell["source"])


def worker_lines(notebook: Mapping[str, Any]) -> list[str]:
    """The text after ``%%pounce`` in its cells."""
    first = (source_of(cell).lstrip().partition("\n")[0].strip() for _, cell in code_cells(notebook))
    return [line.removeprefix("%%pounce").strip() for line in first if re.match(r"%%pounce\b", line)]


def hold_lines(notebook: Mapping[str, Any]) -> list[str]:
    """The text after ``%pounce`` in lines with which the notebook takes a worker and keeps it."""
    matches = (match for _, cell in code_cells(notebook) for match in _HOLD.finditer(source_of(cell)))
    return [match[1].replace("\\\n", " ").strip() for match in matches]


def _as_comment(match: re.Match[str]) -> str:
    """The line as a comment; with `pass` in a block, which may have no other statement."""
    first, *more = match["line"].split("\n")
    indent = match["indent"]
    comments = (f"{indent}# {line.strip()}" for line in more)
    return "\n".join([f"{indent}{'pass  ' if indent else ''}# {first}", *comments])


def _tree(text: str) -> ast.Module | None:
    """The text parsed without IPython's lines; None: it is not Python, and running it will say so."""
    lines = _GOES_ON.sub(lambda match: match[0].replace("\\\n", " "), text).splitlines()
    for in_blocks in (False, True):  # a line of an expression may also begin like one of IPython: `    % divisor)`
        with contextlib.suppress(SyntaxError):
            return ast.parse("\n".join(_without_ipython(line, in_blocks) for line in lines))
    return None


def _without_ipython(line: str, in_blocks: bool) -> str:
    code = line.lstrip()
    indent = line[: len(line) - len(code)]
    return f"{indent}pass" if _NO_PYTHON.search(line) and (in_blocks or not indent) else line


def asks(text: str) -> str:
    """The first call in it that waits for the user's answer; empty: there is none."""
    tree = _tree(text)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call):
            called = node.func
            name = (called.id if isinstance(called, ast.Name)
                    else called.attr if isinstance(called, ast.Attribute) else "")
            if name in _ASKS and (isinstance(called, ast.Name) or name == "getpass"):
                return name
    return ""


def _refuse_questions(number: int, text: str) -> None:
    if name := asks(text):
        text = f"code cell {number} calls {name}(), and nobody can answer a batch job"
        raise BadRequest(text, "Make it a parameter, and give it with -p.")


# ---- parameters ----


def _set(notebook: dict[str, Any], parameters: Mapping[str, Any]) -> None:
    """Sets the parameters in a cell of their own, after the one with the defaults."""
    cells = notebook["cells"]
    place = next((at for at, cell in enumerate(cells) if _has_parameters(cell)), None)
    if place is None:
        raise BadRequest(f"the notebook has no cell of parameters, so -p {next(iter(parameters))}= has nowhere to go",
                         "Give the cell that sets their defaults the tag 'parameters', or '# parameters' as its first "
                         "line.")
    known = assigned(source_of(cells[place]))
    for name in parameters:
        if known and name not in known:
            raise BadRequest(f"the cell of parameters sets {', '.join(sorted(known))}, and no {name}"
                             f"{did_you_mean(name, known)}")
    cells.insert(place + 1, code_cell(as_source(parameters), _INJECTED))


def change(notebook: dict[str, Any], parameters: Mapping[str, Any]) -> None:
    """Sets parameters of a notebook that was made for a batch run once more.

    Raises
    ------
    BadRequest
        It has no such parameter.
    """
    cells = notebook["cells"]
    places = [at for at, cell in enumerate(cells) if _has_parameters(cell) or _is_injected(cell)]
    known = set().union(*(assigned(source_of(cells[at])) for at in places))
    for name in parameters:
        if name not in known:
            raise BadRequest(f"there was no parameter {name}{did_you_mean(name, known)}",
                             f"The parameters are {', '.join(sorted(known)) or 'none'}.")
    cells.insert(places[-1] + 1, code_cell(as_source(parameters), _INJECTED))


def _is_injected(cell: Mapping[str, Any]) -> bool:
    return _INJECTED in cell.get("metadata", {}).get("tags", ())


def _has_parameters(cell: Mapping[str, Any]) -> bool:
    if cell.get("cell_type") != "code":
        return False
    first = source_of(cell).lstrip().partition("\n")[0].strip().lower()
    return "parameters" in cell.get("metadata", {}).get("tags", ()) or first == "# parameters"


def as_source(parameters: Mapping[str, Any]) -> str:
    return "\n".join(["# Parameters of this batch run", *(f"{name} = {value!r}" for name, value in parameters.items())])


def assigned(text: str) -> set[str]:
    tree = _tree(text)
    nodes = ast.walk(tree) if tree is not None else ()
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
