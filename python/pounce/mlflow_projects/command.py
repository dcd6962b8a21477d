"""The command of an entry point, with the parameters quoted for the shell that runs it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import Formatter
from typing import Any

from ..errors import BadRequest


def check(command: str, parameters: Mapping[str, Any], quoted: Mapping[str, str]) -> None:
    """MLflow puts each value into the command as one quoted word. Inside quotes of the command itself it would be
    something else: those would end at the value's first quote, and a shell would execute what follows.

    `quoted`: the values as MLflow quotes them, of the parameters that the entry point names.

    Raises
    ------
    BadRequest
        Such a place, or a value that no program can be given.
    """
    for name, value in parameters.items():
        if "\0" in f"{name}{value}":
            raise BadRequest(f"the parameter {name} has a zero byte", "Leave it out.")
    for name in _in_quotes(command):
        value = quoted.get(name, "")
        if value.startswith(("'", '"')):
            raise BadRequest(f"the value {value} of the parameter {name} would end the quotes around {{{name}}} in the "
                             "command", "Take these quotes out of the MLproject: MLflow adds its own.")


def _in_quotes(command: str) -> Iterator[str]:
    quote = ""
    for literal, name, _, _ in Formatter().parse(command):
        quote = quote_after(literal, quote)
        if name and quote:
            yield name


def quote_after(text: str, quote: str) -> str:
    """The quote that is open behind `text`, if `quote` was before it."""
    escaped = False
    for sign in text:
        if escaped:
            escaped = False
        elif sign == "\\" and quote != "'":
            escaped = True
        elif sign == quote:
            quote = ""
        elif sign in "'\"" and not quote:
            quote = sign
    return quote
