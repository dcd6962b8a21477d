"""The words of a command line of ``pouncectl usage``: options with and without a value, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .._engine.resource_words import did_you_mean
from ..errors import BadRequest


@dataclass(frozen=True)
class Option:
    word: str  # "--by"
    value: str  # what stands for its value in the help; empty: it takes none
    about: str

    @property
    def line(self) -> str:
        return f"  {self.word + ' ' + self.value:<20}{self.about}"


OF_SPAN = (
    Option("--since", "SPAN", "the span of time until now: 7d, 12h, 90min; 7d by default"),
    Option("--from", "DAY", "from the beginning of that local day on: 2026-11-03, today, yesterday"),
    Option("--to", "DAY", "to the end of that local day; today by default"),
)
OF_STORE = Option("--store", "FILE", "another store than the usual one; none: ask Slurm alone")
AS_JSON = Option("--json", "", "print one JSON document")


def parsed(command: str, words: Sequence[str], options: Sequence[Option], places: int = 0
           ) -> tuple[dict[str, str], list[str]]:
    """The value of each option that was given ("yes" for one without a value), and up to `places` other words."""
    known = {option.word: option for option in options}
    given: dict[str, str] = {}
    rest: list[str] = []
    queue = list(words)
    while queue:
        word, equals, value = queue.pop(0).partition("=")
        option = known.get(word)
        if option is None and not word.startswith("-") and len(rest) < places:
            rest.append(word + equals + value)
            continue
        if option is None:
            raise BadRequest(f"`pouncectl {command}` has no {word}{did_you_mean(word, known)}",
                             f"`pouncectl {command} --help` lists what it takes.")
        if word in given:
            raise BadRequest(f"{word} stands there twice", "Give it once; several values have commas between them.")
        if not option.value:
            if equals:
                raise BadRequest(f"{word} takes no value", f"Write {word} alone.")
            given[word] = "yes"
            continue
        if not equals:
            if not queue:
                raise BadRequest(f"{word} needs a value", f"Write {word} {option.value}.")
            value = queue.pop(0)
        given[word] = value
    return given, rest


def list_of(word: str, text: str, known: Sequence[str]) -> list[str]:
    """The words of a value with commas, each of them once and known."""
    found = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for one in found:
        if one not in known:
            raise BadRequest(f"{word} does not know {one!r}{did_you_mean(one, known)}",
                             f"It takes any of {', '.join(known)}.")
    return found


def users_of(given: Mapping[str, str]) -> frozenset[str]:
    """The names of --user; empty: everybody's."""
    return frozenset(filter(None, given.get("--user", "").split(",")))


def number_of(word: str, text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise BadRequest(f"{word} takes a whole number from 1 on, not {text!r}", f"Write {word} 10.")
    return int(text)
