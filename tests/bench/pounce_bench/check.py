"""``pounce-bench check``: how often calls and data wake, read, write, copy and fault, beside what each may cost.

Counts do not depend on how busy the machine is, as times do: they fail when a change makes a call dearer. What is counted, and each
bound, stands in ``tests/python/counts_test.py``, which ``tests/run`` runs too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import NamedTuple

_TESTS = Path(__file__).resolve().parents[2] / "python" / "counts_test.py"


class Count(NamedTuple):
    what: str
    counted: float
    most: float

    @property
    def holds(self) -> bool:
        return self.counted <= self.most


def main(words: list[str]) -> int:
    """0: each count is within its bound. 1: one is not, or could not be counted."""
    parser = argparse.ArgumentParser(prog="pounce-bench check", description="Counts what calls and data cost, and compares it with its bounds.")
    parser.add_argument("--only", default="", metavar="WORDS", help="what has these words in its test's name, as pytest's -k takes them")
    parser.add_argument("--json", action="store_true", help="one line of JSON instead of a table")
    options = parser.parse_args(words)
    counts, trouble, code = counted(options.only)
    if options.json:
        print(json.dumps({"bench": "check", "counts": [{**count._asdict(), "holds": count.holds} for count in counts],
                          "not_counted": trouble, "passed": code == 0}))
    else:
        print("\n".join([*map(line, counts), *(f"not counted: {text}" for text in trouble),
                         "each count is within its bound" if code == 0 else "FAILED: see above"]))
    return 1 if code else 0


def counted(only: str) -> tuple[list[Count], list[str], int]:
    """The counts, why others are missing, and pytest's exit code."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        run = subprocess.run([sys.executable, "-m", "pytest", str(_TESTS), "-q", "-p", "no:cacheprovider", "--timeout", "600",
                              f"--junitxml={report}", *(["-k", only] if only else [])], stdout=subprocess.PIPE, text=True)
        if not report.exists():
            return [], [run.stdout.strip()], run.returncode or 1
        return (*counts_of(xml.parse(report).getroot()), run.returncode)


def counts_of(report: xml.Element) -> tuple[list[Count], list[str]]:
    cases = list(report.iter("testcase"))
    counts = [Count(*json.loads(kept.attrib["value"])) for case in cases for kept in case.iter("property")
              if kept.attrib["name"] == "count"]
    trouble = [f"{case.attrib['name']}: {part.attrib.get('message', '').splitlines()[0]}"
               for case in cases for part in case if part.tag in ("failure", "error", "skipped")]
    return counts, trouble


def line(count: Count) -> str:
    return f"{'ok    ' if count.holds else 'FAILED'} {count.counted:>12,.6g}  at most {count.most:>12,.6g}  {count.what}"
