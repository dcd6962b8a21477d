"""The endpoints of this user on this machine, whichever process has them: their list, and stopping one."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any

from .. import errors
from .._engine.durations import in_words
from .._engine.resource_words import did_you_mean
from .._tables.text_table import Rows
from . import endpoint_files
from .endpoint_files import Entry
from .routes import STATUS, STOP

_PATIENCE_S = 10.0


class Endpoints(Rows[dict[str, Any]]):
    """What each endpoint says of itself, without its token."""

    _COLUMNS = ("NAME", "SERVES", "WORKERS", "REQUESTS", "FOR", "ADDRESS", "PROCESS", "WHY")
    _nothing = "no endpoint: pounce.serve() makes one"

    def _cells(self, row: dict[str, Any]) -> tuple[str, ...]:
        where = f"{row['folder']} (pid {row['pid']})"
        age = in_words(max(0.0, time.time() - row["since"]))
        if "ready" not in row:
            return row["name"], row["serves"], "-", "-", age, row["url"], where, "it does not answer"
        workers = f"{row['ready']} of {row['least']}:{row['most']}"
        if row["starting"]:
            workers += f", {row['starting']} to come"
        requests = f"{row['answered']} answered" + "".join(
            f", {row[word]} {said}" for word, said in (("failed", "failed"), ("waiting", "wait")) if row[word])
        why = row["problem"] or row["why"] or "-"
        return row["name"], row["serves"], workers, requests, age, row["url"], where, why


def endpoints() -> Endpoints:
    """Blocks until each has answered, at most 10 s for one that does not."""
    return Endpoints([_facts(entry) for entry in endpoint_files.all_entries()])


def stop(name: str) -> None:
    """Blocks until its process has been told; raises NoSuchName."""
    entry = named(name)
    try:
        _ask(entry, "POST", STOP)
    except OSError as error:
        if endpoint_files.find(name) is not None:
            raise errors.DaemonUnavailable(f"process {entry.pid}, which serves {name}, does not answer: {error}",
                                           f"End it: kill {entry.pid}") from None


def named(name: str) -> Entry:
    entry = endpoint_files.find(name) if "/" not in name and not name.startswith(".") else None
    if entry is None:
        names = [one.name for one in endpoint_files.all_entries()]
        there = f"There are {', '.join(names)}." if names else "There is none on this machine."
        raise errors.NoSuchName(f"no endpoint has the name {name!r}{did_you_mean(name, names)}", there)
    return entry


def _facts(entry: Entry) -> dict[str, Any]:
    known = {"name": entry.name, "serves": entry.serves, "url": f"http://127.0.0.1:{entry.port}", "pid": entry.pid,
             "since": entry.since, "folder": entry.folder}
    try:
        return {**known, **_ask(entry, "GET", STATUS)}
    except (OSError, ValueError, http.client.HTTPException):
        return known


def _ask(entry: Entry, method: str, path: str) -> dict[str, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", entry.port, timeout=_PATIENCE_S)
    try:
        connection.request(method, path, headers={"Authorization": f"Bearer {entry.token}"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise OSError(f"its answer has status {answer.status}")
        return dict(json.loads(answer.read()))
    finally:
        connection.close()
