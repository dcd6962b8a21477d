"""The pictures of what GPUs did: held, computed, idle, given back; by whom, and where."""

from __future__ import annotations

from collections.abc import Sequence

from ..tally import Share, summed
from . import drawing
from .document import Cell, Column, Figure, Table
from .drawing import Part
from .sums import Past
from .wording import busy_words, count, hours, hours_words, idle_s, percent, percent_cell, seconds, words

MODES = ("offload", "reservation", "batch")
MODE_WORDS = {"offload": "pounce (offload)", "reservation": "reservation", "batch": "batch"}
USE = (("computing", "busy"), ("known idle", "idle"), ("use not known", "unknown"))
_HELD = (Column("Jobs", "jobs"), Column("GPU time", "gpu_s"), Column("Computing", "gpu_busy_s"),
         Column("Known", "gpu_known_s"), Column("Mean wait", "mean_wait_s"))
HELD_IS = "GPU time: GPUs × time from a job's start to its end, its part in the span."
USE_IS = "Computing: held time × mean GPU use, where that is known."


def modes_of(past: Past) -> list[str]:
    return [mode for mode in MODES if mode in past.by["mode"]]


def over_time(past: Past) -> Figure:
    modes = modes_of(past)
    parts = [Part(MODE_WORDS[mode], mode, [_at(past, period, mode).gpu_s / 3600 for period in past.periods])
             for mode in modes]
    all_of = {period: summed(_at(past, period, mode) for mode in modes) for period in past.periods}
    busy = Part("known to compute", "line", [all_of[period].busy_ms / 3.6e6 for period in past.periods])
    labels = [period[5:] if past.unit == "day" else period for period in past.periods]
    columns = [Column(past.unit.capitalize(), past.unit), Column("Mode", "mode"), *_HELD]
    rows = [[words(period), words(mode), *_held(_at(past, period, mode))]
            for period in past.periods for mode in modes if (period, mode) in past.over_time]
    total = past.total
    return Figure(
        "over-time", "GPU hours held and computing",
        f"{hours_words(total.gpu_s)} held; computing: {busy_words(total)}.",
        drawing.over_time(labels, parts, "GPU h", busy), f"Bars: GPU hours held in each {past.unit}, by mode. Line: "
        f"the part of them that is known to have computed. {HELD_IS} A job counts in each {past.unit} of its own.",
        Table(columns, rows), drawing.legend([*((part.name, part.colour) for part in parts), (busy.name, "line")]))


def known(past: Past) -> Figure:
    """What the figures of use rest on."""
    modes = modes_of(past)
    shares = [past.by["mode"][mode] for mode in modes]
    parts = [Part("measured by Slurm", "q5", [(share.known_s - share.said_s) / 3600 for share in shares]),
             Part("said by pounce's leases", "q3", [share.said_s / 3600 for share in shares]),
             Part("not known", "unknown", [(share.gpu_s - share.known_s) / 3600 for share in shares])]
    columns = (Column("Mode", "mode"), Column("GPU time", "gpu_s"), Column("Measured", "gpu_measured_s"),
               Column("Said", "gpu_said_s"), Column("Not known", "gpu_unknown_s"), Column("Known", "known_part"))
    lines = [[words(mode), *_known_cells(share)] for mode, share in zip(modes, shares, strict=True)]
    total = past.total
    return Figure(
        "known", "How much of it is known, and from what",
        f"The use of {percent(total.known_s, total.gpu_s)} of the GPU time is known.",
        drawing.rows([MODE_WORDS[mode] for mode in modes], parts, [f"{percent(share.known_s, share.gpu_s)} known"
                                                                   for share in shares], "GPU h"),
        "Measured: gres/gpuutil of Slurm's steps (NVML). Said: busy and idle seconds in the comment of a lease, which "
        "its owner could write. All shares of computing time on this page are of the known time alone.",
        Table(columns, lines, [words("all"), *_known_cells(total)]),
        drawing.legend([(part.name, part.colour) for part in parts]))


def _known_cells(share: Share) -> list[Cell]:
    return [hours(share.gpu_s), hours(share.known_s - share.said_s), hours(share.said_s),
            hours(share.gpu_s - share.known_s), percent_cell(share.known_s, share.gpu_s)]


