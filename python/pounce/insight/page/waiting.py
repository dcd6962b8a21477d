"""The pictures of waiting: how long, who, when; how many people the GPUs served; how jobs ended."""

from __future__ import annotations

from collections.abc import Sequence

from . import drawing
from .document import Cell, Column, Figure, Table
from .drawing import Part
from .sums import Past
from .used import MODE_WORDS, MODES, modes_of
from .waits import BUCKETS, SERVED_S, bucket_of, quantile
from .wording import count, hours, hours_words, percent, percent_cell, seconds, span_words, words

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_COLOURS = 7
FAILED = ("FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE")
WAIT_IS = ("A wait is from the moment a job could start (after its dependencies and its begin time) to its start, of "
           "the jobs with GPUs that started in the span.")


def by_class(past: Past) -> Figure:
    waits = past.waits
    names = sorted(waits.by_class, key=lambda name: (-len(waits.by_class[name]), name))
    shown = names[:_COLOURS - 1] if len(names) > _COLOURS else names
    counts = {name: waits.histogram(name) for name in names}
    parts = [Part(name or "(no class)", f"s{place}", counts[name]) for place, name in enumerate(shown)]
    if len(shown) < len(names):
        rest = [sum(counts[name][place] for name in names[len(shown):]) for place in range(len(BUCKETS))]
        parts.append(Part(f"({len(names) - len(shown)} more)", f"s{_COLOURS - 1}", rest))
    together = waits.all
    columns = [Column("Class", "class"), Column("Jobs", "jobs"), Column("Half within", "p50_s"),
               Column("95 % within", "p95_s"), Column("At once", "within_60_s_part"),
               *(Column(text, f"jobs_{text.replace(' ', '_')}") for _, text in BUCKETS)]
    cells = [[words(name), count(len(waits.by_class[name])), *_quantiles(waits.by_class[name]),
              *map(count, counts[name])] for name in names]
    finding = "No job started in this span." if not together else (
        f"Half of the jobs started within {span_words(quantile(together, 0.5))}, 95 % within "
        f"{span_words(quantile(together, 0.95))}.")
    return Figure("waits", "How long jobs waited, by class", finding,
                  drawing.over_time([text for _, text in BUCKETS], parts, "jobs"),
                  f"{WAIT_IS} A class is Slurm's QoS. At once: within {SERVED_S} s.", Table(columns, cells),
                  drawing.legend([(part.name, part.colour) for part in parts]))


def _quantiles(waits: Sequence[int]) -> list[Cell]:
    at_once = sum(waited_s <= SERVED_S for waited_s in waits)
    return [seconds(quantile(waits, 0.5)), seconds(quantile(waits, 0.95)), percent_cell(at_once, len(waits))]


def by_hour(past: Past) -> Figure:
    by_hour = past.waits.by_hour
    middle = {place: quantile(waits, 0.5) for place, waits in by_hour.items()}
    cells = [[_hour_cell(day, hour, middle.get((day, hour)), len(by_hour.get((day, hour), ()))) for hour in range(24)]
             for day in range(7)]
    busiest = [place for place in middle if len(by_hour[place]) >= 5] or list(middle)
    finding = "No job started in this span."
    if busiest:
        day, hour = max(busiest, key=lambda place: middle[place])
        longest = span_words(middle[day, hour])
        finding = f"Longest on {_DAYS[day]} at {hour:02}: half of the jobs waited {longest} or more."
    columns = (Column("Weekday", "weekday"), Column("Hour", "hour"), Column("Jobs", "jobs"),
               Column("Half within", "p50_s"), Column("95 % within", "p95_s"))
    lines = [[words(_DAYS[day]), words(f"{hour:02}"), count(len(waits)), seconds(middle[day, hour]),
              seconds(quantile(waits, 0.95))] for (day, hour), waits in sorted(by_hour.items())]
    key = [("no job", "none"), *((text, f"q{place}") for place, (_, text) in enumerate(BUCKETS))]
    return Figure("when", "When people wait", finding, drawing.grid([f"{hour:02}" for hour in range(24)], _DAYS, cells),
                  f"The median wait by the weekday and hour ({past.calendar.zone}) at which a job could start; the "
                  f"sentence above names the longest with five jobs or more. {WAIT_IS}",
                  Table(columns, lines), drawing.legend(key))


