"""``Choice``: what a waiting user could request instead, as the cluster is now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .. import _core
from ..errors import public
from .wait import Eta, eta_of


@public
class Choice(NamedTuple):
    """One alternative to waiting. Shows itself as a sentence.

    Attributes
    ----------
    kind : str
        ``"wait"``, ``"gpu"``, ``"cpu"``, ``"class"`` or ``"cancel"``.
    option : str
        As ``--or`` and ``wait_policy=`` take it: ``"a100_3g.20gb"``, ``"cpu"``, ``"class=lion"``, ``"cancel"``; empty
        for waiting.
    now : bool
        It would start now.
    eta : Eta or None
        When it would start, where not now; None: that cannot be estimated.
    against : str
        The limit that it would wait for, in words; empty: none.
    """

    kind: str
    option: str
    now: bool
    eta: Eta | None
    against: str

    def asked(self) -> str:
        """What a cell says to have it."""
        return {"gpu": f"--gpu {self.option}", "class": f"--class {self.option.removeprefix('class=')}",
                "cpu": "no --gpu", "wait": "wait on", "cancel": "press stop"}[self.kind]

    def __str__(self) -> str:
        if self.kind == "cancel":
            return "press stop: nothing is asked for any more"
        return f"{self.asked()}: {self._when()}"

    def _when(self) -> str:
        if self.against:
            return self.against
        if self.now:
            return "free now"
        return f"starts {self.eta}" if self.eta is not None else "when cannot be said"


def choice_of(choice: _core.Choice) -> Choice:
    return Choice(choice.kind, choice.option, choice.now, eta_of(choice.eta), choice.against)


def sooner(choices: Sequence[Choice]) -> str:
    """The status line's hint: the first choice that would start now; empty: none would."""
    for choice in choices:
        if choice.now and choice.kind in ("gpu", "cpu", "class"):
            free = {"gpu": f"{choice.option} is free", "cpu": "a CPU is free",
                    "class": f"class {choice.option.removeprefix('class=')} has room"}[choice.kind]
            return f"sooner: {free}: {choice.asked()}, or press stop"
    return ""
