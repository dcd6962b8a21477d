"""``Classes``: what this user may use now, class by class, and which GPUs are free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .. import _core
from .._engine.wait import Eta, eta_of
from ..errors import public
from .text_table import as_html, as_text


class Amount(NamedTuple):
    """A limit of one user in a class. `most` and `left` are None where there is none."""

    most: int | None
    used: int

    @property
    def left(self) -> int | None:
        return None if self.most is None else max(0, self.most - self.used)

    def __str__(self) -> str:
        if self.most == 0:
            return "none"
        if self.most is None:
            return f"no limit, {self.used} in use" if self.used else "no limit"
        return f"{self.left} of {self.most} left"


@public
class Class(NamedTuple):
    """A class that is open to this user. `time` is in minutes; None: no limit. `default`: taken where none is named.

    `instead` are the classes that the site's policy names for when this one is full, the best first.
    """

    name: str
    default: bool
    time: int | None
    running_jobs: Amount
    jobs: Amount
    gpus: Amount
    gpus_of_one_job: int | None
    instead: tuple[str, ...] = ()


class Gpu(NamedTuple):
    """One type of GPU in the cluster; the type is empty where the site names none.

    `eta`: when one more request for it would start, where none is free.
    """

    type: str
    total: int
    free: int
    eta: Eta | None = None


@public
class Classes:
    """The classes by name: a mapping's ``[name]``, ``in``, iteration and length; ``gpus`` are the cluster's. Shows
    itself as a table."""

    def __init__(self, rows: Sequence[Class], gpus: Sequence[Gpu], launcher: str):
        self._rows = {row.name: row for row in rows}
        self.gpus = list(gpus)
        self.launcher = launcher

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __getitem__(self, name: str) -> Class:
        return self._rows[name]

    def shortest(self, minutes: int = 0) -> str:
        """The class for a short try of so many minutes: the one with the shortest sufficient time limit; of equals the
        default class. Empty where no class has such a limit: then the site's own choice is as good."""
        giving = [row for row in self._rows.values() if row.time is not None and row.time >= minutes]
        return min(giving, key=lambda row: (row.time, not row.default)).name if giving else ""

    def __repr__(self) -> str:
        if not self._rows:
            return self._nothing()
        return "\n\n".join(map(as_text, self._tables()))

    def _repr_html_(self) -> str:
        if not self._rows:
            return f"<i>{self._nothing()}</i>"
        return "".join(map(as_html, self._tables()))

    def _nothing(self) -> str:
        return "no classes: work runs on this machine" if self.launcher == "local" else "no class is open to you"

    def _tables(self) -> list[list[tuple[str, ...]]]:
        rows = [(row.name + (" (where none is named)" if row.default else ""), _time(row.time), str(row.running_jobs),
                 str(row.gpus)) for row in self._rows.values()]
        gpus = [(gpu.type or "any", str(gpu.free), str(gpu.total)) for gpu in self.gpus]
        tables: list[list[tuple[str, ...]]] = [[("class", "time", "running jobs", "GPUs"), *rows]]
        if gpus:
            tables.append([("GPU", "free", "all"), *gpus])
        return tables


def classes_of(answer: _core.ClassesIs) -> Classes:
    """The public form of pounced's answer; -1 there is None here."""
    return Classes([_class(use) for use in answer.classes], [_gpu(use) for use in answer.gpus], answer.launcher)


def _gpu(use: _core.GpuUse) -> Gpu:
    return Gpu(use.gpu_type, use.total, use.free, eta_of(use.eta))


def _class(use: _core.ClassUse) -> Class:
    def none(value: int) -> int | None:
        return None if value < 0 else value

    return Class(use.class_, use.preset, none(use.time_min), Amount(none(use.jobs_most), use.jobs_used),
                 Amount(none(use.submits_most), use.submits_used), Amount(none(use.gpus_most), use.gpus_used),
                 none(use.gpus_job), tuple(use.instead))


def _time(minutes: int | None) -> str:
    if minutes is None:
        return "no limit"
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    return f"{hours // 24} d" if hours % 24 == 0 and not rest else f"{hours} h" + (f" {rest} min" if rest else "")
