"""In which order suites run, and which beside each other; then what failed once more, with nothing beside it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from .commands import Failed, LeftOut, say, signs_of_life, stop_all
from .reports import Case, Report
from .suites import Options, Suite

FIRST = ("install", "build")  # everything else needs what they make
# Side by side, each of about the same time: what waits for Slurm leaves the processors to the others.
LANES = (("slurm", "chaos", "asan"), ("rules", "unit", "fuzz", "python"), ("installed", "notebook", "releases", "system"))


@dataclass
class Outcome:
    """What became of one suite."""

    suite: Suite
    cases: list[Case] = field(default_factory=list)
    unsteady: list[Case] = field(default_factory=list)  # they failed, and passed when they ran alone
    reports: list[Report] = field(default_factory=list)
    minutes: float = 0.0
    trouble: str = ""   # why it could not run to its end
    left_out: str = ""  # why it could not run here; no failure

    def count(self, outcome: str) -> int:
        return sum(case.outcome == outcome for case in self.cases)

    @property
    def failures(self) -> int:
        return max(self.count("failed"), 1 if self.trouble else 0)


def run_all(suites: list[Suite], options: Options) -> list[Outcome]:
    """Blocks until all have ended, in the order of `suites`."""
    outcomes: dict[str, Outcome] = {}
    with signs_of_life():
        for suite in (suite for suite in suites if suite.name in FIRST):
            outcomes[suite.name] = run_one(suite, options)
            if outcomes[suite.name].trouble:
                return list(outcomes.values())
        others = [suite for suite in suites if suite.name not in FIRST]
        lanes = lanes_of(others)
        with ThreadPoolExecutor(1) as behind, ThreadPoolExecutor(max(1, len(lanes))) as pool, stopped_with_us():
            builds = {suite.name: behind.submit(suite.behind, options) for suite in others if suite.behind is not None}
            for ended in pool.map(lambda lane: [run_one(suite, options, builds.get(suite.name)) for suite in lane], lanes):
                outcomes.update({outcome.suite.name: outcome for outcome in ended})
        for outcome in outcomes.values():
            look_again(outcome, options)
    return [outcomes[suite.name] for suite in suites]


@contextmanager
def stopped_with_us() -> Iterator[None]:
    """Ctrl-C reaches this thread alone: what the others run ends with it."""
    try:
        yield
    except BaseException:
        stop_all()
        raise


def lanes_of(suites: list[Suite]) -> list[list[Suite]]:
    """What is in no lane runs by itself before the others: it measures time, or takes both processors for long."""
    by_name = {suite.name: suite for suite in suites}
    lanes = [[by_name[name] for name in lane if name in by_name] for lane in LANES]
    alone = [suite for suite in suites if not any(suite in lane for lane in lanes)]
    longest = max(lanes, key=len, default=[])
    longest.extend(alone)
    return [lane for lane in lanes if lane]


def run_one(suite: Suite, options: Options, build: Future[None] | None = None) -> Outcome:
    """`build`: what it needs, under way; None: it is made here."""
    say(f"{suite.name:9} {suite.about} …")
    outcome, start = Outcome(suite), time.monotonic()
    try:
        if build is not None:
            build.result()
        elif suite.behind is not None:
            suite.behind(options)
        outcome.reports = suite.run(options)
    except LeftOut as reason:
        outcome.left_out = str(reason)
    except Failed as failure:
        outcome.trouble = str(failure)
        say(outcome.trouble)
    outcome.minutes = (time.monotonic() - start) / 60
    outcome.cases = [case for report in outcome.reports for case in report.cases()]
    if outcome.cases and not outcome.count("passed") and not outcome.count("failed"):
        outcome.trouble = f"every test of {suite.name} was skipped: that shows nothing; the reasons stand in the table"
    say(f"{suite.name:9} {outcome.count('passed')} passed, {outcome.failures} failed, {outcome.count('skipped')} skipped, "
        f"{outcome.minutes:.1f} min")
    return outcome


# ---- a second look ---------------------------------------------------------------------------------------------------


def look_again(outcome: Outcome, options: Options) -> None:
    """Runs alone what has failed. What passes then is unsteady; what fails again has failed."""
    start = time.monotonic()
    if outcome.trouble and outcome.suite.name not in FIRST:
        _whole_suite_again(outcome, options)
    else:
        for report in outcome.reports:
            failed = [case for case in report.cases() if case.outcome == "failed"]
            if failed:
                _cases_again(outcome, report, failed)
    outcome.minutes += (time.monotonic() - start) / 60


def _whole_suite_again(outcome: Outcome, options: Options) -> None:
    first, second = outcome.trouble, run_one(outcome.suite, options)
    outcome.cases, outcome.reports, outcome.trouble = second.cases, second.reports, second.trouble
    if not second.failures:
        outcome.unsteady.append(Case("", f"the suite {outcome.suite.name}", "failed", 0.0, first.splitlines()[0]))


def _cases_again(outcome: Outcome, report: Report, failed: list[Case]) -> None:
    say(f"{outcome.suite.name:9} once more, alone: {', '.join(case.title for case in failed)}")
    if report.again is None:
        return
    try:
        again = [case for each in report.again(failed) for case in each.cases()]
    except Failed as failure:
        say(str(failure))
        return
    steady = [case for case in failed if _passed(case, again)]
    outcome.unsteady += steady
    outcome.cases = [Case(case.group, case.name, "passed", case.seconds) if case in steady else case for case in outcome.cases]


def _passed(case: Case, again: list[Case]) -> bool:
    """All that ran under its name: ctest gives a case no group."""
    same = [other.outcome for other in again if other.name == case.name and other.group == case.group]
    return bool(same) and set(same) == {"passed"}
