"""``pouncectl antipatterns``: habits that hold GPUs without use, each with the line to type instead."""

from __future__ import annotations

import time
from contextlib import ExitStack, nullcontext

from ..._engine.resource_words import did_you_mean
from ...command_line import EXIT_OK, answered
from ...errors import BadRequest
from ..accounting import Accounting
from ..command import opened, span_given
from ..spans import Calendar, local_zone
from ..store import told
from ..words import Option, list_of, parsed
from . import shown
from .evidence import Span
from .judge import findings
from .rows import Reader
from .rules import KINDS, OF_THE_SITE, SHIPPED, load

_OPTIONS = (
    Option("--since", "SPAN", "the span of time until now: 7d, 12h, 90min; 7d by default"),
    Option("--from", "DAY", "from the beginning of that local day on: 2026-11-03, today, yesterday"),
    Option("--to", "DAY", "to the end of that local day; today by default"),
    Option("--user", "NAMES", "the jobs of these users alone; for operators"),
    Option("--kind", "KINDS", "these kinds alone, with commas between them"),
    Option("--rules", "FILE", f"thresholds and exceptions, in place of {OF_THE_SITE}"),
    Option("--json", "", "print one JSON document"),
    Option("--store", "FILE", "another store than the usual one; none: ask Slurm alone"),
)

_PAGE = "\n".join([
    "pouncectl antipatterns [OPTIONS]       habits that hold GPUs without use, with the line to type instead",
    *(option.line for option in _OPTIONS), "",
    "pouncectl antipatterns rules           the rules as they are shipped: thresholds, exceptions, kinds", "",
    "You see your own, and an operator everybody's. What is not known is not guessed.",
    f"Kinds: {', '.join(KINDS[:6])},",
    f"  {', '.join(KINDS[6:])}.", "",
    "Exit codes: 0 fine, 1 the command failed, 2 wrong usage.", "",
    "Examples:",
    "  pouncectl antipatterns                    the last 7 days",
    "  pouncectl antipatterns --from 2026-10-01 --to 2026-10-31 --user alice,bob",
    "  pouncectl antipatterns --kind gpu-too-large,overlong-limit --json",
    "  pouncectl antipatterns rules              to copy from, for a site's own file",
])


def main(words: list[str]) -> int:
    return answered("antipatterns", _PAGE, _run, words)


def _run(words: list[str]) -> int:
    if any(word in ("--help", "-h") for word in words):
        print(_PAGE)
        return EXIT_OK
    if words and not words[0].startswith("-"):
        if words != ["rules"]:
            near = did_you_mean(words[0], ["rules"])
            raise BadRequest(f"there is no `pouncectl antipatterns {' '.join(words)}`{near}",
                             "`pouncectl antipatterns --help` lists what there is.")
        print(SHIPPED.read_text(encoding="utf-8"), end="")
        return EXIT_OK
    given, _ = parsed("antipatterns", words, _OPTIONS)
    return _report(given)


def _report(given: dict[str, str]) -> int:
    kinds = list_of("--kind", given.get("--kind", ",".join(KINDS)), KINDS)
    rules = load(given.get("--rules", ""))
    users = frozenset(filter(None, given.get("--user", "").split(",")))
    with ExitStack() as stack:
        store = stack.enter_context(opened(given.get("--store")))
        calendar = Calendar(store.setting("zone") if store is not None else local_zone())
        from_s, to_s, words = span_given(given, calendar, int(time.time()))
        accounting = stack.enter_context(Accounting())
        stack.enter_context(told(store.place) if store is not None else nullcontext())
        reader = Reader(store, lambda: accounting, from_s, to_s, users)
        span = Span(from_s, to_s, reader.past.gpus)
        found = [finding for user, jobs in reader.people() for finding in findings(user, jobs, rules, span)
                 if finding.kind in kinds]
    if "--json" in given:
        print(shown.as_json(reader.past, found, from_s, to_s))
    else:
        print(shown.as_words(reader.past, found, words, calendar))
    return EXIT_OK
