"""How fast the store of a year is written and read: a made-up site with 1,000 GPUs and 5 million jobs.

    PYTHONPATH=build/release/site python tests/bench/insight_year.py [--jobs 5000000] [--days 365] [--store FILE]

The jobs come from a stand-in for slurmdbd in this process, so the time is that of the collector and of SQLite. Prints processor
seconds, memory, the size of the store, and how long each report takes, a fresh connection each.
"""

from __future__ import annotations

import argparse
import functools
import random
import resource
import tempfile
import time
from pathlib import Path

from pounce.insight.accounting import Facts
from pounce.insight.answer import Question, answer
from pounce.insight.collector import Collector
from pounce.insight.jobs import Job, complete
from pounce.insight.projects import project_rule
from pounce.insight.store import ROLLUPS, create, open_store

DAY = 86400
BEGIN = 1_767_225_600  # 2026-01-01
LONGEST_DAYS = 3
REPORTS = [("class", "user", "mode"), ("user",), ("account", "week"), ("day",), ("node",), ("gpu", "mode"), ("hour",), ("weekday", "hour"), ("project", "day")]


class MadeUpSite:
    """200 users in 30 accounts on 125 nodes with 8 GPUs, who submit mostly short jobs."""

    def __init__(self, jobs: int, days: int):
        self.a_day, self.days = jobs // days, days
        self.now_s = BEGIN + days * DAY
        self.of_day = functools.lru_cache(maxsize=LONGEST_DAYS + 3)(self._of_day)

    def facts(self) -> Facts:
        return Facts("big", self.now_s, counts_gpu_use=True)

    def jobs(self, from_s: int, to_s: int, facts: Facts, steps: bool = False) -> list[Job]:
        first = (from_s - BEGIN) // DAY - LONGEST_DAYS - 1
        found = []
        for day in range(max(first, 0), min((to_s - BEGIN) // DAY + 1, self.days)):
            found += [job for job in self.of_day(day) if job.eligible_s < to_s and job.end_s >= from_s]
        return [complete(job, facts.now_s, {}, lambda node, after: None) for job in found]

    def _of_day(self, day: int) -> list[Job]:
        dice = random.Random(day)
        return [self._job(dice, day * self.a_day + number, day) for number in range(self.a_day)]

    def _job(self, dice: random.Random, number: int, day: int) -> Job:
        user = int(min(dice.expovariate(0.03), 199))
        submit = BEGIN + day * DAY + dice.randrange(DAY)
        start = submit + int(dice.expovariate(1 / 1200))
        seconds = int(min(dice.choice((90, 600, 3600, 20_000)) * dice.expovariate(1), LONGEST_DAYS * DAY))
        gpus = dice.choice((0, 1, 1, 1, 1, 2, 4, 8))
        return Job(job=number + 1, submit_s=submit, eligible_s=submit, start_s=start, end_s=start + seconds, user=f"user{user}", account=f"lab{user % 30}",
                   class_name=("day", "night", "debug")[number % 3], partition="gpu" if number % 4 else "big", mode=("batch", "reservation", "offload")[user % 3],
                   nodes=f"g{dice.randrange(125)}", gpus=gpus, cpus=max(4 * gpus, 1), name=f"train-{user}-{number % 50}", submit_line="sbatch train.sh --lr 0.1",
                   gpu_types={"h100" if number % 5 else "a100": gpus} if gpus else {}, gpu_use_permille=dice.randrange(1000) if number % 2 else -1,
                   state="COMPLETED", limit_s=DAY)


def measured(what: str, function, times: int = 1):
    spent, since = time.process_time(), time.perf_counter()
    for _ in range(times):
        found = function()
    print(f"{what:<44}{(time.perf_counter() - since) / times:9.2f} s{(time.process_time() - spent) / times:9.2f} s processor", flush=True)
    return found


def report(place: Path, keys: tuple[str, ...], from_s: int, to_s: int) -> None:
    store = open_store(place)
    answer(Question(keys, from_s, to_s), store.calendar(), project_rule(""), store, lambda: None)
    store.close()


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--jobs", type=int, default=5_000_000)
    words.add_argument("--days", type=int, default=365)
    words.add_argument("--store", type=Path)
    options = words.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = options.store or Path(folder) / "usage.sqlite"
        site = MadeUpSite(options.jobs, options.days)
        if not place.exists():
            store = create(place, "Australia/Melbourne")
            done = measured("collect all", lambda: Collector(store, site).run(BEGIN))
            store.close()
            print(f"{done.read} rows read, {done.written} written; {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB at most")
        store = create(place, "Australia/Melbourne")
        measured("collect again, where nothing is new", lambda: Collector(store, site).run(None))
        for table in ("job", *ROLLUPS):
            print(f"{table:<16}{store.connection.execute(f'SELECT count(*) FROM {table}').fetchone()[0]:>9} rows")
        store.close()
        print(f"{place.stat().st_size / 1e6:.0f} MB")
        for keys in REPORTS:
            measured("a year by " + ",".join(keys), lambda keys=keys: report(place, keys, max(site.now_s - 360 * DAY, BEGIN + DAY), site.now_s), 2)
        measured("a year that begins within a day, by user", lambda: report(place, ("user",), max(site.now_s - 300 * DAY, BEGIN + 2 * DAY) - 5555, site.now_s - 7777))


if __name__ == "__main__":
    main()
