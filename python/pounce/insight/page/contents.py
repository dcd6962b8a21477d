"""What stands on the page, in which order."""

from __future__ import annotations

from ..spans import Calendar
from . import used, waiting
from .document import Page, Tile
from .sums import Past
from .waits import SERVED_S, quantile
from .wording import hours_words, percent, span_words

TOP = 10


def page_of(past: Past, made_s: int, top: int = TOP) -> Page:
    first = [used.over_time(past), used.given_back(past), waiting.seats(past), waiting.outcomes(past)]
    waits = [waiting.by_class(past), waiting.by_hour(past)]
    accounts = [] if _same(past, "project", "account") else [used.by_key(past, "account", "Accounts", top)]
    who = [used.by_key(past, "project", "Projects", top), *accounts, used.by_key(past, "user", "People", top),
           used.idle_holders(past, top), used.by_key(past, "class", "Classes", top, "A class is Slurm's QoS.")]
    nodes = "A job's nodes have equal parts of it, for Slurm does not say which had how many of its GPUs."
    where = [used.by_key(past, "gpu", "GPU models", top), used.by_key(past, "partition", "Partitions", top),
             used.by_key(past, "node", "Nodes", 2 * top, nodes), used.known(past)]
    whose = f" · only {', '.join(sorted(past.users))}" if past.users else ""
    calendar = past.calendar
    return Page(f"GPUs of {past.cluster}",
                f"{calendar.shown(past.from_s)} to {calendar.shown(past.to_s)} ({calendar.zone}){whose}",
                _notes(past), _tiles(past),
                [("What the GPUs did", first), ("Who waited", waits), ("Who held them", who),
                 ("Which GPUs, and what is known", where)], _made(calendar, made_s))


def _same(past: Past, one: str, other: str) -> bool:
    return past.by[one] == past.by[other]


def _tiles(past: Past) -> list[Tile]:
    total, waits = past.total, past.waits.all
    back_s = sum(past.leases.given_back_s.values())
    at_once = sum(waited_s <= SERVED_S for waited_s in waits)
    seconds = past.to_s - past.from_s
    return [Tile("GPU time held", hours_words(total.gpu_s), f"{total.gpu_s / seconds:,.1f} GPUs in the mean"),
            Tile("Computing", percent(total.busy_ms / 1000, total.known_s),
                 f"of the {percent(total.known_s, total.gpu_s)} whose use is known"),
            Tile("Given back by pounce", hours_words(back_s), "in pauses of up to 2 h"),
            Tile("Half started within", span_words(quantile(waits, 0.5)) if waits else "-",
                 f"{percent(at_once, len(waits))} at once (60 s)"),
            Tile("Jobs", f"{total.jobs:,}", f"{total.started:,} began in the span"),
            Tile("People", f"{len(past.by['user']):,}", f"in {len(past.by['account']):,} accounts")]


def _notes(past: Past) -> list[str]:
    """What the figures do not have."""
    notes = []
    if past.own_only:
        notes.append("These are one person's own jobs: this site shows others' to operators only (PrivateData).")
    if past.begins_late:
        notes.append("The store begins here: `pouncectl usage collect --from DAY` reads further back.")
    if past.ends_early:
        notes.append("The store ends here: nothing has been collected for more than a day.")
    if not past.counts_gpus:
        notes.append("Slurm does not count GPUs here: set AccountingStorageTRES=gres/gpu in slurm.conf. Waits are "
                     "those of all jobs.")
    total = past.total
    if total.gpu_s and total.known_s < total.gpu_s / 2:
        notes.append(f"The use of only {percent(total.known_s, total.gpu_s)} of the GPU time is known: shares of "
                     "computing time say little of the rest.")
    return notes


def _made(calendar: Calendar, made_s: int) -> str:
    return (f"Made by pouncectl usage page on {calendar.shown(made_s)}, from Slurm's accounting. What the figures are: "
            "docs/insight.md.")
