"""Looks at the sources when their time has come, and puts together what they said last.

A look is made in turn with the others, by one caller; what it costs does not depend on how often Prometheus scrapes.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..._engine.daemon import find_program
from ...errors import PounceError, SlurmUnreachable, make
from ..accounting import Accounting
from ..answer import Question, answer
from ..projects import project_rule
from ..spans import Calendar, local_zone
from ..store import default_place, open_store
from .counted import Counted
from .families import Names, Values, set_all
from .own import own_values
from .process import process_values
from .site import queue_values, usage_values

SELDOM_S = 300.0  # what changes slowly, or is dear: saved variables, usage
_DAEMON_S, _SLURM_S = 15.0, 60.0  # how long an answer may take
_NO_DAEMON = "daemon_unavailable"


@dataclass
class Source:
    """`look` returns values, or raises PounceError; then those of the last look count no more but for `when_silent`."""

    name: str
    every_s: float
    look: Callable[[], Values]
    when_silent: Values = field(default_factory=dict)
    next_s: float = 0.0  # of the monotonic clock
    values: Values = field(default_factory=dict)


class Sources:
    def __init__(self, sources: list[Source], say: Callable[[str], None]):
        self._sources, self._say = sources, say
        self._exporter: dict[str, dict[tuple[str, ...], float]] = {
            f"pounce_exporter_{name}": {} for name in ("success", "duration_seconds", "last_success_time_seconds")}
        self._troubles: dict[str, str] = {}

    def due(self, now_s: float) -> list[Source]:
        """Those whose time has come by the monotonic clock `now_s`."""
        return [source for source in self._sources if source.next_s <= now_s]

    def look_at(self, source: Source) -> None:
        """Blocks until it has answered, or its time is over."""
        began_s, label, trouble = time.monotonic(), (source.name,), ""
        source.next_s = began_s + source.every_s
        try:
            source.values = source.look()
            self._exporter["pounce_exporter_last_success_time_seconds"][label] = time.time()
        except PounceError as error:
            source.values, trouble = source.when_silent, str(error)
        except (KeyError, TypeError, ValueError, AttributeError) as error:  # of another version
            source.values = source.when_silent
            trouble = f"its answer cannot be understood ({type(error).__name__}: {error})"
        self._exporter["pounce_exporter_success"][label] = float(not trouble)
        self._exporter["pounce_exporter_duration_seconds"][label] = time.monotonic() - began_s
        if trouble and self._troubles.get(source.name) != trouble:  # once, not at each look
            self._say(f"{source.name}: {trouble}")
        self._troubles[source.name] = trouble

    def values(self) -> Values:
        everything: Values = {}
        for source in self._sources:
            everything.update(source.values)
        for name, family in self._exporter.items():
            set_all(everything, name, family.items())
        return everything


def own_sources(every_s: float, counted: Counted) -> list[Source]:
    """One person's pounced, and the variables that are saved."""
    classes = Names()

    def look() -> Values:
        try:
            document = _said(_DAEMON_S, "status", "--json")
        except PounceError as error:
            if error.code != _NO_DAEMON:
                raise
            counted.nothing_runs()
            return {"pounce_up": {(): 0.0}, **counted.values}
        counted.look(document, classes)
        return {**own_values(document, time.time(), classes), **process_values(int(document["pid"])), **counted.values}

    def look_at_saved() -> Values:
        saved = _said(_DAEMON_S, "parked", "list", "--json")["parked"]
        return {"pounce_saved_states": {(): float(len(saved))},
                "pounce_saved_state_bytes": {(): float(sum(one["size"] for one in saved))}}

    return [Source("pounced", every_s, look, {"pounce_up": {(): 0.0}}),
            Source("saved", max(every_s, SELDOM_S), look_at_saved)]


def site_sources(every_s: float, window_s: int, accounts: int) -> list[Source]:
    """Slurm's queue, and the store with Slurm's accounting."""
    classes, types = Names(), Names()

    def look_at_queue() -> Values:
        queue = queue_values(_said(_SLURM_S, "top", "--json"), time.time(), classes, types)
        return {"pounce_site_up": {(): 1.0}, **queue}

    return [Source("queue", every_s, look_at_queue, {"pounce_site_up": {(): 0.0}}),
            Source("usage", max(every_s, SELDOM_S), lambda: _usage(window_s, accounts, classes))]


def _usage(window_s: int, accounts: int, classes: Names) -> Values:
    place, now_s = default_place(), int(time.time())
    store = open_store(place) if place is not None else None
    try:
        calendar = store.calendar() if store is not None else Calendar(local_zone())
        question = Question(("class", "account"), now_s - window_s, now_s)
        with Accounting() as accounting:
            found = answer(question, calendar, project_rule("account"), store, lambda: accounting)
    finally:
        if store is not None:
            store.close()
    if found.facts is not None and not found.facts.has_database:
        raise SlurmUnreachable("this Slurm has no slurmdbd, so there are no figures of usage",
                               "Set AccountingStorageType=accounting_storage/slurmdbd in slurm.conf.")
    return usage_values(found, accounts, classes)


def _said(patience_s: float, *words: str) -> dict[str, Any]:
    """What `pouncectl` answers with --json. Raises its error."""
    try:
        done = subprocess.run([find_program("pouncectl"), *words], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, encoding="utf-8", errors="replace", timeout=patience_s, check=False)
        document = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise SlurmUnreachable(f"`pouncectl {' '.join(words)}` did not answer within {patience_s:.0f} s",
                               "Run it by hand, and see what it waits for.") from None
    except ValueError:
        raise SlurmUnreachable(f"`pouncectl {' '.join(words)}` answered nothing that can be read",
                               "Run it by hand, and see what it says.") from None
    error = document.get("error")
    if error:
        raise make(str(error.get("code", "")), error.get("text", ""), error.get("remedy", ""), error.get("context"))
    found: dict[str, Any] = document
    return found
