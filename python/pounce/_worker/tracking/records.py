"""What waits to be sent to MLflow's server: one request of MLflow's, or a copy of an artifact, as plain JSON."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

# {"api": the name of MLflow's message, "body": its fields}, or {"file": where it goes, "path": the folder there,
# "run": of which run, "copy": where it lies here}.
Record: TypeAlias = "dict[str, Any]"

KEPT = frozenset(("LogMetric", "LogParam", "LogBatch", "SetTag", "DeleteTag", "LogInputs", "UpdateRun"))
BATCH = "LogBatch"
_SINGLE = {"LogMetric": "metrics", "LogParam": "params", "SetTag": "tags"}
_RUN = ("run_id", "run_uuid")
_MOST = {"metrics": 1000, "params": 100, "tags": 100}  # that MLflow's server takes in one batch
_MOST_IN_ALL = 1000


def run_of(record: Record) -> str:
    return str(record["run"] if "file" in record else record["body"].get("run_id", ""))


def contents(record: Record) -> Counter[str]:
    """How many metrics, params, tags, artifacts or other requests it has."""
    if "file" in record:
        return Counter(artifacts=1)
    if record["api"] == BATCH:
        return Counter({kind: len(entries) for kind, entries in _entries(record).items() if entries})
    return Counter([_SINGLE.get(record["api"], "changes")])


def added_tag(run: str, key: str, value: str) -> Record:
    """A tag to whose present value this one is added."""
    return {"api": "SetTag", "adds": True, "body": {"run_id": run, "run_uuid": run, "key": key, "value": value}}


def added_to_tag(present: str, more: str) -> str | None:
    """None: it is there already, and only the answer was lost."""
    return None if present.endswith(more) else f"{present}; {more}".removeprefix("; ")


def run_of_artifact(uri: str) -> str:
    found = re.search(r"/([0-9a-f]{32})/artifacts", uri)
    return found[1] if found else ""


def first_request(waiting: list[Record]) -> tuple[Record, int]:
    """The request to send next, and how many of the oldest records it is. Consecutive ones of a run become one batch,
    as long as the server cannot tell the difference."""
    first = waiting[0]
    if not _joins(first):
        return first, 1
    run, batch, taken = run_of(first), dict[str, list[Any]](metrics=[], params=[], tags=[]), 0
    for record in waiting:
        if not _joins(record) or run_of(record) != run or not _fits(batch, _entries(record)):
            break
        for kind, entries in _entries(record).items():
            batch[kind] += entries
        taken += 1
    if taken < 2:
        return first, 1
    parts = {kind: entries for kind, entries in batch.items() if entries}
    return {"api": BATCH, "body": {"run_id": run, **parts}}, taken


def _joins(record: Record) -> bool:
    return "file" not in record and "adds" not in record and (record["api"] in _SINGLE or record["api"] == BATCH)


def _entries(record: Record) -> dict[str, list[Any]]:
    body = record["body"]
    if record["api"] == BATCH:
        return {kind: body.get(kind, []) for kind in _MOST}
    return {_SINGLE[record["api"]]: [{name: value for name, value in body.items() if name not in _RUN}]}


def _fits(batch: dict[str, list[Any]], more: dict[str, list[Any]]) -> bool:
    """A key that comes twice begins another batch: the later value counts, or is refused."""
    if sum(map(len, batch.values())) + sum(map(len, more.values())) > _MOST_IN_ALL:
        return False
    return all(len(batch[kind]) + len(entries) <= _MOST[kind] and (
        kind == "metrics" or _keys(batch[kind]).isdisjoint(_keys(entries))) for kind, entries in more.items())


def _keys(entries: Iterable[Any]) -> set[str]:
    return {entry["key"] for entry in entries}


def in_words(counts: Counter[str]) -> str:
    """"3 metrics, 1 tag"."""
    return ", ".join(f"{number} {kind if number > 1 else kind[:-1]}" for kind, number in counts.items() if number)
