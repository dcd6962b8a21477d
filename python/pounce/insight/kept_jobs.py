"""Jobs as the store has them, for whatever looks at them one by one."""

from __future__ import annotations

from collections.abc import Iterator

from .jobs import Job
from .store import COLUMNS, WORDS, Kept, Store

_READ = tuple(name for name in COLUMNS if name not in ("cluster", "seen_s"))


def jobs_between(store: Store, kept: Kept, from_s: int, to_s: int) -> Iterator[Job]:
    """Those that held something in [from_s, to_s), with their whole times, by their start. One job is in memory at a
    time. Use it within `told(store.place)`."""
    # No job of the store is longer than `longest_s`, so the index on starts finds them.
    rows = store.connection.execute(
        f"SELECT {', '.join(_READ)} FROM job WHERE cluster = ? AND start_s >= ? AND start_s < ? AND until_s > ? "
        "AND until_s > start_s ORDER BY start_s",
        (store.id_of(kept.cluster), max(from_s - kept.longest_s, 1), to_s, from_s))
    texts: dict[int, str] = {}
    for row in rows:
        values = dict(zip(_READ, row, strict=True))
        for name in WORDS:
            number = values[name]
            if number not in texts:
                texts[number] = store.text(number)
            values[name] = texts[number]
        values["class_name"] = values.pop("class")
        values["lost"] = bool(values["lost"])
        yield Job(**values)
