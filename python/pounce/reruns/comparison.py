"""How the metrics of two runs differ. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from .._tables.text_table import Rows

_NOISE = "system/"  # MLflow's measurements of the machine


class Metric(NamedTuple):
    """The last value of a metric, before and now. None: it was not logged."""

    name: str
    before: float | None
    now: float | None

    @property
    def difference(self) -> float | None:
        return None if self.before is None or self.now is None else self.now - self.before

    @property
    def relative(self) -> float | None:
        """The difference as a part of what it was before; None: that was 0, or there is no difference to tell."""
        if self.difference is None or not self.before or not math.isfinite(self.before):
            return None
        return self.difference / abs(self.before)

    @property
    def is_equal(self) -> bool:
        if self.before is None or self.now is None:
            return False
        return self.before == self.now or (math.isnan(self.before) and math.isnan(self.now))

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "before": _plain(self.before), "now": _plain(self.now),
                "difference": _plain(self.difference), "relative": _plain(self.relative)}


class Metrics(Rows[Metric]):
    """All metrics of two runs; it shows those that differ."""

    _COLUMNS = ("METRIC", "BEFORE", "NOW", "DIFFERENCE", "RELATIVE")
    _nothing = "neither run has metrics"

    def __init__(self, before: Mapping[str, float], now: Mapping[str, float]):
        names = sorted(name for name in before.keys() | now.keys() if not name.startswith(_NOISE))
        super().__init__([Metric(name, before.get(name), now.get(name)) for name in names])

    @property
    def differing(self) -> list[Metric]:
        return [each for each in self.rows if not each.is_equal]

    def __repr__(self) -> str:
        equal = [each.name for each in self.rows if each.is_equal]
        last = [f"equal: {', '.join(equal)}"] if equal else []
        shown = [super().__repr__()] if self.differing or not self.rows else []
        return "\n".join([*shown, *last])

    def _cells(self, row: Metric) -> tuple[str, ...]:
        relative = "" if row.relative is None else f"{row.relative:+.2%}"
        return row.name, _number(row.before), _number(row.now), _number(row.difference, "+"), relative

    def _table(self) -> list[tuple[str, ...]]:
        return [self._COLUMNS, *map(self._cells, self.differing)]


def _number(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.6g}"


def _plain(value: float | None) -> float | str | None:
    """As JSON can have it."""
    return str(value) if value is not None and not math.isfinite(value) else value
