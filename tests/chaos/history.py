"""What happened, as one file of JSON lines that everybody appends to: clients, tasks, cells and the runner.

A line is one write of a file opened to append, so nothing is torn and a killed process has written what it had to say.
Times are of the machine's monotonic clock: all nodes share it, and no fault moves it.
"""

from __future__ import annotations

import json
import time
from pathlib import Path


class HistoryFile:
    def __init__(self, folder: Path):
        self.path = folder / "history.jsonl"
        self.path.touch()
        self.path.chmod(0o666)

    def note(self, what: str, **facts) -> None:
        with self.path.open("ab", buffering=0) as file:
            file.write(json.dumps({"what": what, "at": time.monotonic(), **facts}).encode() + b"\n")

    def rows(self, what: str = "") -> list[dict]:
        whole = self.path.read_text().rpartition("\n")[0]  # somebody may be just about to write the last line
        rows = [json.loads(line) for line in whole.splitlines()]
        return [row for row in rows if what in ("", row["what"])]
