"""``Classes``: what this person may use now, class by class, and which GPUs are free."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .table import as_html, as_text
from .waiting import Eta


class Amount(NamedTuple):
    """A limit of one person in a class. `most` and `left` are None where there is none."""

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


class Class(NamedTuple):
    """A class that is open to this person. `time` is in minutes; None: no limit. `default`: taken where none is named.

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


class Classes:
    """The classes by name: a mapping's ``[name]``, ``in``, iteration and length; ``gpus`` are the cluster's. Shows itself as a table."""

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
        rows = [(row.name + (" (where none is named)" if row.default else ""), _time(row.time), str(row.running_jobs), str(row.gpus))
                for row in self._rows.values()]
        gpus = [(gpu.type or "any", str(gpu.free), str(gpu.total)) for gpu in self.gpus]
        tables: list[list[tuple[str, ...]]] = [[("class", "time", "running jobs", "GPUs"), *rows]]
        if gpus:
            tables.append([("GPU", "free", "all"), *gpus])
        return tables


def classes_of(rows: Sequence[tuple[object, ...]], gpus: Sequence[tuple[object, ...]], launcher: str) -> Classes:
    """Of pounced's answer as ``_core`` tells it; -1 there is None here."""
    return Classes([_class(*row) for row in rows], [_gpu(*gpu) for gpu in gpus], launcher)  # type: ignore[arg-type]


def _gpu(type: str, total: int, free: int, eta: tuple[float, float, float, str] | None = None) -> Gpu:
    return Gpu(type, total, free, Eta(*eta) if eta else None)


def _class(name: str, default: bool, time: int, jobs_most: int, jobs_used: int, submits_most: int, submits_used: int,
           gpus_most: int, gpus_used: int, gpus_job: int, instead: Sequence[str] = ()) -> Class:
    def none(value: int) -> int | None:
        return None if value < 0 else value

    return Class(name, default, none(time), Amount(none(jobs_most), jobs_used), Amount(none(submits_most), submits_used),
                 Amount(none(gpus_most), gpus_used), none(gpus_job), tuple(instead))


def _time(minutes: int | None) -> str:
    if minutes is None:
        return "no limit"
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    return f"{hours // 24} d" if hours % 24 == 0 and not rest else f"{hours} h" + (f" {rest} min" if rest else "")
