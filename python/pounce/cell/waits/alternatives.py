"""What a cell that waits could do instead: for each alternative the words of its button, and the line that does it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ... import _core
from ..._engine.choices import Choice
from ..options_line import FLAGS

LONG_S = 60.0  # a shorter wait is waited for
# What goes from the line for another GPU, for none, and for another class.
_REPLACED = {"gpu": ("--gpu",), "cpu": ("--gpu", "--gpu-mem", "--cuda"), "class": ("--class",)}


@dataclass(frozen=True)
class Alternative:
    """
    Attributes
    ----------
    do : str
        What a click asks for: ``"take"`` (of `option`), ``"behind"`` or ``"batch"``.
    option : str
        As ``--or`` takes it.
    label : str
    line : str
        What has the same done, once the cell was stopped.
    """

    do: str
    option: str
    label: str
    line: str


def is_long(choices: Sequence[Choice], waited_s: float) -> bool:
    """Whether the cell will wait for more than a minute, as far as that can be estimated, or has."""
    eta = next((choice.eta for choice in choices if choice.kind == "wait"), None)
    return waited_s >= LONG_S or (eta is not None and eta.start - time.time() > LONG_S)


def until(choices: Sequence[Choice]) -> str:
    """When it starts without a choice."""
    eta = next((choice.eta for choice in choices if choice.kind == "wait"), None)
    return f"it starts {eta}" if eta is not None else "when it starts cannot be said"


def alternatives(choices: Sequence[Choice], said: str, number: int) -> list[Alternative]:
    """
    Parameters
    ----------
    said
        The options of the cell, as they are written.
    number
        The cell's.
    """
    return [*_sooner(choices, said),
            Alternative("behind", "", "--bg, and tell me", f"%%pounce {_with(said, (), '--bg', '--tell')}"),
            Alternative("batch", "", "as a batch job", f"%pounce batch --cell {number} --submit")]


def _sooner(choices: Sequence[Choice], said: str) -> Iterator[Alternative]:
    for choice in choices:
        if not choice.now or choice.kind not in _REPLACED:
            continue
        name = choice.option.removeprefix("class=")
        label = {"gpu": f"{name} now", "cpu": "CPU now", "class": f"class {name} now"}[choice.kind]
        added = {"gpu": ("--gpu", name), "cpu": (), "class": ("--class", name)}[choice.kind]
        line = f"%%pounce {_with(said, _REPLACED[choice.kind], *added)}".rstrip()
        yield Alternative("take", choice.option, label, line)


def _with(said: str, replaced: tuple[str, ...], *added: str) -> str:
    """The options without those that are replaced, and with those that are added."""
    words, kept = iter(shlex.split(said)), list[str]()
    for word in words:
        name, has_value, _ = word.partition("=")
        if name in replaced:
            if not has_value and name not in FLAGS:
                next(words, None)
        else:
            kept.append(word)
    flags = [word for word in added if not (word in FLAGS and word in kept)]
    return shlex.join([*kept, *flags])


def as_text(when: str, others: Sequence[Alternative]) -> str:
    """For a front end without buttons, or one whose clicks do not reach a kernel that is busy."""
    width = max(len(one.label) for one in others)
    lines = [f"  {one.label:{width}}   {one.line}" for one in others]
    first = f"pounce: this cell waits; {when}. Instead, press stop and begin it so:"
    return "\n".join(map(_core.printable, [first, *lines]))
