"""Reads the options behind a magic with argparse, and words its errors ourselves."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from .._engine.options import CellOption
from ..errors import BadRequest


def page_of(option: CellOption) -> dict[str, Any]:
    """The arguments of ``add_argument`` for this option, behind its word."""
    page: dict[str, Any] = {"dest": option.word, "help": option.help.replace("%", "%%") or argparse.SUPPRESS}
    kind: dict[str, Any] = {"action": "store_true"}
    if option.value:
        kind = {"metavar": option.value, "action": "append" if option.repeats else "store"}
    return page | kind


def read(
    parser: argparse.ArgumentParser, options: Mapping[str, CellOption], words: Sequence[str],
) -> tuple[dict[str, Any], list[str]]:
    """The values of the options, by their words, and the words that are no option.

    Raises
    ------
    BadRequest
        A value is missing, or is one too many.
    """
    try:
        found, rest = parser.parse_known_args(list(words))
    except argparse.ArgumentError as wrong:
        option = options[wrong.argument_name or ""]
        if not option.value:
            raise BadRequest(f"{option.word} takes no value") from None
        raise BadRequest(f"{option.word} needs a value, for example {option.word} {option.example}") from None
    return {word: value for word, value in vars(found).items() if value not in (None, False)}, rest
