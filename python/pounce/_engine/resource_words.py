"""The options for resources, ``--gpu``, ``--mem``, ``--time``: the same for ``%%pounce``, ``%pounce batch`` and
``pouncectl run``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import BadRequest
from .options import KEYWORDS, CellOption, Options

RESOURCES = {keyword.cell.word: name for name, keyword in KEYWORDS.items() if keyword.cell is not None}
WORDS: dict[str, CellOption] = {
    keyword.cell.word: keyword.cell for keyword in KEYWORDS.values() if keyword.cell is not None}


def options_of(said: Mapping[str, Any]) -> Options:
    """The options in `said`, the value of each word; other words are ignored."""
    values = {keyword: value_of(word, said[word]) for word, keyword in RESOURCES.items() if word in said}
    return of_one_process(checked(values))


def of_one_process(options: Options) -> Options:
    """Refuses several nodes: only a cell can use them."""
    if options.resources.nodes > 1:
        one = f"--nodes {options.resources.nodes}: this runs in one process"
        raise BadRequest(one, "Give --nodes to a cell, or use pounce.gang(nodes=...).run(function).")
    return options


def value_of(word: str, said: Any) -> Any:
    """The value in the form that ``Client.options`` takes."""
    if word == "--slurm":
        pairs = (text.partition("=") for text in said)
        return {name: text if equals else True for name, equals, text in pairs}
    return int(said) if WORDS[word].number and said.isdigit() else said


def checked(resources: Mapping[str, Any]) -> Options:
    """The options by keyword. Errors name the words of the command line instead."""
    try:
        return Options().changed(**resources)
    except BadRequest as error:  # its text names keywords: gpus=...
        text, remedy = error.text, error.remedy
        for option, word in RESOURCES.items():
            text = re.sub(rf"\b{word}=(?!True\b)(?=\w)", f"{option} ", text)
            text = re.sub(rf"\b{word}=(?:True\b)?", option, text)
        raise BadRequest(text, remedy) from None


def note(said: dict[str, Any], option: CellOption, value: str | None, rest: list[str]) -> None:
    """Notes an option of a command line in `said`. Its value: None, and it is the next word of the `rest`, which is
    taken out.

    Raises
    ------
    BadRequest
        There is no value.
    """
    if not option.value:
        said[option.word] = True
        return
    if value is None and not rest:
        raise BadRequest(f"{option.word} needs a value, for example {option.word} {option.example}")
    value = rest.pop(0) if value is None else value
    said[option.word] = [*said.get(option.word, []), value] if option.repeats else value


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """What a refusal of an unknown word adds: the nearest known one. Empty: none is near."""
    near = difflib.get_close_matches(word, list(known), 1, 0.5)
    return f"; did you mean {near[0]}?" if near else ""