def _hour_cell(day: int, hour: int, waited_s: int | None, jobs: int) -> tuple[str, str]:
    place = f"{_DAYS[day]} {hour:02}"
    if waited_s is None:
        return "none", f"{place}: no job"
    return f"q{bucket_of(waited_s)}", f"{place}: {jobs} jobs, half within {span_words(waited_s)}"


def seats(past: Past) -> Figure:
    found = {mode: past.leases.seats[mode] for mode in MODES if mode in past.leases.seats}
    notes = [f"{each.per_gpu:.2f} a GPU" for each in found.values()]
    columns = (Column("Mode", "mode"), Column("Days", "days"), Column("People a day", "people_a_day"),
               Column("Served a day", "served_a_day"), Column("GPUs in use", "peak_gpus_a_day"),
               Column("Seats per GPU", "seats_per_gpu"))
    lines = [[words(mode), count(each.days), _mean(each.people, each.days), _mean(each.served, each.days),
              _mean(each.gpus, each.days), _mean(each.served, each.gpus)] for mode, each in found.items()]
    parts = [Part("people served at once, a GPU", mode, [each.per_gpu if mode == other else 0
                                                         for other, each in found.items()]) for mode in found]
    finding = "; ".join(f"{MODE_WORDS[mode]}: {each.per_gpu:.2f} people a GPU"
                        for mode, each in found.items()) + "." if found else "No GPU was held in this span."
    return Figure("seats", "Seats per GPU", finding,
                  drawing.rows([MODE_WORDS[mode] for mode in found], parts, notes, ""),
                  f"People served within {SERVED_S} s ÷ GPUs in use, summed over the days of the span. Of a person "
                  "with ten starts on a day, nine of them in time, nine tenths were served. GPUs in use: the most at "
                  "one moment of the day, of that mode. A batch job may hold many GPUs for one person: "
                  "compare modes that do the same work.",
                  Table(columns, lines))


def _mean(total: float, number_of: int) -> Cell:
    value = total / number_of if number_of else 0
    return Cell(drawing.number(value), round(value, 3))


def outcomes(past: Past) -> Figure:
    modes = modes_of(past)
    states = sorted({state for state, _ in past.outcomes},
                    key=lambda state: (-sum(past.outcomes.get((state, mode), (0, 0))[1] for mode in modes), state))
    held = {key: amounts[1] for key, amounts in past.outcomes.items()}
    parts = [Part(MODE_WORDS[mode], mode, [held.get((state, mode), 0) / 3600 for state in states]) for mode in modes]
    jobs = {state: sum(past.outcomes.get((state, mode), (0, 0))[0] for mode in modes) for state in states}
    total_s = sum(held.values())
    columns = (Column("State", "state"), Column("Mode", "mode"), Column("Jobs", "jobs"), Column("GPU time", "gpu_s"))
    lines = [[words(state), words(mode), count(past.outcomes[state, mode][0]), hours(held[state, mode])]
             for state in states for mode in modes if (state, mode) in held]
    failed_s = sum(amount for (state, _), amount in held.items() if state in FAILED)
    finding = "No GPU time in this span." if not total_s else (
        f"{percent(failed_s, total_s)} of the GPU time, {hours_words(failed_s)}, went to jobs that failed, ran into "
        "their limit or lost their node.")
    return Figure("outcomes", "How jobs ended", finding,
                  drawing.rows([state.lower().replace("_", " ") for state in states], parts,
                               [f"{jobs[state]:,} jobs" for state in states], "GPU h"),
                  "Slurm's state of each run, and the GPU hours that these runs held in the span. A requeued job has a "
                  "run for each start. Cancelled: scancel, which is also how sessions and leases end.",
                  Table(columns, lines, [words("all"), words(""), count(sum(jobs.values())), hours(total_s)]),
                  drawing.legend([(part.name, part.colour) for part in parts]))
