"""What stands behind ``%%pounce`` and ``%pounce``: words to options, before anything is sent."""

from __future__ import annotations

import difflib
import shlex
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadRequest
from ..options import Options

RESOURCES = {"--gpu": "gpus", "--class": "class_", "--time": "time", "--mem": "memory", "--cpus": "cpus"}
NAMES = ("--in", "--out")
OPTIONS = (*RESOURCES, *NAMES)
VERBS = ("status", "vars", "pull", "push", "restart", "release")
_OTHER_WORDS = {"--qos": "--class", "--partition": "--class", "--gres": "--gpu", "--memory": "--mem", "--walltime": "--time",
                "--push": "--in", "--pull": "--out"}


@dataclass(frozen=True)
class CellLine:
    """The options of one cell. Equal `options` share a worker; `sends` None: what the cell reads is found in its source."""

    options: Options = field(default_factory=Options)
    sends: tuple[str, ...] | None = None
    brings: tuple[str, ...] = ()


def parse_cell(line: str) -> CellLine:
    words = _words(line)
    resources: dict[str, Any] = {}
    names: dict[str, tuple[str, ...]] = {}
    while words:
        option, value = _option(words)
        if option in RESOURCES:
            resources[RESOURCES[option]] = _number(value) if option == "--cpus" else value
        else:
            names[option] = _names(option, value)
    return CellLine(_options(resources), names.get("--in"), names.get("--out", ()))


def parse_verb(line: str) -> tuple[str, CellLine, tuple[str, ...]]:
    """``%pounce pull a b --gpu 1``: the verb, which worker is meant, and the names."""
    words = _words(line)
    if not words:
        raise BadRequest(f"%pounce takes one of {', '.join(VERBS)}; a cell that runs on a worker begins with %%pounce")
    verb, *rest = words
    if verb not in VERBS:
        raise BadRequest(f"there is no %pounce {verb}{_nearest(verb, VERBS)}")
    names = []
    while rest and not rest[0].startswith("-"):
        names.extend(_names(verb, rest.pop(0)))
    return verb, parse_cell(shlex.join(rest)), tuple(names)


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise BadRequest(f"the line {line!r} cannot be read: {error}", "Close the quotes.") from error


def _option(words: list[str]) -> tuple[str, str]:
    """Takes one option and its value from the words: ``--gpu 1`` or ``--gpu=1``."""
    option, equals, value = words.pop(0).partition("=")
    if not option.startswith("-"):
        raise BadRequest(f"{option!r} is no option; the code begins in the line below", f"The options are {', '.join(OPTIONS)}.")
    if option not in OPTIONS:
        raise BadRequest(f"there is no option {option}{_nearest(option, OPTIONS)}", f"The options are {', '.join(OPTIONS)}.")
    if not equals:
        if not words or words[0].startswith("--"):
            raise BadRequest(f"{option} needs a value, for example {option} {_EXAMPLES[option]}")
        value = words.pop(0)
    return option, value


_EXAMPLES = {"--gpu": "1", "--class": "cheetah", "--time": "20min", "--mem": "8GB", "--cpus": "4", "--in": "a,b", "--out": "x,y"}


def _nearest(word: str, valid: tuple[str, ...]) -> str:
    known = _OTHER_WORDS.get(word)
    near = [known] if known else difflib.get_close_matches(word, valid, 1, 0.5)
    return f"; did you mean {near[0]}?" if near else ""


def _names(option: str, value: str) -> tuple[str, ...]:
    names = tuple(name for name in value.replace(" ", "").split(",") if name)
    for name in names:
        if not name.isidentifier():
            raise BadRequest(f"{option} takes names of variables, such as a,b; {name!r} is none")
    return names


def _number(value: str) -> Any:
    return int(value) if value.isdigit() else value


def _options(resources: dict[str, Any]) -> Options:
    options = Options()
    for option, word in RESOURCES.items():
        if word in resources:
            try:
                options = options.changed(**{word: resources[word]})
            except BadRequest as error:  # which speaks of client.options(gpus=...)
                raise BadRequest(error.text.replace(f"{word}=", option), error.remedy) from None
    return options
