"""The table that a run ends in, and what it says to scripts: the exit code, build/unsteady.json."""

from __future__ import annotations

import json
import re

from .commands import BUILD, LOGS
from .schedule import Outcome
from .suites import Suite

MOST_UNSTEADY = 2  # more of them in one run fail it
_SLOWEST = 30


def show(outcomes: list[Outcome], left_out: list[Suite]) -> None:
    print(f"\n{'suite':9} {'passed':>7} {'failed':>7} {'skipped':>7} {'minutes':>8}")
    for outcome in outcomes:
        print(f"{outcome.suite.name:9} {outcome.count('passed'):7} {outcome.failures:7} {outcome.count('skipped'):7} {outcome.minutes:8.1f}")
    for outcome in outcomes:
        if outcome.left_out:
            print(f"{outcome.suite.name:9} not run: {outcome.left_out}")
    for suite in left_out:
        print(f"{suite.name:9} not run: it belongs to {' and '.join(sorted(suite.speeds))} runs, or was not named")
    for outcome in outcomes:
        _show_lines(outcome)
    _show_slowest(outcomes)
    totals = [sum(values) for values in zip(*((o.count("passed"), o.failures, o.count("skipped")) for o in outcomes), strict=True)]
    print(f"\n{totals[0]} passed, {totals[1]} failed, {totals[2]} skipped", flush=True)


def _show_lines(outcome: Outcome) -> None:
    for case in outcome.cases:
        if case.outcome == "skipped":
            print(f"skipped   {outcome.suite.name}: {case.name}: {case.why}")
    for advice in advice_of(outcome):
        print(f"advice    {outcome.suite.name}: {advice}")
    for case in outcome.cases:
        if case.outcome == "failed":
            print(f"FAILED    {outcome.suite.name}: {case.title}: {case.why}")
    for case in outcome.unsteady:
        print(f"UNSTEADY  {outcome.suite.name}: {case.title}: {case.why}")


def advice_of(outcome: Outcome) -> list[str]:
    """What a test says without failing."""
    log = LOGS / f"{outcome.suite.name}.log"
    return re.findall(r"\bAdvice: (.+)", log.read_text(errors="replace")) if log.exists() else []


def _show_slowest(outcomes: list[Outcome]) -> None:
    cases = sorted(((case.seconds, outcome.suite.name, case.title) for outcome in outcomes for case in outcome.cases), reverse=True)
    if cases:
        print(f"\n{'suite':9} {'seconds':>7} the slowest tests")
    for seconds, suite, title in cases[:_SLOWEST]:
        print(f"{suite:9} {seconds:7.1f} {title}")


def write_unsteady(outcomes: list[Outcome]) -> None:
    """What passed only alone, for who mends it next; an empty list where all passed at once."""
    rows = [{"suite": outcome.suite.name, "test": case.title, "seconds": case.seconds, "why": case.why}
            for outcome in outcomes for case in outcome.unsteady]
    BUILD.mkdir(exist_ok=True)
    (BUILD / "unsteady.json").write_text(json.dumps(rows, indent=1) + "\n")


def exit_code(outcomes: list[Outcome]) -> int:
    unsteady = sum(len(outcome.unsteady) for outcome in outcomes)
    if unsteady > MOST_UNSTEADY:
        print(f"{unsteady} unsteady tests: more than {MOST_UNSTEADY} fail the run", flush=True)
    ran = any(outcome.count("passed") for outcome in outcomes)
    return 0 if ran and unsteady <= MOST_UNSTEADY and not any(outcome.failures for outcome in outcomes) else 1
