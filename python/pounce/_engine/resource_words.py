"""The words for resources, ``--gpu``, ``--mem``, ``--time``: the same behind ``%%pounce``, ``%pounce batch`` and ``pouncectl run``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..errors import BadRequest
from .options import ASKED, CellOption, Options

RESOURCES = {asked.cell.word: keyword for keyword, asked in ASKED.items() if asked.cell is not None}
WORDS: dict[str, CellOption] = {asked.cell.word: asked.cell for asked in ASKED.values() if asked.cell is not None}


def options_of(said: Mapping[str, Any]) -> Options:
    """Of what was said behind each word, other words aside."""
    return of_one_process(checked({keyword: value_of(word, said[word]) for word, keyword in RESOURCES.items() if word in said}))


def of_one_process(options: Options) -> Options:
    """For whatever is not a cell."""
    if options.nodes > 1:
        one = f"--nodes {options.nodes}: this runs in one process"
        raise BadRequest(one, "Give --nodes to a cell, or use pounce.gang(nodes=...).run(function).")
    return options


def value_of(word: str, said: Any) -> Any:
    """As ``Client.options`` takes it."""
    if word == "--slurm":
        pairs = (text.partition("=") for text in said)
        return {name: text if equals else True for name, equals, text in pairs}
    return int(said) if WORDS[word].number and said.isdigit() else said


def checked(resources: Mapping[str, Any]) -> Options:
    """By keyword. What is wrong is told by the words."""
    try:
        return Options().changed(**resources)
    except BadRequest as error:  # which speaks of client.options(gpus=...)
        text, remedy = error.text, error.remedy
        for option, word in RESOURCES.items():
            text = re.sub(rf"\b{word}=(?!True\b)(?=\w)", f"{option} ", text)
            text = re.sub(rf"\b{word}=(?:True\b)?", option, text)
        raise BadRequest(text, remedy) from None
