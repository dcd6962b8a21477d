"""``pouncectl metrics``: prints, serves or writes the figures."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from ..._engine.durations import seconds_of
from ...command_line import EXIT_OK, answered, end_of_serving, ended_quietly
from ...errors import BadRequest
from ..spans import DAY_S
from ..words import Option, number_of, parsed
from .counted import Counted
from .exposition import library, text_of
from .server import MetricsServer, address_of
from .sources import Sources, own_sources, site_sources
from .textfile import TextFile

_OPTIONS = (
    Option("--listen", "ADDRESS:PORT", "serve them at http://ADDRESS:PORT/metrics; PORT alone: on 127.0.0.1"),
    Option("--textfile", "FILE.prom", "write them for node_exporter's textfile collector"),
    Option("--once", "", "write FILE.prom once, for a timer"),
    Option("--every", "SPAN", "how often the sources are looked at; 15s, and 60s with --site or --textfile"),
    Option("--site", "", "the whole site, for operators: Slurm's queue, and usage from the store or slurmdbd"),
    Option("--own", "", "your own pounced; the default, and beside --site both"),
    Option("--window", "SPAN", "usage of this last span; 24h by default"),
    Option("--accounts", "N", "so many accounts have their name, the others are one; 20 by default"),
)
_LEAST_S = 1.0

_PAGE = "\n".join([
    "pouncectl metrics              print figures for Prometheus once",
    "pouncectl metrics --listen …   serve them until Ctrl-C",
    "pouncectl metrics --textfile … write them to a file, again and again",
    *(option.line for option in _OPTIONS), "",
    "Exit codes: 0 fine, 1 the command failed, 2 wrong usage.", "",
    "Examples:",
    "  pouncectl metrics                              your own leases, waits and pounced, on this terminal",
    "  pouncectl metrics --listen 127.0.0.1:9790",
    "  pouncectl metrics --site --listen 9790         the site's queue and usage",
    "  pouncectl metrics --site --textfile /var/lib/prometheus/node-exporter/pounce.prom --every 60s",
])


def main(words: list[str]) -> int:
    return ended_quietly(lambda: answered("metrics", _PAGE, _run, words))


def _run(words: list[str]) -> int:
    if any(word in ("--help", "-h") for word in words):
        print(_PAGE)
        return EXIT_OK
    given, _ = parsed("metrics", words, _OPTIONS)
    _check(given)
    file = TextFile(Path(given["--textfile"])) if "--textfile" in given else None
    address = address_of(given["--listen"]) if "--listen" in given else None
    every_s = _span(given, "--every", 60.0 if file or "--site" in given else 15.0, _LEAST_S)
    counted = file.counted() if file else Counted()
    sources = _sources(given, every_s, counted)
    library()
    if address is not None:
        server = MetricsServer(address)
        print(f"{server.address.url} until Ctrl-C", flush=True)
        if not address.is_loopback:
            print("pouncectl metrics: all machines that reach this address can read these figures", file=sys.stderr)
        _until_the_end(sources, every_s, server.publish)
    elif file is not None and "--once" not in given:
        _until_the_end(sources, every_s, lambda text: file.write(text, counted))
    else:
        for source in sources.due(time.monotonic()):
            sources.look_at(source)
        text = text_of(sources.values())
        if file is None:
            sys.stdout.write(text.decode())
        else:
            file.write(text, counted)
    return EXIT_OK


def _check(given: dict[str, str]) -> None:
    if "--listen" in given and "--textfile" in given:
        raise BadRequest("--listen and --textfile are two ways out", "Give one of them, or run the command twice.")
    if "--once" in given and ("--listen" in given or "--every" in given):
        raise BadRequest("--once goes with --textfile alone", "Leave --once out, or --listen and --every.")
    if "--every" in given and "--listen" not in given and "--textfile" not in given:
        raise BadRequest("--every needs --listen or --textfile", "Without them the figures are printed once.")
    if "--site" not in given and ("--window" in given or "--accounts" in given):
        raise BadRequest("--window and --accounts are for --site", "Add --site, or leave them out.")


def _sources(given: dict[str, str], every_s: float, counted: Counted) -> Sources:
    sources = []
    if "--own" in given or "--site" not in given:
        sources += own_sources(every_s, counted)
    if "--site" in given:
        window_s = int(_span(given, "--window", DAY_S, 60.0))
        sources += site_sources(every_s, window_s, number_of("--accounts", given.get("--accounts", "20")))
    return Sources(sources, lambda line: print(f"pouncectl metrics: {line}", file=sys.stderr, flush=True))


def _span(given: dict[str, str], word: str, default_s: float, least_s: float) -> float:
    if word not in given:
        return default_s
    seconds = seconds_of(given[word]) or 0.0
    if seconds < least_s:
        raise BadRequest(f"{word} takes a span of {least_s:.0f} s at least, not {given[word]!r}",
                         f"Write {word} 60s, or leave it out.")
    return seconds


def _until_the_end(sources: Sources, every_s: float, publish: Callable[[bytes], None]) -> None:
    over = end_of_serving()
    while not over.is_set():
        began_s = time.monotonic()
        for source in sources.due(began_s):
            sources.look_at(source)
            if over.is_set():
                return
            publish(text_of(sources.values()))
        over.wait(max(began_s + every_s - time.monotonic(), _LEAST_S))
