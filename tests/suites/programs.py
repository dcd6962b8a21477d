"""Runs pytest, googletest programs and ctest; each returns reports whose cases can be run again."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from .commands import CORES, PYTHON, command, each_of
from .reports import Case, Report, pytest_id, report_path

TEST_LIMIT_S = "300"  # a test that hangs fails by its name; the slowest takes under two minutes


def pytest(name: str, *words: str, at_once: int = 1, **environment: str) -> Report:
    """`at_once`: how many processes share the tests."""
    path = report_path(name)
    spread = ["-n", str(at_once), "--dist", "loadgroup"] if at_once > 1 else []
    report = Report(path, lambda cases: [pytest(f"{name}-again", *map(pytest_id, cases), **environment)])
    with_report(report, lambda: command(
        name, [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--timeout={TEST_LIMIT_S}", f"--junitxml={path}", *words, *spread],
        **environment))
    return report


def googletest(name: str, folder: Path, labels: str, leave_out: str, **environment: str) -> list[Report]:
    """The programs of ctest's tests, each of them once: a process for each of 2,600 tests takes longer than they do."""
    tests = _ctest_plan(folder, labels, leave_out)
    programs: dict[str, list[str]] = {}
    for test in tests:
        if option := next((word for word in test["command"] if word.startswith("--gtest_filter=")), ""):
            programs.setdefault(test["command"][0], []).append(option.removeprefix("--gtest_filter="))
    reports = {program: _of_program(name, program, environment) for program in programs}
    longest_first = sorted(programs, key=lambda program: -len(programs[program]))
    each_of([lambda program=program: with_report(
        reports[program], lambda: _run_program(name, program, programs[program], reports[program].path, environment))
        for program in longest_first])
    others = [test["name"] for test in tests if test["command"][0] not in programs]
    return [*reports.values(), *([ctest(f"{name}-other", folder, "-R", _any_of(others), **environment)] if others else [])]


def _of_program(name: str, program: str, environment: dict[str, str]) -> Report:
    def again(cases: list[Case]) -> list[Report]:
        report = _of_program(f"{name}-again", program, environment)
        with_report(report, lambda: _run_program(name, program, [f"{case.group}.{case.name}" for case in cases], report.path, environment))
        return [report]

    return Report(report_path(f"{name}-{Path(program).name}"), again)


def _run_program(name: str, program: str, filters: list[str], path: Path, environment: dict[str, str]) -> None:
    command(f"{name}-{Path(program).name}", [program, f"--gtest_filter={':'.join(filters)}", "--gtest_brief=1", f"--gtest_output=xml:{path}"],
            **environment)


def ctest(name: str, folder: Path, *selection: str, **environment: str) -> Report:
    """A process for each test, two at a time."""
    path = report_path(name)
    report = Report(path, lambda cases: [ctest(f"{name}-again", folder, "-R", _any_of([case.name for case in cases]), **environment)])
    with_report(report, lambda: command(
        name, ["ctest", "--test-dir", str(folder), *selection, "-j", str(CORES), "--output-on-failure", "--timeout", TEST_LIMIT_S,
               "--no-tests=error", "--output-junit", str(path)], **environment))
    return report


def _ctest_plan(folder: Path, labels: str, leave_out: str) -> list[dict]:
    words = ["ctest", "--test-dir", str(folder), "--show-only=json-v1", "-L", labels, "-E", leave_out]
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)["tests"]


def _any_of(names: list[str]) -> str:
    import re

    return f"^({'|'.join(map(re.escape, names))})$"


def with_report(report: Report, run: Callable[[], None]) -> None:
    """A command that ends with an error because cases failed has told so in its report; any other error is the suite's."""
    from .commands import Failed

    try:
        run()
    except Failed:
        if not any(case.outcome == "failed" for case in report.cases()):
            raise
