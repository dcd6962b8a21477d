"""``pouncectl antipatterns``: habits that hold GPUs without use, each with the line to type instead."""

from __future__ import annotations

import time
from contextlib import ExitStack, nullcontext

from ... import _core
from ..._engine.resource_words import did_you_mean
from ...command_line import EXIT_OK, answered
from ...errors import BadRequest
from ..accounting import Accounting
from ..command import opened, span_given
from ..spans import DAY_S, Calendar, local_zone
from ..store import Store, told
from ..words import AS_JSON, OF_SPAN, OF_STORE, Option, list_of, parsed, users_of
from . import hints, shown
from .evidence import Span
from .judge import Finding, findings
from .rows import Past, Reader, user_name
from .rules import KINDS, OF_THE_SITE, SHIPPED, Rules, load

_RULES = Option("--rules", "FILE", f"thresholds and exceptions, in place of {OF_THE_SITE}")
_OPTIONS = (
    *OF_SPAN,
    Option("--user", "NAMES", "the jobs of these users alone; for operators"),
    Option("--kind", "KINDS", "these kinds alone, with commas between them"),
    _RULES,
    AS_JSON,
    OF_STORE,
)
_HINT = (
    Option("--off", "", "no more hints"),
    Option("--on", "", "hints again"),
    _RULES,
    OF_STORE,
)
_VERBS = ("hint", "rules")

_PAGE = "\n".join([
    "pouncectl antipatterns [OPTIONS]       habits that hold GPUs without use, with the line to type instead",
    *(option.line for option in _OPTIONS), "",
    "pouncectl antipatterns hint            one of yours that is new, at most once a day; for a shell's start",
    *(option.line for option in _HINT), "",
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
        return _verb(words[0], words[1:])
    given, _ = parsed("antipatterns", words, _OPTIONS)
    return _report(given)


def _verb(word: str, words: list[str]) -> int:
    if word not in _VERBS:
        raise BadRequest(f"there is no `pouncectl antipatterns {word}`{did_you_mean(word, _VERBS)}",
                         "`pouncectl antipatterns --help` lists what there is.")
    given, _ = parsed(f"antipatterns {word}", words, _HINT if word == "hint" else ())
    if word == "hint":
        return _hint(given)
    print(SHIPPED.read_text(encoding="utf-8"), end="")
    return EXIT_OK


def _report(given: dict[str, str]) -> int:
    kinds = list_of("--kind", given.get("--kind", ",".join(KINDS)), KINDS)
    rules = load(given.get("--rules", ""))
    users = users_of(given)
    with ExitStack() as stack:
        store = stack.enter_context(opened(given.get("--store")))
        calendar = Calendar(store.setting("zone") if store is not None else local_zone())
        from_s, to_s, words = span_given(given, calendar, int(time.time()))
        past, found = _found(store, rules, from_s, to_s, users)
    found = [finding for finding in found if finding.kind in kinds]
    if "--json" in given:
        print(shown.as_json(past, found, from_s, to_s))
    else:
        print(shown.as_words(past, found, words, calendar))
    return EXIT_OK


def _found(store: Store | None, rules: Rules, from_s: int, to_s: int, users: frozenset[str]
           ) -> tuple[Past, list[Finding]]:
    with Accounting() as accounting, told(store.place) if store is not None else nullcontext():
        reader = Reader(store, lambda: accounting, from_s, to_s, users)
        span = Span(from_s, to_s, reader.past.gpus)
        return reader.past, [finding for user, jobs in reader.people()
                             for finding in findings(user, jobs, rules, span)]


def _hint(given: dict[str, str]) -> int:
    """Prints nothing where nothing is new. What was looked at counts for a day, so that Slurm has one question."""
    if "--off" in given and "--on" in given:
        raise BadRequest("--off and --on are opposites", "Give one of them.")
    place, now_s = hints.default_place(), int(time.time())
    state = hints.read(place)
    if "--off" in given or "--on" in given:
        state.is_off = "--off" in given
        hints.write(place, state)
        return EXIT_OK
    if not state.is_due(now_s):
        return EXIT_OK
    rules = load(given.get("--rules", ""))
    state.looked_s = now_s
    hints.write(place, state)
    with opened(given.get("--store")) as store:
        _, found = _found(store, rules, now_s - 7 * DAY_S, now_s, frozenset({user_name()}))
    new = hints.next_hint(found, state)
    if new is not None:
        kind, case = new
        state.kinds[kind] = now_s
        hints.write(place, state)
        print("\n".join(map(_core.printable, hints.sentences(case))))
    return EXIT_OK
