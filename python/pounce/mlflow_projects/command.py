"""The command of an entry point, with the parameters quoted for the shell that runs it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import Formatter
from typing import Any

from .._engine.resource_words import did_you_mean
from ..errors import BadRequest

_BRACES = "Declare it under parameters; braces of the program itself are doubled: {{ and }}."


def check(command: str, parameters: Mapping[str, Any], quoted: Mapping[str, str]) -> None:
    """MLflow puts each value into the command as one quoted word. Inside quotes of the command itself it would be
    something else: those would end at the value's first quote, and a shell would execute what follows.

    `quoted`: the values as MLflow quotes them, of the parameters that the entry point names.

    Raises
    ------
    BadRequest
        Such a place, a value that no program can be given, or braces that name no parameter.
    """
    _check_names(command, quoted)
    for name, value in parameters.items():
        if "\0" in f"{name}{value}":
            raise BadRequest(f"the parameter {name} has a zero byte", "Leave it out.")
    for name in _in_quotes(command):
        value = quoted.get(name, "")
        if value.startswith(("'", '"')):
            raise BadRequest(f"the value {value} of the parameter {name} would end the quotes around {{{name}}} in the "
                             "command", "Take these quotes out of the MLproject: MLflow adds its own.")


def _check_names(command: str, parameters: Mapping[str, str]) -> None:
    """MLflow replaces what is in braces, as ``str.format`` does."""
    try:
        names = [name for _, name, _, _ in Formatter().parse(command) if name is not None]
    except ValueError as problem:
        raise BadRequest(f"the braces of the command are not in pairs: {problem}", _BRACES) from None
    for name in names:
        if name not in parameters:
            raise BadRequest(f"the command has {{{name}}}, and its entry point has no such parameter"
                             f"{did_you_mean(name, parameters)}", _BRACES)


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
