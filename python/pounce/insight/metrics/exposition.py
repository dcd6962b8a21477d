"""The text that Prometheus reads, by prometheus_client: the only module here that imports it."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ...errors import PounceError
from .families import COUNTER, FAMILIES, HISTOGRAM, WAIT_BUCKETS_S, Family, Histogram, Values

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def library() -> ModuleType:
    """Raises where it is missing."""
    try:
        import prometheus_client.core
    except ImportError:
        raise PounceError("pouncectl metrics needs the Python package prometheus_client, which is not installed here",
                          "Install it beside pounce: python -m pip install prometheus_client.") from None
    return prometheus_client


def text_of(values: Values) -> bytes:
    """All families that have a value, in the order of their table. A counter's and a histogram's names get what
    Prometheus expects of them."""
    prometheus = library()
    registry = prometheus.CollectorRegistry()
    registry.register(_Collector(values))
    text: bytes = prometheus.generate_latest(registry)
    return text


class _Collector:
    def __init__(self, values: Values):
        self._values = values

    def describe(self) -> list[Any]:
        return []

    def collect(self) -> Iterator[Any]:
        for family in FAMILIES.values():
            if family.name in self._values:
                yield _made(family, self._values)


def _made(family: Family, values: Values) -> Any:
    core = library().core
    kinds = {COUNTER: core.CounterMetricFamily, HISTOGRAM: core.HistogramMetricFamily}
    made = kinds.get(family.kind, core.GaugeMetricFamily)(family.name, family.about, labels=family.labels)
    for labels, value in sorted(values[family.name].items()):
        if isinstance(value, Histogram):
            made.add_metric(labels, *_buckets(value))
        else:
            made.add_metric(labels, value)
    return made


def _buckets(histogram: Histogram) -> tuple[list[tuple[str, int]], float]:
    sums, so_far = [], 0
    for bound, count in zip((*map(str, WAIT_BUCKETS_S), "+Inf"), histogram.counts, strict=True):
        so_far += count
        sums.append((bound, so_far))
    return sums, histogram.total
