"""Types and layout: mypy --strict, ruff and clang-format find nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pounce import _core

ROOT = Path(__file__).resolve().parents[1]
KNOWN = Path(os.environ.get("POUNCE_BUILD_DIR", ROOT / "build" / "release")) / "mypy"  # what mypy found in files that are as they were


def findings(tool: str, *words: str) -> str:
    return subprocess.run([sys.executable, "-m", tool, *words], cwd=ROOT, capture_output=True, text=True).stdout


def test_mypy_finds_a_planted_mistake_and_nothing_else(tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text("from pounce import Client\n\nClient().submit(1)\n")

    *errors, total = findings("mypy", f"--cache-dir={KNOWN}", "python/pounce", str(planted)).splitlines()

    assert len(errors) == 1 and "planted.py:3" in errors[0] and "[arg-type]" in errors[0], errors
    assert int(total.partition("checked ")[2].split()[0]) > 200  # the whole package was looked at


def test_ruff_finds_nothing():
    assert findings("ruff", "check", "--no-cache", "python") == "All checks passed!\n"


def test_clang_format_changes_no_file():
    words = ["git", "-c", "safe.directory=*", "ls-files", "*.h", "*.cc"]
    files = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    assert len(files) > 500  # the scan saw the tree
    clang_format = Path(sys.executable).with_name("clang-format")  # of packaging/requirements-demo.txt

    found = subprocess.run([clang_format, "--dry-run", *files], cwd=ROOT, capture_output=True, text=True, check=True).stderr

    assert found == "", "clang-format -i lays these out anew:\n" + found


def test_the_stub_of_the_errors_names_each_of_them():
    lines = (ROOT / "python/pounce/errors.pyi").read_text().splitlines()

    named = [line.removeprefix("class ").split("(")[0] for line in lines if line.startswith("class ") and line.endswith(": ...")]

    assert named == [name for _, name, _ in _core.ERROR_CODES]
