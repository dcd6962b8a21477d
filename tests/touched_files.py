#!/usr/bin/env python3
"""How many files a small addition touches: those of the product that name an example of its kind.

Run it to see them. tests/rules_test.py holds each kind to its most; docs/how-to-add.md walks through the examples.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("src", "daemon", "include", "python", "packaging")  # no tests, no documents, no examples


@dataclass(frozen=True)
class Addition:
    kind: str
    names: tuple[str, ...]  # of the example, in words: "peak memory" is peak_memory, peak_memory_bytes, kPeakMemory
    most: int  # files
    besides: tuple[str, ...] = ()  # files that name it for another reason


ADDITIONS = [
    Addition("a field of a request", ("nice",), 3),
    Addition("a call of the client", ("free workers",), 5),
    # Users read of it where data is scattered.
    Addition("an error", ("data changed",), 3, ("python/pounce/client.py",)),
    # Two notes name the command as the reader of a file.
    Addition("a command of pouncectl", ("eta score",), 3, ("daemon/pounced/leases/lease_logs.h", "src/model/job.h")),
    Addition("a figure of each task", ("peak memory",), 4),
    Addition("a policy limit", ("submitted jobs per user",), 2),
    # pouncectl asks it too, where it explains what pounced would choose, and for the nodes.
    Addition("a question to Slurm that pounced asks", ("ask cluster snapshot",), 4, ("daemon/pouncectl/policy/explain.cc", "daemon/pouncectl/cluster.cc")),
    Addition("a question to Slurm that pouncectl asks", ("ask node events", "node event"), 4),
]


def pattern_of(name: str) -> re.Pattern[str]:
    """Finds a name in its spellings, also as a part of a longer one; not within a word."""
    words = name.split()
    apart, together = r"[_\s-]".join(words), "".join(word.capitalize() for word in words)
    return re.compile(rf"(?<![A-Za-z0-9]){apart}(?![A-Za-z0-9])|(?<![A-Z]){together}(?![a-z])")


def touched(addition: Addition) -> list[str]:
    """Of what git holds, and what is new and not ignored."""
    words = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *PRODUCT]
    listed = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    there = [name for name in listed if name and name not in addition.besides and (ROOT / name).is_file()]
    patterns = [pattern_of(name) for name in addition.names]
    return [name for name in there if any(pattern.search((ROOT / name).read_text(errors="replace")) for pattern in patterns)]


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for addition in ADDITIONS:
        files = touched(addition)
        print(f"{addition.kind} ({', '.join(addition.names)}): {len(files)} of at most {addition.most}")
        print("".join(f"  {file}\n" for file in files))


if __name__ == "__main__":
    main()
