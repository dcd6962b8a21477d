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
    return jobs_where(store, "cluster = ? AND start_s >= ? AND start_s < ? AND until_s > ? AND until_s > start_s "
                      "ORDER BY start_s", store.id_of(kept.cluster), max(from_s - kept.longest_s, 1), to_s, from_s)


def jobs_where(store: Store, condition: str, *values: object) -> Iterator[Job]:
    """Those that a condition of SQL finds, in its order, as `jobs_between` gives them."""
    rows = store.connection.execute(f"SELECT {', '.join(_READ)} FROM job WHERE {condition}", values)
    texts: dict[int, str] = {}
    for row in rows:
        fields = dict(zip(_READ, row, strict=True))
        for name in WORDS:
            number = fields[name]
            if number not in texts:
                texts[number] = store.text(number)
            fields[name] = texts[number]
        fields["class_name"] = fields.pop("class")
        fields["lost"] = bool(fields["lost"])
        yield Job(**fields)
