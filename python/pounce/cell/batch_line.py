"""The options behind ``%pounce batch``. Its resources are the words of a cell's line, with the same meaning."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .._engine import resource_words
from .._engine.options import CellOption, Options
from .._engine.submission import prefix_of
from ..errors import BadRequest
from .options_line import parse_cell, parse_hold
from .target import Target
from .written_options import page_of, read

OF_A_BATCH = (
    CellOption("--cell", "N", "12", "the cell whose input has this number, with the variables that it reads"),
    CellOption("--function", "NAME", "train", "a function of the notebook, called with the parameters"),
    CellOption("-p", "NAME=VALUE", "lr=1e-3", "a parameter: a value of Python, or else a text", repeats=True),
    CellOption("--name", "N", "train", "what the run is called; otherwise as the notebook, the cell or the function"),
    CellOption("--folder", "DIR", "/scratch/ada", "where its folder lies; otherwise ~/pounce-batch"),
    CellOption("--env", "PREFIX", "~/envs/torch", "another environment's Python"),
    CellOption("--out", "x,y", "x,y", "variables to keep as its result, at the end of a notebook or a cell"),
    CellOption("--submit", help="give it to Slurm"),
    CellOption("--resume", "NAME", "train",
               "submit that run again: pounce.restored() has what it gave to pounce.checkpoint() last"),
    CellOption("--follow", "NAME", "train", "show what that run prints until it has ended"),
    CellOption("--result", "NAME", "train", "wait for that run; its value, or the path of the executed notebook"),
    CellOption("--cancel", "NAME", "train", "end that run's job"),
    CellOption("--help", help="all of this"),
)
OPTIONS = {option.word: option for option in (*resource_words.WORDS.values(), *OF_A_BATCH)}
OF_A_RUN = ("--resume", "--follow", "--result", "--cancel")  # for a run that exists
_AT_LEAST = ("gpus", "cpus", "memory_mib", "gpu_memory_mib", "cuda")


@dataclass(frozen=True)
class BatchLine:
    notebook: str = ""
    cell: int = 0
    function: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    options: Options = field(default_factory=Options)
    said: bool = False  # a resource was named
    name: str = ""
    folder: str = ""
    env: str = ""
    brings: tuple[str, ...] = ()
    submits: bool = False
    of_run: tuple[str, str] = ("", "")  # an option of OF_A_RUN, and the name of the run
    help: bool = False


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "%pounce batch", usage="%(prog)s [NOTEBOOK | --cell N | --function NAME] [options]", add_help=False,
        allow_abbrev=False, exit_on_error=False, epilog="Alone it lists the batch runs that there are.")
    parser.add_argument("NOTEBOOK", nargs="*", help="a file: train.ipynb")
    for option in OPTIONS.values():
        parser.add_argument(option.word, **page_of(option))
    return parser


PARSER = _parser()


def parse(words: Sequence[str]) -> BatchLine:
    """
    Raises
    ------
    BadRequest
    """
    said, notebooks = _said(words)
    of_run = [(word, said[word]) for word in OF_A_RUN if word in said]
    sources = [*notebooks, *(word for word in ("--cell", "--function") if word in said)]
    if len(sources) + len(of_run) > 1:
        raise BadRequest(f"%pounce batch takes one of a notebook, --cell, --function, {', '.join(OF_A_RUN)}",
                         "Write one line for each.")
    if "--cell" in said and not said["--cell"].strip("0").isdigit():
        raise BadRequest(f"--cell takes the number of a cell's input, as in In [12], not {said['--cell']!r}")
    return BatchLine(
        notebooks[0] if notebooks else "", int(said.get("--cell", 0)), said.get("--function", ""),
        _parameters(said.get("-p", [])),
        resource_words.options_of(said), any(word in said for word in resource_words.RESOURCES),
        said.get("--name", ""), said.get("--folder", ""),
        prefix_of(said["--env"]) if "--env" in said else "", _names(said.get("--out", "")), "--submit" in said,
        of_run[0] if of_run else ("", ""), "--help" in said)


def with_lines(batch_line: BatchLine, cells: Sequence[str], holds: Sequence[str] = ()) -> BatchLine:
    """Fills in the resources of a notebook's own lines: those of its cells, and those that hold a worker."""
    held = [line for line in map(parse_hold, holds) if not (line.off or line.help)]
    return with_targets(batch_line, [parse_cell(line).target for line in cells], [line.target for line in held])


def with_targets(batch_line: BatchLine, cells: Sequence[Target], held: Sequence[Target] = ()) -> BatchLine:
    """A line without resources gets the largest of those that the cells' workers and the held ones have."""
    batch_line = replace(batch_line, env=batch_line.env or next((target.env for target in held if target.env), ""))
    if batch_line.said or not (cells or held):
        return batch_line
    merged = default = Options().resources
    for resources in (target.options.resources for target in (*cells, *held)):
        for name, theirs in resources._asdict().items():
            mine = getattr(merged, name)
            if name in _AT_LEAST:
                merged = merged._replace(**{name: max(mine, theirs)})
            elif name != "time_min" and mine == getattr(default, name):
                merged = merged._replace(**{name: theirs})
    # A cell's time is for one cell; a hold's time is for all of the work.
    time_min = max((target.options.resources.time_min for target in held), default=0)
    return replace(batch_line, options=Options(merged._replace(time_min=time_min)))


def _said(words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    said, rest = read(PARSER, OPTIONS, words)
    if rest:
        word = rest[0].partition("=")[0]
        raise BadRequest(f"%pounce batch has no option {word}{resource_words.did_you_mean(word, OPTIONS)}",
                         f"The options are {', '.join(OPTIONS)}.")
    return said, said.pop("NOTEBOOK")


def _parameters(words: Sequence[str]) -> dict[str, Any]:
    parameters = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name.isidentifier():
            raise BadRequest(f"-p takes NAME=VALUE, such as -p lr=1e-3, not {word!r}")
        parameters[name] = _value(text)
    return parameters


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.replace(" ", "").split(",") if name)
    for name in names:
        if not name.isidentifier():
            raise BadRequest(f"--out takes names of variables, such as x,y; {name!r} is none")
    return names