def given_back(past: Past) -> Figure:
    leased = [_at(past, period, "offload") for period in past.periods]
    back = [past.leases.given_back_s.get(period, 0) for period in past.periods]
    parts = [Part("computing", "busy", [share.busy_ms / 3.6e6 for share in leased]),
             Part("warm but idle", "idle", [idle_s(share) / 3600 for share in leased]),
             Part("use not known", "unknown", [(share.gpu_s - share.known_s) / 3600 for share in leased]),
             Part("given back in pauses", "back", [seconds / 3600 for seconds in back])]
    total, total_back = summed(leased), sum(back)
    columns = (Column(past.unit.capitalize(), past.unit), Column("Leased", "gpu_s"), Column("Computing", "gpu_busy_s"),
               Column("Warm but idle", "gpu_idle_s"), Column("Given back", "given_back_gpu_s"))
    cells = [[words(period), *_leased_cells(share, seconds)]
             for period, share, seconds in zip(past.periods, leased, back, strict=True)]
    labels = [period[5:] if past.unit == "day" else period for period in past.periods]
    finding = "pounce leased nothing in this span." if not total.gpu_s else (
        f"pounce gave back {hours_words(total_back)} while people paused, beside the {hours_words(total.gpu_s)} that "
        f"it leased; {percent(idle_s(total), total.known_s)} of these were warm but idle, as far as it is known.")
    return Figure(
        "given-back", "What pounce gave back", finding, drawing.over_time(labels, parts, "GPU h"),
        "Given back: GPU time of the pauses of up to 2 h between two leases of one person, which a reservation would "
        "have kept; with the GPUs of the lease before. Warm but idle: leased, and known not to compute.",
        Table(columns, cells, [words("all"), *_leased_cells(total, total_back)]),
        drawing.legend([(part.name, part.colour) for part in parts]))


def _leased_cells(share: Share, back_s: int) -> list[Cell]:
    return [hours(share.gpu_s), hours(share.busy_ms / 1000), hours(idle_s(share)), hours(back_s)]


def by_key(past: Past, key: str, title: str, top: int, more: str = "") -> Figure:
    """Who or what held most, and what of it computed: the first `top`, and the others as one."""
    ordered = sorted(past.by[key].items(), key=lambda item: (-item[1].gpu_s, item[0]))
    ordered = [(label or "(not recorded)", share) for label, share in ordered if share.gpu_s] or ordered[:top]
    first = _with_others(ordered, top)
    parts = [Part(name, colour, [_use(share)[place] / 3600 for _, share in first])
             for place, (name, colour) in enumerate(USE)]
    notes = [f"{hours_words(share.gpu_s)}, {percent(share.gpu_s, past.total.gpu_s)}" for _, share in first]
    finding = "No GPU time in this span."
    if past.total.gpu_s:
        label, share = ordered[0]
        part = percent(share.gpu_s, past.total.gpu_s)
        finding = f"{len(ordered):,} held GPUs; most: {drawing.short(label, 40)}, {part}."
    lines = [[words(label), *_held(share)] for label, share in ordered]
    return Figure(f"by-{key}", title, finding, drawing.rows([label for label, _ in first], parts, notes, "GPU h"),
                  " ".join(filter(None, [HELD_IS, USE_IS, more])),
                  # A job may lie on several nodes: the total counts it once.
                  Table((Column(key.capitalize(), key), *_HELD), lines, [words("all"), *_held(past.total)]),
                  drawing.legend(USE))


def idle_holders(past: Past, top: int) -> Figure:
    held = [(user, share) for user, share in past.by["user"].items() if idle_s(share) > 0]
    ordered = sorted(held, key=lambda item: (-idle_s(item[1]), item[0]))
    first = ordered[:top]
    idle = [idle_s(share) / 3600 for _, share in first]
    notes = [f"{percent(idle_s(share), share.known_s)} of {hours_words(share.known_s)}" for _, share in first]
    total_s = sum(idle_s(share) for _, share in ordered)
    columns = (Column("User", "user"), Column("Known idle", "gpu_idle_s"), Column("Known", "gpu_known_s"),
               Column("GPU time", "gpu_s"), Column("Idle part", "idle_part"))
    lines = [[words(user), hours(idle_s(share)), hours(share.known_s), hours(share.gpu_s),
              percent_cell(idle_s(share), share.known_s)] for user, share in ordered]
    finding = f"{hours_words(total_s)} are known to have been held idle." if ordered else "No idle time is known."
    return Figure("idle-holders", "Most idle GPU time", finding,
                  drawing.rows([user for user, _ in first], [Part("known idle", "idle", idle)], notes, "GPU h"),
                  "Idle: held while the GPU was measured, or said, not to compute; that may be loading data, thinking, "
                  "or a job that needs the GPU's memory alone. Time of unknown use does not count. No verdict.",
                  Table(columns, lines), drawing.legend([("known idle", "idle")]))


def _with_others(ordered: Sequence[tuple[str, Share]], top: int) -> list[tuple[str, Share]]:
    if len(ordered) <= top + 1:
        return list(ordered)
    return [*ordered[:top], (f"({len(ordered) - top} more)", summed(share for _, share in ordered[top:]))]


def _use(share: Share) -> tuple[float, float, float]:
    return share.busy_ms / 1000, idle_s(share), share.gpu_s - share.known_s


def _at(past: Past, period: str, mode: str) -> Share:
    return past.over_time.get((period, mode), Share())


def _held(share: Share) -> list[Cell]:
    return [count(share.jobs), hours(share.gpu_s), hours(share.busy_ms / 1000), hours(share.known_s),
            seconds(share.waited_s / share.started if share.started else 0)]


