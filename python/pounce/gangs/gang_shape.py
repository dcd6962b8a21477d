"""The shape of a gang, from the keywords of ``Client.gang``. Pure."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..errors import BadRequest

_RANGE = re.compile(r"([1-9]\d{0,2}):([1-9]\d{0,2})")


class Shape(NamedTuple):
    """`least` to `most` leases, each with these keywords of ``Client.options``; with more than one it is elastic."""

    words: dict[str, Any]
    least: int = 1
    most: int = 1


def shape_of(words: dict[str, Any]) -> Shape:
    """``spread=`` and ``pack=`` become a number of nodes."""
    words = dict(words)
    if "name" in words:
        raise BadRequest("a name is for one task, and a gang has several", "Leave out name=.")
    spread, pack = words.pop("spread", False), words.pop("pack", False)
    if (spread and (pack or "nodes" in words)) or (pack and words.get("nodes", 1) != 1):
        text = "spread=True is a node for each rank, pack=True one for all, and nodes= says how many"
        raise BadRequest(text, "Leave all but one of them out.")
    ranges = {name: _range(name, words[name]) for name in ("nodes", "workers") if isinstance(words.get(name), str)}
    if ranges:
        if spread or pack:
            raise BadRequest("the leases of an elastic gang are each on one node", "Leave out spread= and pack=.")
        return _elastic(words, ranges)
    return Shape({**words, "nodes": words["workers"]} if spread and "workers" in words else words)


def _elastic(words: dict[str, Any], ranges: dict[str, tuple[int, int]]) -> Shape:
    """One lease for each node or, where only workers are given, for each worker."""
    for name in ("nodes", "workers"):
        if name in words and name not in ranges:
            other = next(iter(ranges))
            raise BadRequest(f"{other}={words[other]!r} may change, and {name}={words[name]!r} does not",
                             f"Give both as a range, or leave out {name}=.")
    leases, ranks = ranges.get("nodes", ranges.get("workers")), ranges.get("workers", ranges.get("nodes"))
    assert leases is not None and ranks is not None
    each = {ranks[end] / leases[end] for end in (0, 1)}
    if len(each) > 1 or not next(iter(each)).is_integer():
        raise BadRequest(f"nodes={words['nodes']!r} and workers={words['workers']!r} are not as many on each node",
                         "Ask for a number of workers that is the same multiple of both ends.")
    others = {name: value for name, value in words.items() if name not in ranges}
    return Shape({**others, "workers": int(next(iter(each)))}, *leases)


def _range(name: str, value: str) -> tuple[int, int]:
    ends = _RANGE.fullmatch(value)
    if not ends or int(ends[1]) > int(ends[2]):
        raise BadRequest(f"{name}= of a gang is a number, or the least and the most as in '1:4', not {value!r}")
    return int(ends[1]), int(ends[2])
