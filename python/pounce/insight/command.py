"""``pouncectl usage``: what jobs held, by user, class, day and more; and the store that answers it fast."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from .._engine.durations import seconds_of
from .._engine.resource_words import did_you_mean
from ..command_line import EXIT_OK, answered, ended_quietly
from ..errors import BadRequest
from . import plot, shown
from .accounting import Accounting
from .answer import Answer, Question, answer
from .collector import Collector
from .page import command as page_command
from .projects import project_rule
from .spans import DAY_S, Calendar, local_zone, span_of_days, span_since
from .store import Store, create, default_place, open_store, told
from .tally import KEYS
from .words import AS_JSON, OF_SPAN, OF_STORE, Option, list_of, number_of, parsed, users_of

_REPORT = (
    *OF_SPAN,
    Option("--by", "KEYS", f"several with commas between; class,user,mode by default: {', '.join(KEYS)}"),
    Option("--user", "NAMES", "the jobs of these users alone"),
    Option("--sort", "WORD", f"{', '.join(shown.SORTS)}; most GPU time first by default, times in their order"),
    Option("--top", "N", "the first N rows, and the others as one"),
    Option("--projects", "RULE", "what a project is: account, wckey, or a file with lines such as: account ml vision"),
    Option("--csv", "", "print a table for spreadsheets, in seconds"),
    AS_JSON,
    Option("--plot", "FILE", "and draw it: FILE ends in .svg or .png"),
    OF_STORE,
)
_COLLECT = (
    Option("--from", "DAY", "how far back the store goes; a year by default"),
    Option("--keep", "SPAN", "drop what is older: 730d"),
    Option("--group", "NAME", "let this group read the store; by default only its owner may"),
    Option("--projects", "RULE", "what a project is, for all who read the store"),
    Option("--without-steps", "", "leave out what Slurm measured in steps: GPU use, memory, CPU time"),
    Option("--quiet", "", "print no line for each day"),
    AS_JSON,
    OF_STORE,
)
_FORGET = (AS_JSON, OF_STORE)
_VERBS = ("collect", "forget", "page", "store")

_PAGE = "\n".join([
    "pouncectl usage [OPTIONS]              what all jobs held, and how much of it computed",
    *(option.line for option in _REPORT), "",
    "pouncectl usage collect [OPTIONS]      read Slurm's accounting into a store, which answers at once; for a timer",
    *(option.line for option in _COLLECT), "",
    "pouncectl usage page [OUT.html] [--serve [PORT]]  one page of pictures, as a file or for browsers",
    *(option.line for option in page_command.OPTIONS), "",
    "pouncectl usage store [--json]         where the store is, and what it has",
    "pouncectl usage forget USER [--json]   take a person's name out of the store", "",
    "mode: reservation (srun, salloc, a notebook of a portal), batch (other jobs), offload (pounce).",
    "hour and weekday are those of the clock: --by hour is a profile of the day, --by day,hour a series.",
    "Exit codes: 0 fine, 1 the command failed, 2 wrong usage.", "",
    "Examples:",
    "  pouncectl usage                           the last 7 days, by class, user and mode",
    "  pouncectl usage --since 30d --by user --top 10",
    "  pouncectl usage --from 2026-10-01 --to 2026-10-31 --by account,week --csv > october.csv",
    "  pouncectl usage --since 90d --by day,mode --plot gpu-hours.svg",
])


def main(words: list[str]) -> int:
    return ended_quietly(lambda: answered("usage", _PAGE, _run, words), "stopped; what a store has collected is kept")


def _run(words: list[str]) -> int:
    if any(word in ("--help", "-h") for word in words):
        print(_PAGE)
        return EXIT_OK
    if words and not words[0].startswith("-"):
        verbs = {"collect": _collect, "forget": _forget, "page": page_command.run, "store": _show_store}
        if words[0] not in verbs:
            raise BadRequest(f"there is no `pouncectl usage {words[0]}`{did_you_mean(words[0], _VERBS)}",
                             "`pouncectl usage --help` lists what there is.")
        return verbs[words[0]](words[1:])
    return _report(words)


# ---- a report ------------------------------------------------------------------------------------------------------


def _report(words: list[str]) -> int:
    given, _ = parsed("usage", words, _REPORT)
    if "--csv" in given and "--json" in given:
        raise BadRequest("--csv and --json are two answers", "Give one of them.")
    keys = list_of("--by", given.get("--by", "class,user,mode"), KEYS)
    sort = "".join(list_of("--sort", given.get("--sort", ""), shown.SORTS)[:1])
    top = number_of("--top", given["--top"]) if "--top" in given else 0
    if "--plot" in given:
        plot.check(given["--plot"])
    with ExitStack() as stack:
        store = stack.enter_context(opened(given.get("--store")))
        zone = store.setting("zone") if store is not None else local_zone()
        calendar = Calendar(zone)
        from_s, to_s, span = span_given(given, calendar, int(time.time()))
        project = project_rule(given.get("--projects") or (store.setting("projects") if store is not None else ""))
        users = users_of(given)
        accounting = stack.enter_context(Accounting())
        with told(store.place) if store is not None else nullcontext():
            found = answer(Question(tuple(keys), from_s, to_s, users), calendar, project, store, lambda: accounting)
    _print(found, given, sort, top, span, calendar)
    return EXIT_OK


def span_given(given: dict[str, str], calendar: Calendar, now_s: int) -> tuple[int, int, str]:
    """(from, to, in words)."""
    if "--from" not in given and "--to" not in given:
        since = given.get("--since", "7d")
        return (*span_since(since, now_s), f"the last {since}")
    if "--since" in given:
        raise BadRequest("--since and --from name two spans", "Give --since, or --from and --to.")
    if "--from" not in given:
        raise BadRequest("--to needs --from", "Name the first day: --from 2026-11-01 --to 2026-11-30.")
    from_s, to_s = span_of_days(given["--from"], given.get("--to", ""), calendar, now_s)
    return from_s, to_s, f"{calendar.shown(from_s)} to {calendar.shown(to_s)} ({calendar.zone})"


@contextmanager
def opened(named: str | None) -> Iterator[Store | None]:
    """The store to read from; None: there is none, or none is wanted."""
    place = None if named == "none" else Path(named) if named else default_place()
    if place is None:
        yield None
        return
    store = open_store(place)
    try:
        yield store
    finally:
        store.close()


def _print(found: Answer, given: dict[str, str], sort: str, top: int, span: str, calendar: Calendar) -> None:
    rows, others = shown.cut(shown.sorted_rows(found, sort), top)
    if "--csv" in given:
        print(shown.as_csv(found, rows, others), end="")
        for line in shown.gap_lines(found, calendar):
            print(line, file=sys.stderr)
    elif "--json" in given:
        print(shown.as_json(found, rows, others))
    else:
        print(shown.as_words(found, rows, others, span, calendar))
    if "--plot" in given:
        plot.write(given["--plot"], found, rows, f"{found.cluster}, {span}")


# ---- the store -----------------------------------------------------------------------------------------------------


def _place_to_write(given: dict[str, str]) -> Path:
    place = Path(given["--store"]) if "--store" in given else default_place(to_write=True)
    assert place is not None
    return place


def _collect(words: list[str]) -> int:
    given, _ = parsed("usage collect", words, _COLLECT)
    keep_s = None
    if "--keep" in given:
        keep_s = int(seconds_of(given["--keep"]) or 0)
        if keep_s < 7 * DAY_S:
            raise BadRequest(f"--keep takes a span from 7d on, not {given['--keep']!r}", "Write --keep 730d.")
    if "--projects" in given:
        project_rule(given["--projects"])
    place = _place_to_write(given)
    store = create(place, local_zone(), given.get("--group", ""))
    say = (lambda line: None) if "--quiet" in given or "--json" in given else print
    try:
        with told(place), Accounting() as accounting:
            calendar = store.calendar()
            from_s = span_of_days(given["--from"], "", calendar, int(time.time()))[0] if "--from" in given else None
            if "--projects" in given:
                rule = given["--projects"]
                store.set("projects", os.path.abspath(rule) if os.sep in rule or os.path.exists(rule) else rule)
            done = Collector(store, accounting, "--without-steps" not in given, say).run(from_s, keep_s)
    finally:
        store.close()
    if "--json" in given:
        print(json.dumps({"store": str(place), "cluster": done.cluster, "from_s": done.from_s, "to_s": done.to_s,
                          "read": done.read, "written": done.written, "dropped": done.dropped,
                          "own_only": done.own_only}))
    elif "--quiet" not in given:
        print(f"{place} has all until {calendar.shown(done.to_s)}: {done.written} jobs are new or have changed"
              + (f", {done.dropped} were dropped" if done.dropped else ""))
        if done.own_only:
            print("These are your own jobs: this site shows others' to operators only (PrivateData).")
    return EXIT_OK


def _forget(words: list[str]) -> int:
    given, names = parsed("usage forget", words, _FORGET, places=1)
    if not names:
        raise BadRequest("whose name is to be taken out?", "Write pouncectl usage forget NAME.")
    place = _place_to_write(given)
    if not place.exists():
        raise BadRequest(f"there is no store {place}", "`pouncectl usage collect` makes one; --store names another.")
    store = create(place, local_zone())
    try:
        with told(place):
            with store.transaction():
                jobs = store.forget(names[0])
            store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the old pages go with it
    finally:
        store.close()
    print(json.dumps({"forgotten_jobs": jobs}) if "--json" in given else
          f"{jobs} jobs are now those of (forgotten); job names and command lines are gone, also of later jobs")
    return EXIT_OK


def _show_store(words: list[str]) -> int:
    given, _ = parsed("usage store", words, (AS_JSON, OF_STORE))
    with opened(given.get("--store")) as store:
        if store is None:
            raise BadRequest("there is no store that you may read", "`pouncectl usage collect` makes one of your own.")
        with told(store.place):
            kept, calendar = store.kept(), store.calendar()
            jobs = store.connection.execute("SELECT count(*) FROM job").fetchone()[0]
        size = store.place.stat().st_size
    if "--json" in given:
        print(json.dumps({"store": str(store.place), "cluster": kept.cluster if kept else "", "zone": calendar.zone,
                          "from_s": kept.begin_s if kept else 0, "until_s": kept.until_s if kept else 0,
                          "jobs": jobs, "bytes": size}))
    else:
        print(f"{store.place}: {jobs} jobs, {size / 1e6:.1f} MB" + (
            f"; cluster {kept.cluster}, {calendar.shown(kept.begin_s)} to {calendar.shown(kept.until_s)} "
            f"({calendar.zone})" if kept else "; nothing is collected yet"))
    return EXIT_OK
