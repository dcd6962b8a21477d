"""Rules of the repository that a script can check: who includes whom, licences, sizes, links, words that do not belong here."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from include_table import Include, includes, trouble

ROOT = Path(__file__).resolve().parents[1]
GPL = "SPDX-License-Identifier: GPL-3.0-or-later"


def files() -> list[Path]:
    """What git holds, and what is new and not ignored."""
    words = ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


def text_of(path: Path) -> str:
    return path.read_text(errors="replace")


def sources(*suffixes: str) -> list[Path]:
    return [path for path in files() if path.suffix in suffixes]


# ---- includes ----------------------------------------------------------------------------------------------------------


def test_every_include_follows_the_table():
    found = includes(ROOT)
    assert len(found) > 300  # the scan saw the tree
    assert [complaint for include in found if (complaint := trouble(include))] == []


@pytest.mark.parametrize(
    "file, header, own",
    [
        ("src/core/lease/table.cc", "protocol/messages.h", True),
        ("src/core/task/table.cc", "core/lease/lease_core.h", True),
        ("src/core/exec/exec_core.cc", "base/log.h", True),
        ("src/client/engine.cc", "core/lease/lease_core.h", True),
        ("src/worker/supervisor.cc", "transport/zmq_parts.h", True),
        ("daemon/pounced/shell.cc", "client/engine.h", True),
        ("src/slurm/slurm_gateway.cc", "slurm/slurm.h", False),
        ("src/client/engine.cc", "zmq.hpp", False),
        ("src/protocol/messages.h", "nlohmann/json.hpp", False),
        ("src/base/log.cc", "boost/asio.hpp", False),
        ("src/new/module.cc", "base/log.h", True),
    ],
)
def test_the_table_finds_a_planted_include(file, header, own):
    assert trouble(Include(file, 1, header, own))


# ---- licences ----------------------------------------------------------------------------------------------------------


def test_the_helper_and_nothing_else_is_gpl():
    code = [path for path in sources(".cc", ".h") if path.is_relative_to(ROOT / "daemon" / "pounce-slurm")]
    assert code and all(GPL in text_of(path).splitlines()[0] for path in code)
    others = [path for path in sources(".cc", ".h", ".py") if path not in code and path != Path(__file__)]
    assert [str(path) for path in others if GPL in text_of(path)] == []
    assert "Version 3, 29 June 2007" in text_of(ROOT / "daemon" / "pounce-slurm" / "LICENSE")
    assert "Apache License" in text_of(ROOT / "LICENSE")


def needed(binary: Path) -> set[str]:
    out = subprocess.run(["readelf", "-d", str(binary)], check=True, capture_output=True, text=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.+?)\]", out))


def test_only_the_helper_links_libslurm():
    build = Path(os.environ["POUNCE_BUILD_DIR"])
    programs = [build / name for name in ("pounced", "pounce-worker", "pouncectl")] + list(build.rglob("_core*.so"))
    assert len(programs) >= 4  # the extension module too
    assert any("libslurm" in name for name in needed(build / "pounce-slurm"))
    assert [str(program) for program in programs if any("slurm" in name for name in needed(program))] == []


# ---- size --------------------------------------------------------------------------------------------------------------


def test_no_file_has_outgrown_its_purpose():
    limits = {".cc": 400, ".h": 310, ".py": 400}
    code = [p for p in sources(*limits) if not p.is_relative_to(ROOT / "tests")]
    too_long = {str(p): n for p in code if (n := len(text_of(p).splitlines())) > limits[p.suffix]}
    assert too_long == {}


# ---- words -------------------------------------------------------------------------------------------------------------

STRANGE = [
    r"/work/(?!\.venv)[a-z]",            # a path of one developer's machine
    r"\.\./shared\b",
    r"\bpypi\.org\b|\bfiles\.pythonhosted\b|\bdeb\.debian\.org\b|\bconda\.anaconda\b",
    r"(libslurm|security-reliability|peers-measured|public-facts)\.md",
]


def test_the_project_speaks_of_itself_alone():
    own = {Path(__file__)}
    found = []
    for path in files():
        if path in own or path.suffix in (".png", ".ipynb"):
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if re.search("|".join(STRANGE), line) and "/home/alice/work" not in line:
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert found == []


def test_each_cited_gotcha_exists():
    there = set(re.findall(r"^- \*\*([A-Z]\d+)\.", text_of(ROOT / "docs" / "gotchas.md"), re.M))
    cited = {(id_, path.name) for path in sources(".cc", ".h", ".py", ".txt") if path != Path(__file__)
             for id_ in re.findall(r"gotchas\s+(?://\s*)?([A-Z]\d+)", text_of(path))}
    assert len(cited) > 10
    assert {pair for pair in cited if pair[0] not in there} == set()


# ---- documents ---------------------------------------------------------------------------------------------------------


def test_every_local_link_of_a_document_leads_somewhere():
    dead = []
    for path in sources(".md"):
        prose = re.sub(r"```.*?```", "", text_of(path), flags=re.S)
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
            if "://" not in target and not (path.parent / target).exists():
                dead.append(f"{path.relative_to(ROOT)}: {target}")
    assert dead == []


def test_every_dependency_has_its_reason():
    reasons = text_of(ROOT / "docs" / "dependencies.md")
    debian = [line.split()[0] for line in text_of(ROOT / "packaging" / "system-packages").splitlines()
              if line.strip() and not line.startswith("#")]
    pinned = [name for path in (ROOT / "packaging").glob("requirements-*.txt")
              for name in re.findall(r"^([A-Za-z0-9_-]+)==", text_of(path), re.M)]
    assert len(debian) > 20 and len(pinned) > 10
    missing = [name for names in debian for name in names.split("|")[:1] if f"`{name}`" not in reasons]
    assert missing + [name for name in pinned if f"`{name}`" not in reasons] == []


def test_each_test_that_the_faults_name_is_there():
    named = set(re.findall(r"`(test_\w+)`", text_of(ROOT / "docs" / "faults.md")))
    there = {name for path in sources(".py") for name in re.findall(r"^def (test_\w+)\(", text_of(path), re.M)}
    assert len(named) > 30
    assert named - there == set()


def test_every_suite_says_what_it_takes():
    stated = text_of(ROOT / "docs" / "contributing.md")
    suites = re.findall(r'^    Suite\("([a-z]+)"', text_of(ROOT / "tests" / "run"), re.M)
    assert len(suites) > 8
    assert [name for name in suites if not re.search(rf"^\| `{name}` \|", stated, re.M)] == []
