"""A picture of an answer: GPU hours held, the part of them whose use is known, and in that the busy part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import BadRequest
from .answer import Answer
from .shown import Rows, sorted_rows
from .spans import UNITS

ENDINGS = (".svg", ".png")
_MOST = 7  # groups with a colour of their own in a picture over time; the others are one
_HELD, _KNOWN, _BUSY = "#d3dce6", "#9fb8d4", "#2f6db3"


def check(path: str) -> None:
    """Before anything is read: can there be such a picture?"""
    if Path(path).suffix.lower() not in ENDINGS:
        raise BadRequest(f"{path!r} is no picture that can be made", f"Let its name end in {' or '.join(ENDINGS)}.")
    _matplotlib()


def _matplotlib() -> Any:
    try:
        from matplotlib import figure
    except ImportError:
        raise BadRequest("a picture needs matplotlib, which is not in this environment",
                         "Install matplotlib here, or take --csv.") from None
    return figure


def write(path: str, answer: Answer, rows: Rows, title: str) -> None:
    """Writes the picture, whose form the file's ending names: `rows` as bars, or all that there is over time."""
    drawing = _matplotlib().Figure(figsize=(9, 4.5), layout="constrained")
    axes = drawing.subplots()
    axes.set_title(title, loc="left", fontsize=11, parse_math=False)
    axes.spines[["top", "right"]].set_visible(False)
    times = [place for place, key in enumerate(answer.question.keys) if key in UNITS]
    if times:
        _over_time(axes, sorted_rows(answer, "key"), times)
    else:
        _bars(axes, rows)
    try:
        drawing.savefig(path)
    except OSError as error:
        raise BadRequest(f"{path} cannot be written: {error.strerror}", "Name another file.") from None


def _bars(axes: Any, rows: Rows) -> None:
    shown = rows[:40][::-1]
    places = range(len(shown))
    axes.barh(places, [share.gpu_s / 3600 for _, share in shown], color=_HELD, label="held")
    axes.barh(places, [share.known_s / 3600 for _, share in shown], color=_KNOWN, height=0.6, label="use known")
    axes.barh(places, [share.busy_ms / 3.6e6 for _, share in shown], color=_BUSY, height=0.4, label="busy")
    axes.set_yticks(places, [" ".join(text or "-" for text in key) for key, _ in shown], parse_math=False)
    axes.set_xlabel("GPU hours")
    axes.legend(frameon=False)


def _over_time(axes: Any, rows: Rows, times: list[int]) -> None:
    """Stacked by the keys that are no times; the known and the busy part are lines over all of them."""
    moments = list(dict.fromkeys(" ".join(key[place] for place in times) for key, _ in rows))
    held: dict[str, dict[str, float]] = {}
    known, busy = dict.fromkeys(moments, 0.0), dict.fromkeys(moments, 0.0)
    for key, share in rows:
        moment = " ".join(key[place] for place in times)
        group = " ".join(text or "-" for place, text in enumerate(key) if place not in times)
        sums = held.setdefault(group, dict.fromkeys(moments, 0.0))
        sums[moment] += share.gpu_s / 3600
        known[moment] += share.known_s / 3600
        busy[moment] += share.busy_ms / 3.6e6
    groups = sorted(held, key=lambda group: -sum(held[group].values()))
    base = [0.0] * len(moments)
    for number, group in enumerate(groups[:_MOST] + (["others"] if len(groups) > _MOST else [])):
        members = [group] if number < _MOST else groups[_MOST:]
        heights = [sum(held[member][moment] for member in members) for moment in moments]
        axes.bar(range(len(moments)), heights, bottom=base, width=0.85, color=f"C{number}" if group else _HELD,
                 label=group or "held")
        base = [below + height for below, height in zip(base, heights, strict=True)]
    for line, style, label in ((known, ":", "use known"), (busy, "-", "busy")):
        axes.plot(range(len(moments)), list(line.values()), color="black", linestyle=style, linewidth=1.2, label=label)
    every = max(len(moments) // 12, 1)
    axes.set_xticks(range(0, len(moments), every), moments[::every], rotation=30, ha="right")
    axes.set_ylabel("GPU hours")
    legend = axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    for text in legend.get_texts():
        text.set_parse_math(False)
