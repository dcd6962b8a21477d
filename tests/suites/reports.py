"""What became of each case: read from the XML of pytest, googletest and ctest, which knows how to run its cases again."""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .commands import LOGS, ROOT


@dataclass(frozen=True)
class Case:
    group: str     # pytest: the module, googletest: the test suite
    name: str
    outcome: str   # "passed", "failed" or "skipped"
    seconds: float
    why: str = ""  # it was skipped, or failed: a line

    @property
    def title(self) -> str:
        return self.name if "." in self.name or not self.group else f"{self.group}.{self.name}"


@dataclass(frozen=True)
class Report:
    path: Path
    again: Callable[[list[Case]], list[Report]] | None = None  # runs these of its cases once more; None: it cannot

    def cases(self) -> list[Case]:
        return [_case(element) for element in xml.parse(self.path).iter("testcase")] if self.path.exists() else []


def report_path(name: str) -> Path:
    """Of a report to be written; an earlier one is removed."""
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / f"{name}.xml"
    path.unlink(missing_ok=True)
    return path


def _case(element: xml.Element) -> Case:
    failure = next((found for kind in ("failure", "error") if (found := element.find(kind)) is not None), None)
    group, name = element.get("classname", ""), without_process_group(element.get("name", "?"))
    seconds = float(element.get("time") or 0)
    if failure is not None or element.get("status") == "fail":
        return Case(group, name, "failed", seconds, _first_line(failure))
    if element.find("skipped") is not None or element.get("status") in ("notrun", "disabled"):
        return Case(group, name, "skipped", seconds, _why_skipped(element))
    return Case(group, name, "passed", seconds)


def without_process_group(name: str) -> str:
    """pytest-xdist adds the group to a test's id, which is no part of its name; behind parameters pytest adds a bracket to that."""
    return re.sub(r"\]@\w+\]$", "]", name) if "[" in name else re.sub(r"@\w+$", "", name)


def _first_line(failure: xml.Element | None) -> str:
    text = "" if failure is None else (failure.get("message") or failure.text or "")
    return next((line.strip() for line in text.splitlines() if line.strip()), "")[:300]


def _why_skipped(element: xml.Element) -> str:
    said = re.search(r": Skipped\n(.+)", element.findtext("system-out") or "")  # ctest has googletest's reason in the output only
    skipped = element.find("skipped")
    message = (skipped.get("message") or "").strip() if skipped is not None else ""
    return said[1] if said else message.splitlines()[-1] if message else "not run"


def pytest_id(case: Case) -> str:
    """The words by which pytest runs a case again: the file, and what is in it."""
    if not case.group:  # a file that could not be collected
        return case.name.replace(".", "/") + ".py"
    parts = case.group.split(".")
    for length in range(len(parts), 0, -1):
        file = Path(*parts[:length]).with_suffix(".py")
        if (ROOT / file).exists():
            return "::".join([str(file), *parts[length:], case.name])
    return "/".join(parts) + ".py"
