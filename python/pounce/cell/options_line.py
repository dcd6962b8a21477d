"""Parses the line behind ``%%pounce`` and ``%pounce`` into options, before anything is sent."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from IPython.core.magic_arguments import MagicArgumentParser, argument

from .._engine import resource_words
from .._engine.options import CellOption, Options
from .._engine.resource_words import RESOURCES
from .._engine.submission import prefix_of
from .._engine.wait_policy import Step
from ..errors import BadRequest
from .target import Target
from .written_options import page_of, read

_Magic = TypeVar("_Magic", bound=Callable[..., Any])


_OF_A_CELL = (
    CellOption("--or", "STEP", "cpu@5min",
               "what it asks for instead of waiting: cpu, a100_3g.20gb, class=lion or cancel; cpu@5min: after so long. "
               "Several --or are tried in their order", repeats=True),
    CellOption("--env", "PREFIX", "~/envs/torch", "another environment's Python, of the same version"),
    CellOption("--on", "NAME", "big", "a worker of its own, with variables of its own, of that name: two at once"),
    CellOption("--in", "a,b", "a,b",
               "send just these variables, even if they seem unchanged; what was imported goes along"),
    CellOption("--out", "x,y", "x,y", "bring these variables back into the notebook"),
    CellOption("--name", "N", "job", "with --bg: N is the job; with --keep too: the name for %%pounce attach"),
    CellOption("--bg", help="return at once; the output goes on under this cell, and its value is a job: "
                            ".state, .result(), .log()"),
    CellOption("--tell", help="you are told when this cell has ended, and that it starts after a minute of waiting: "
                              "by the browser, if you let it notify, and by the site's program"),
    CellOption("--keep", help="this cell goes on when the notebook's kernel restarts, dies or is culled, as one with "
                              "--bg does: %%pounce attach shows it"),
    CellOption("--list", help="with %%pounce attach: the cells that run, and those that have ended"),
    CellOption("--setup", help="this cell runs again by itself on each new worker, before all others: "
                               "imports, connections, settings"),
    CellOption("--from", "ID", "3f2a91bc", "with %%pounce restore: which saved state, as %%pounce parked names them"),
    CellOption("--remake", "a,b", "conn",
               "with %%pounce parked: the cells that made these variables run again on each new worker"),
    CellOption("--at-limit", "WHAT", "kill",
               "save (the default): WalltimeReached is raised in the cell while there is time to save; "
               "kill: it is cut off when its worker's time ends"),
    CellOption("--local", help="alone: this cell runs in the notebook, also while that holds a worker"),
    CellOption("--off", help="with %pounce hold: the worker is an ordinary one again, "
                             "which goes back when nothing runs there"),
    CellOption("--help", help="all of this"),
    CellOption("--try", help="a short try without a GPU, in the class with the shortest time limit: "
                             "the code is checked while GPUs are busy"),
)
OPTIONS = {option.word: option for option in (*resource_words.WORDS.values(), *_OF_A_CELL)}
FLAGS = frozenset(option.word for option in OPTIONS.values() if not option.value)
_SAVE, _KILL = "save", "kill"
_OF_GPU = ("gpus", "gpu_type", "gpu_memory", "cuda")
VERBS = ("status", "explain", "vars", "pull", "push", "parked", "settings", "restore", "restart", "hold", "release",
         "batch", "serve", "panel", "timings", "attach")
_OTHER_WORDS = {
    "--qos": "--class", "--partition": "--class", "--gres": "--gpu", "--memory": "--mem", "--walltime": "--time",
    "--constraint": "--slurm", "--exclude": "--not-nodes", "--gpu-memory": "--gpu-mem",
    "--push": "--in", "--pull": "--out", "--background": "--bg", "--python": "--env"}


def _parser() -> MagicArgumentParser:
    """A parser as IPython's ``magic_arguments`` makes one, with two settings that it does not offer. Options are not
    abbreviated. An error is an exception that names the option: the parser's own messages have no remedy."""
    parser = MagicArgumentParser("%pounce", usage="%%pounce [options]")
    parser.allow_abbrev, parser.exit_on_error = False, False
    for option in OPTIONS.values():
        argument(option.word, **page_of(option)).add_to_parser(parser, None)
    return parser


PARSER = _parser()


def with_options(epilog: str) -> Callable[[_Magic], _Magic]:
    """Puts the options on a magic's help page (``%%pounce?``), behind its docstring."""

    def add(magic: _Magic) -> _Magic:
        PARSER.description, PARSER.epilog = magic.__doc__, epilog
        magic.__doc__ = PARSER.format_help()
        return magic

    return add


@dataclass(frozen=True)
class CellLine:
    """The options of one cell. `sends` None: the cell's source tells what it reads."""

    target: Target = field(default_factory=Target)
    sends: tuple[str, ...] | None = None
    brings: tuple[str, ...] = ()
    background: bool = False
    keeps: bool = False  # it goes on without its kernel, as one in the background does
    tells: bool = False  # of its start and its end
    name: str = ""  # of the job object of a cell in the background, and for attaching
    instead: tuple[Step, ...] = ()  # what it requests instead of waiting
    trial: bool = False  # --try: where no class is named, the one for short jobs
    setup: bool = False  # it runs again on each new worker
    saves_at_limit: bool = True  # it is interrupted while there is time to save
    source: str = ""  # %pounce restore: which saved state
    remakes: tuple[str, ...] = ()  # %pounce parked: variables whose cells run again there
    held: bool = False  # a cell without a line of its own: it runs on the held worker
    off: bool = False  # %pounce hold: end it
    local: bool = False  # the cell runs in the notebook
    help: bool = False
    lists: bool = False  # %pounce attach: name the cells
    words: tuple[str, ...] = ()  # %pounce batch, serve and timings, which parse them themselves


