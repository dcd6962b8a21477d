"""Journeys: notebooks in short, kept as text. `=== name` begins one, `---` its next cell; a cell of the worker begins with `%%pounce`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
_MAGIC = "%%pounce"
IN_ITS_PLACE = "# in the magic's place"
_DIFFERS = re.compile(r"(released )?differs: (.*)\n")  # the sentence of a page that says so, below the name
_ANSWERS = "# answers: "  # to the questions of a cell, in its last line


@dataclass(frozen=True)
class Cell:
    source: str

    @property
    def plain(self) -> str:
        """Without pounce; its lines keep their numbers, except below another magic, which has to come first."""
        body = self.source.removeprefix(_MAGIC)
        if body == self.source:
            return body
        return body.lstrip("\n") if body.startswith("\n%%") else IN_ITS_PLACE + body

    @property
    def answers(self) -> list[str]:
        last = self.source.splitlines()[-1]
        return last.removeprefix(_ANSWERS).split(", ") if last.startswith(_ANSWERS) else []


@dataclass(frozen=True)
class Journey:
    name: str
    cells: list[Cell]
    differs: str = ""
    differs_warm: bool = False  # also without a release


def read(subject: str) -> list[Journey]:
    _, *texts = f"\n{(FOLDER / f'{subject}.txt').read_text()}".split("\n=== ")
    return [_journey(*text.split("\n", 1)) for text in texts]


def subjects() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def _journey(name: str, text: str) -> Journey:
    marked = _DIFFERS.match(text)
    cells = [Cell(cell.strip("\n")) for cell in text[marked.end() if marked else 0 :].split("\n---\n")]
    return Journey(name, cells, marked[2] if marked else "", marked is not None and not marked[1])
