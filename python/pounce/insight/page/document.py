"""The HTML of a page: its frame, and a picture with its table, its CSV and its definition.

The file loads nothing and runs nothing: its content policy allows one style by its digest, and no script at all. It is
well-formed XML too, so that a test can read it. What users wrote goes through ``drawing.clean`` alone.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources

from ..shown import safe_cell
from .drawing import clean


@dataclass(frozen=True)
class Cell:
    """One of a table: how it is read, and the figure that it is; None: it is a text."""

    text: str
    value: float | None = None


@dataclass(frozen=True)
class Column:
    title: str
    name: str  # in CSV, with its unit: "gpu_s"


@dataclass
class Table:
    columns: Sequence[Column]
    rows: list[list[Cell]]
    total: list[Cell] = field(default_factory=list)  # empty: the rows have no sum


@dataclass
class Figure:
    """A picture and all that belongs to it. `drawing` and `legend` are SVG and HTML; the others are plain text."""

    name: str  # of its CSV file: "waits"
    title: str
    finding: str  # what is to be seen in it, in one sentence
    drawing: str
    definition: str
    table: Table
    legend: str = ""


@dataclass
class Tile:
    title: str
    value: str
    about: str = ""


@dataclass
class Page:
    title: str
    span: str
    notes: list[str]
    tiles: list[Tile]
    sections: list[tuple[str, list[Figure]]]
    made: str


def style() -> str:
    return (resources.files(__package__) / "style.css").read_text(encoding="utf-8")


def content_policy(style_text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style_text.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def html(page: Page) -> str:
    css = style()
    notes = "".join(f"<p>{clean(note)}</p>" for note in page.notes)
    sections = "".join(_section(name, figures) for name, figures in page.sections)
    return f"""<!DOCTYPE html>
<html lang="en" xmlns="http://www.w3.org/1999/xhtml"><head><meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="{clean(content_policy(css))}"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="referrer" content="no-referrer"/>
<title>{clean(page.title)}</title>
<style>{css}</style></head>
<body><header><h1>{clean(page.title)}</h1><p class="span">{clean(page.span)}</p>
{f'<div class="notes">{notes}</div>' if notes else ""}
<dl class="tiles">{"".join(map(_tile, page.tiles))}</dl></header>
<main>{sections}</main>
<footer class="made">{clean(page.made)}</footer></body></html>
"""


def _section(name: str, figures: Sequence[Figure]) -> str:
    drawn = "".join(map(_figure, figures))
    return f'<section><h2>{clean(name)}</h2><div class="figures">{drawn}</div></section>\n'


def _tile(tile: Tile) -> str:
    about = f'<dd class="about">{clean(tile.about)}</dd>' if tile.about else ""
    return f"<div><dt>{clean(tile.title)}</dt><dd>{clean(tile.value)}</dd>{about}</div>"


def _figure(figure: Figure) -> str:
    name = clean(figure.name)
    link = (f'<a download="{name}.csv" href="data:text/csv;charset=utf-8,'
            f'{urllib.parse.quote(as_csv(figure.table))}">{name}.csv</a>')
    return (f'<figure id="{name}"><h3>{clean(figure.title)}</h3><p class="finding">{clean(figure.finding)}</p>'
            f'{figure.legend}{figure.drawing}<p class="definition">{clean(figure.definition)}</p>'
            f'<details><summary>Table and CSV</summary><p>{link}</p><div class="scroll">{_table(figure.table)}</div>'
            f"</details></figure>\n")


def _table(table: Table) -> str:
    numeric = [all(row[place].value is not None for row in table.rows) for place in range(len(table.columns))]
    kinds = [' class="n"' if each else "" for each in numeric]
    head = "".join(f"<th{kind}>{clean(column.title)}</th>" for kind, column in zip(kinds, table.columns, strict=True))
    body = "".join(f"<tr>{_cells(row, kinds)}</tr>" for row in table.rows)
    foot = f"<tfoot><tr>{_cells(table.total, kinds)}</tr></tfoot>" if table.total else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody>{foot}</table>"


def _cells(row: Sequence[Cell], kinds: Sequence[str]) -> str:
    return "".join(f"<td{kind}>{_words(cell)}</td>" for kind, cell in zip(kinds, row, strict=True))


def _words(cell: Cell) -> str:
    return clean(cell.text) if cell.value is None else f'<data value="{cell.value:.15g}">{clean(cell.text)}</data>'


def as_csv(table: Table) -> str:
    """Without the total, which a spreadsheet would add again."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([column.name for column in table.columns])
    for row in table.rows:
        writer.writerow([safe_cell(cell.text) if cell.value is None else f"{cell.value:.15g}" for cell in row])
    return text.getvalue()