def parse_cell(line: str) -> CellLine:
    return _cell_line(_words(line))


def _cell_line(words: Sequence[str]) -> CellLine:
    said = _said(words)
    resources = {keyword: resource_words.value_of(word, said[word])
                 for word, keyword in RESOURCES.items() if word in said}
    if "--try" in said:
        kept = {word: value for word, value in resources.items() if word not in _OF_GPU}
        resources = {**kept, "gpus": 0}
    env = prefix_of(said["--env"]) if "--env" in said else ""
    sends, brings, names, on, remakes = (
        _names(word, said[word]) if word in said else None for word in ("--in", "--out", "--name", "--on", "--remake"))
    if on is not None and len(on) != 1:
        raise BadRequest(f"--on takes one name, not {','.join(on)}")
    return CellLine(
        Target(resource_words.checked(resources), env, on[0] if on else ""), sends, brings or (), "--bg" in said,
        "--keep" in said, "--tell" in said, _job_name(names or (), said), _instead(said.get("--or", [])),
        "--try" in said, "--setup" in said, _saves_at_limit(said.get("--at-limit", _SAVE)), said.get("--from", ""),
        remakes or (), off="--off" in said, local="--local" in said, help="--help" in said, lists="--list" in said)


def parse_verb(line: str) -> tuple[str, CellLine, tuple[str, ...]]:
    """``%pounce pull a b --gpu 1``: the verb, which worker is meant, and the names."""
    words = _words(line)
    if not words:
        raise BadRequest(f"%pounce takes one of {', '.join(VERBS)}; a cell that runs on a worker begins with %%pounce")
    verb, *rest = words
    if verb not in VERBS:
        raise BadRequest(f"there is no %pounce {verb}{_nearest(verb, VERBS)}")
    if verb in ("batch", "serve", "timings"):
        return verb, CellLine(words=tuple(rest)), ()
    names: list[str] = []
    while rest and not rest[0].startswith("-"):
        as_it_is = verb in ("explain", "attach")  # which take jobs, runs and ids
        names.extend([rest.pop(0)] if as_it_is else _names(verb, rest.pop(0)))
    cell_line = _cell_line(rest)
    resource_words.of_one_process(cell_line.target.options)
    return verb, cell_line, tuple(names)


def parse_hold(line: str) -> CellLine:
    """``hold --gpu 1``, as the verb takes it."""
    _, cell_line, names = parse_verb(line)
    return checked_hold(cell_line, names)


def checked_hold(cell_line: CellLine, names: Sequence[str]) -> CellLine:
    if names:
        raise BadRequest(f"%pounce hold takes options, not {names[0]!r}")
    allowed = CellLine(cell_line.target, instead=cell_line.instead, trial=cell_line.trial)
    if not (cell_line.off or cell_line.help) and cell_line != allowed:
        raise BadRequest("%pounce hold takes a worker's options alone; "
                         "--in, --out, --bg, --tell, --name and --setup are a cell's")
    return cell_line


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise BadRequest(f"the line {line!r} cannot be read: {error}", "Close the quotes.") from error


def _said(words: Sequence[str]) -> dict[str, Any]:
    """The options on the line, by their words."""
    found, rest = read(PARSER, OPTIONS, words)
    if rest:
        raise _unknown(rest[0].partition("=")[0] if rest[0].startswith("-") else rest[0])
    return found


def _unknown(word: str) -> BadRequest:
    remedy = f"The options are {', '.join(OPTIONS)}."
    if not word.startswith("-"):
        return BadRequest(f"{word!r} is no option; the code begins in the line below", remedy)
    return BadRequest(f"there is no option {word}{_nearest(word, tuple(OPTIONS))}", remedy)


def _nearest(word: str, valid: tuple[str, ...]) -> str:
    by_letters = {one.lstrip("-"): one for one in valid}
    near = difflib.get_close_matches(word.lstrip("-"), by_letters, 1, 0.5)
    meant = _OTHER_WORDS.get(word) or (by_letters[near[0]] if near else "")
    return f"; did you mean {meant}?" if meant else ""


def _names(option: str, value: str) -> tuple[str, ...]:
    names = tuple(name for name in value.replace(" ", "").split(",") if name)
    for name in names:
        if not name.isidentifier():
            raise BadRequest(f"{option} takes names of variables, such as a,b; {name!r} is none")
    return names


def _instead(words: list[str]) -> tuple[Step, ...]:
    return Options().changed(wait_policy=words).wait_policy if words else ()


def _saves_at_limit(word: str) -> bool:
    if word not in (_SAVE, _KILL):
        raise BadRequest(f"--at-limit takes {_SAVE} or {_KILL}, not {word}")
    return word == _SAVE


def _job_name(names: tuple[str, ...], said: dict[str, Any]) -> str:
    if not names:
        return ""
    if len(names) > 1:
        raise BadRequest(f"--name takes one name, not {','.join(names)}")
    if "--bg" not in said and "--keep" not in said:
        raise BadRequest("--name is for a cell that runs in the background or goes on without its kernel",
                         "Add --bg or --keep.")
    return names[0]
