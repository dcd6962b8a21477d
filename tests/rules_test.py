"""Rules of the repository that a script can check: who includes whom, licences, links, words that do not belong here."""

from __future__ import annotations

import ast
import functools
import itertools
import json
import os
import re
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import import_table
import pytest
import slurm_table
from import_table import Import
from include_table import Include, includes, trouble
from text_rules import ALLOWED, OLD_WORDS, PRIVATE_WORDS, is_there, named_files, old_words
from touched_files import ADDITIONS, Addition, pattern_of, touched

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "system"))
from attacks import ATTACKS
from attacks.table import LOCAL, SLURM

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
        ("src/core/lease/transition_table.cc", "protocol/messages.h", True),
        ("src/core/task/table.cc", "core/lease/lease_core.h", True),
        ("src/core/exec/exec_core.cc", "base/log.h", True),
        ("src/client/engine.cc", "core/lease/lease_core.h", True),
        ("src/worker/supervisor/supervisor.cc", "transport/zmq_parts.h", True),
        ("daemon/pounced/daemon.cc", "client/engine.h", True),
        ("src/slurm/slurm_gateway.cc", "slurm/slurm.h", False),
        ("src/client/engine.cc", "zmq.hpp", False),
        ("src/protocol/messages.h", "nlohmann/json.hpp", False),
        ("src/base/log.cc", "boost/asio.hpp", False),
        ("src/new/module.cc", "base/log.h", True),
    ],
)
def test_the_table_finds_a_planted_include(file, header, own):
    assert trouble(Include(file, 1, header, own))


# ---- words: made at the edges ------------------------------------------------------------------------------------------

SENTENCE = re.compile(r'"[^"\n]*\b[a-z]+ [a-z]+\b[^"\n]*"')
# What only a developer reads: an invariant, a note for the debugger, a field's meaning; the names in the table of states.md;
# the help of the configuration.
NOT_FOR_USERS = re.compile(r"#include|POUNCE_CHECK\(|ignore\(|note\(|cancel_excess\(|breach_|field\(|against the table")
NAMES = ("invariants.cc", "transition_table.cc", "defaults.h", "exec_core.cc")
# A member that holds a sentence, searched for a literal.
LOOKS = re.compile(r"""\b(reason|why|basis|against|text)\.(startswith|endswith|removeprefix|find|starts_with|ends_with|contains)\(f?["']\w"""
                   r"""|["'] in (\w+\.)*(reason|text)\b""")


def sentences(path: Path) -> list[str]:
    text = re.sub(r"POUNCE_CHECK\([^;]*;", "", text_of(path))  # often several lines
    code = (line.partition("//")[0] for line in text.splitlines())
    return [line.strip() for line in code if SENTENCE.search(line) and not NOT_FOR_USERS.search(line)]


def test_no_core_composes_a_sentence():
    core = [path for path in sources(".cc", ".h") if "src/core/" in str(path)]
    assert len(core) > 25  # the scan saw the tree
    assert {path.name: found for path in core if path.name not in NAMES and (found := sentences(path))} == {}


def test_nothing_looks_at_a_sentence():
    ours = [path for path in sources(".cc", ".h", ".py") if path.relative_to(ROOT).parts[0] in ("src", "daemon", "python")]
    assert [f"{path}: {line}" for path in ours for line in text_of(path).splitlines() if LOOKS.search(line)] == []


@pytest.mark.parametrize("line", ['if row.reason.startswith("preempted"):', 'if "no room" in error.text:', 'if (error.text.contains("room"))'])
def test_a_look_at_a_sentence_is_found(line):
    assert LOOKS.search(line)


# ---- a cell's protocol ---------------------------------------------------------------------------------------------------

# What is a free mapping by its nature: the user's variables, messages of Jupyter, words of a line, and pounced's documents.
FREE_PARAMETERS = {"names", "namespace", "values", "content", "metadata", "message", "format_dict", "md_dict", "said", "about", "status"}
FREE_RESULTS = {"own", "take", "get_parent", "pounce_matcher", "page_of", "read", "_said", "_parameters", "_about", "_row"}


def untyped_signatures(tree: ast.Module) -> list[str]:
    """Functions that take or return a `dict[str, Any]` which is no free mapping."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    is_untyped = lambda kind: kind is not None and "dict[str, Any]" in ast.unparse(kind)
    taken = [f"{each.name}({arg.arg})" for each in functions for arg in [*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs]
             if arg.arg not in FREE_PARAMETERS and is_untyped(arg.annotation)]
    return taken + [f"{each.name}() returns" for each in functions if each.name not in FREE_RESULTS and is_untyped(each.returns)]


def test_the_two_sides_of_a_cell_exchange_typed_values():
    trees = import_table.modules(ROOT)
    sides = {module: tree for module, tree in trees.items() if module.startswith(("cell.", "_worker.cell."))}
    assert len(sides) > 30  # the scan saw both
    assert [f"{module}: {each}" for module, tree in sides.items() for each in untyped_signatures(tree)] == []


def test_an_untyped_request_is_found():
    source = "def run_cell(request: dict[str, Any]) -> dict[str, Any]: ...\ndef own(names: dict[str, Any]) -> dict[str, Any]: ..."
    assert untyped_signatures(ast.parse(source)) == ["run_cell(request)", "run_cell() returns"]


# ---- Python's imports --------------------------------------------------------------------------------------------------


def python_imports() -> list[Import]:
    trees = import_table.modules(ROOT)
    packages = {module for module in trees if (ROOT / import_table.PACKAGE / module.replace(".", "/") / "__init__.py").is_file()}
    return [one for module, tree in trees.items() for one in import_table.imports(module, tree, set(trees), module in packages)]


def test_every_import_of_the_package_goes_down():
    found = python_imports()
    assert len(found) > 100  # the scan saw the package
    assert [complaint for one in found if (complaint := import_table.trouble(one))] == []


def test_no_modules_of_the_package_need_each_other():
    assert import_table.circles(python_imports()) == []


def test_no_module_of_the_package_uses_anothers_private_names():
    trees = import_table.modules(ROOT)
    assert [use for module, tree in trees.items() for use in import_table.private_uses(module, tree)] == []


@pytest.mark.parametrize(
    "module, line",
    [
        ("_engine.session", "from ..future import Future"),
        ("_engine.session", "if TYPE_CHECKING:\n    from ..client import Client"),
        ("_common.serialize", "def late():\n    from .._engine import function_cache"),
        ("_worker.interpreter", "import pounce._engine.session"),
        ("_engine.options", "from .. import Client"),
        ("_engine.session", "from pounce.calls import View"),
        ("client", "from ._worker import interpreter"),
        ("cell.magic", "from .._engine.session import _show"),
        ("errors", "from ._common import ref"),
        ("unknown", "from .errors import Timeout"),
    ],
)
def test_the_table_finds_a_planted_import(module, line):
    (found,) = import_table.imports(module, ast.parse(line), set(import_table.modules(ROOT)))
    assert import_table.trouble(found)


def test_a_planted_circle_is_found_also_within_a_function():
    lines = {"_engine.a": "from . import b", "_engine.b": "def late():\n    from .c import C", "_engine.c": "from .a import A", "_engine.d": "from . import a"}
    found = [one for module, line in lines.items() for one in import_table.imports(module, ast.parse(line), set(lines))]
    assert import_table.circles(found) == [["_engine.a", "_engine.b", "_engine.c"]]


@pytest.mark.parametrize("line", ["future._task", "def f(x): return x.y._z", "def f(future: Future): future._task", "a()._b = 1"])
def test_a_planted_use_of_a_private_name_is_found(line):
    assert import_table.private_uses("cell.remote", ast.parse(line))


@pytest.mark.parametrize("line", ["self._task", "super()._end()", "os._exit(0)", "error._render_traceback_",
                                  "class A: ...\ndef f(a: A): return a._own"])
def test_what_is_a_modules_own_is_no_use_of_anothers(line):
    assert import_table.private_uses("cell.remote", ast.parse(line)) == []


# ---- processes ---------------------------------------------------------------------------------------------------------

STARTS_A_PROCESS = r"\b(v?fork|clone3?|f?exec(l|lp|le|v|vp|ve|vpe|veat)|fexecve|posix_spawnp?|popen|system)\("


def starts_of_processes(path: Path) -> list[str]:
    lines = enumerate(text_of(path).splitlines(), 1)
    return [f"{path.relative_to(ROOT)}:{number}" for number, line in lines
            if re.search(STARTS_A_PROCESS, line.partition("//")[0]) and "override" not in line]  # a library's own `clone() const override`


def test_processes_are_started_in_one_place():
    """With exactly the descriptors, signals and environment that are named; a function in a child too (start_function)."""
    the_place = ROOT / "src" / "base" / "process.cc"
    code = [path for path in sources(".cc", ".h") if not path.is_relative_to(ROOT / "tests")]
    assert starts_of_processes(the_place)
    assert [line for path in code if path != the_place for line in starts_of_processes(path)] == []


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


def built_programs() -> list[Path]:
    build = Path(os.environ["POUNCE_BUILD_DIR"])
    programs = [build / name for name in ("pounced", "pounce-worker", "pouncectl")] + list(build.rglob("_core*.so"))
    assert len(programs) >= 4  # the extension module too
    return programs


def test_only_the_helper_links_libslurm():
    assert any("libslurm" in name for name in needed(Path(os.environ["POUNCE_BUILD_DIR"]) / "pounce-slurm"))
    assert [str(program) for program in built_programs() if any("slurm" in name for name in needed(program))] == []


def test_nothing_links_what_is_opened_where_there_is_a_gpu():
    assert [str(program) for program in built_programs() if any(re.search("cuda|nccl|nvidia", name) for name in needed(program))] == []


# ---- size --------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("default")
def test_long_files_are_named_as_advice():
    """Nothing fails for it: tests/run shows it with its table. Nothing is split to please a number."""
    usual = {".cc": 400, ".h": 310, ".py": 400}
    code = [path for path in sources(*usual) if not path.is_relative_to(ROOT / "tests")]
    lines = {str(path.relative_to(ROOT)): len(text_of(path).splitlines()) for path in code}
    long = [f"{name} has {count} lines" for name, count in sorted(lines.items()) if count > usual[Path(name).suffix]]
    assert len(lines) > 100  # the scan saw the tree
    if long:
        warnings.warn("Advice: long for one purpose: " + "; ".join(long), stacklevel=1)  # xdist cannot send a class of this module


MOST_SMALL = 0.20  # of the C++ files: a header and source of under 60 lines together belong to their user
MOST_IN_A_FOLDER = 40


def product_files() -> list[Path]:
    return [path.relative_to(ROOT) for path in sources(".cc", ".h", ".py", ".pyi")
            if path.relative_to(ROOT).parts[0] in ("src", "daemon", "include", "python")]


def test_few_files_are_small():
    code = [path for path in product_files() if path.suffix in (".cc", ".h")]
    small = [path for path in code if len(text_of(ROOT / path).splitlines()) <= 40]
    assert len(code) > 300  # the scan saw the tree
    assert len(small) / len(code) <= MOST_SMALL, f"{len(small)} of {len(code)} have 40 lines or less: {[*map(str, small)]}"


def test_no_folder_is_crowded():
    counts = Counter(str(path.parent) for path in product_files())
    assert {folder: count for folder, count in counts.items() if count > MOST_IN_A_FOLDER} == {}


# ---- what an addition touches ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("addition", ADDITIONS, ids=lambda addition: addition.kind)
def test_a_small_addition_touches_few_files(addition):
    files = touched(addition)
    assert files, "its example is gone: take another one"
    assert len(files) <= addition.most, files


def test_an_addition_that_is_spelled_everywhere_is_found():
    assert len(touched(Addition("a field", ("reservation",), 5))) > 5


@pytest.mark.parametrize("text", ["peak_memory", "peak_memory_bytes", "task_peak_memory_", "kPeakMemory", "PeakMemory", "its peak memory", "--peak-memory"])
def test_a_name_is_found_in_its_spellings(text):
    assert pattern_of("peak memory").search(text)


@pytest.mark.parametrize("text", ["a nicer way", "niceness", "Nicely", "venice"])
def test_a_name_within_a_word_is_another_word(text):
    assert not pattern_of("nice").search(text)


HOW_TO_ADD = ROOT / "docs" / "how-to-add.md"


def shown_lines(page: str) -> list[tuple[str, str]]:
    """(file, line) for each line of each block of code, which is of the file that the text names last before it."""
    shown, file, within = [], "", False
    for line in page.splitlines():
        if line.startswith("```"):
            within = not within
        elif within:
            shown.append((file, line.strip()))
        else:
            file = (re.findall(r"`((?:include|src|daemon|python)/[^`]+\.\w+)`", line) or [file])[-1]
    return shown


def test_each_line_that_how_to_add_shows_is_in_its_file():
    shown = shown_lines(text_of(HOW_TO_ADD))
    assert len(shown) > 10
    assert [(file, line) for file, line in shown if line not in text_of(ROOT / file)] == []


@pytest.mark.parametrize("addition", ADDITIONS, ids=lambda addition: addition.kind)
def test_how_to_add_names_the_files_of_its_examples(addition):
    page = text_of(HOW_TO_ADD)
    assert [file for file in touched(addition) if file not in page] == []


# ---- words -------------------------------------------------------------------------------------------------------------

STRANGE = [
    r"/work/(?!\.venv)[a-z]",            # a path of one developer's machine
    r"\.\./shared\b",
    r"\bpypi\.org\b|\bfiles\.pythonhosted\b|\bdeb\.debian\.org\b|\bconda\.anaconda\b",
    r"(?<![\w-])(libslurm|security-reliability|peers-measured|public-facts)\.md",
    r"\b(design|style)(\.md)?,? §|\bdesign\.md\b",  # documents that are not of this repository
]


def is_strange(line: str) -> bool:
    return re.search("|".join(STRANGE), line) is not None and "/home/alice/work" not in line


@functools.cache
def texts() -> list[tuple[str, str]]:
    """Each text file but this one, by its path from the root."""
    return [(str(path.relative_to(ROOT)), text_of(path)) for path in files()
            if path != Path(__file__) and path.suffix not in (".png", ".ipynb")]


def test_the_project_speaks_of_itself_alone():
    found = [f"{file}:{number}: {line.strip()[:100]}" for file, text in texts() if re.search("|".join(STRANGE), text)
             for number, line in enumerate(text.splitlines(), 1) if is_strange(line)]
    assert found == []


def test_the_product_names_no_class_of_one_site():
    """`--try` and the local launcher once named a class that other sites do not have."""
    product = ("include/", "src/", "daemon/", "python/")
    named = [str(path.relative_to(ROOT)) for path in files()
             if str(path.relative_to(ROOT)).startswith(product) and re.search(r"cheetah|panther|tabby", text_of(path), re.I)]
    assert named == []


@pytest.mark.parametrize("line", ["// only then (design §4).", "as design.md, §8b says", "fixed order (style §5.6)", "../shared/notes"])
def test_a_reference_to_a_document_of_elsewhere_is_found(line):
    assert is_strange(line)


def test_nothing_is_called_by_an_old_word():
    found = [f"{file}:{number}: {word}: now {OLD_WORDS[word]}" for file, text in texts() if old_words(file + "\n" + text)
             for number, line in enumerate((file + "\n" + text).splitlines())
             for word in old_words(line) if word not in ALLOWED.get(file, ())]
    assert found == []


@pytest.mark.parametrize(
    "line, word",
    [("class DeadMan {", "dead man"), ("  dead_man_idle_s = 1", "dead man"), ("hold the baton", "baton"), ("kDoor", "door"),
     ("two crews", "crew"), ("a named task", "named task"), ("NamedTasks named_;", "named task"), ("it knocked", "knock"),
     ("the predecessor's lock", "predecessor"), ("Reception decides", "reception"), ("sweep_interval_s", "sweep interval")],
)
def test_an_old_word_is_found_in_prose_and_in_names(line, word):
    assert old_words(line) == [word]


@pytest.mark.parametrize("line", ["in the doorway", "a challenge", "shall", "history", "history_of", "desktop"])
def test_a_word_that_only_looks_like_an_old_one_is_left_alone(line):
    assert old_words(line) == []


@pytest.mark.parametrize("word, most", PRIVATE_WORDS.items())
def test_few_words_hide_what_they_stand_for(word, most):
    pages = [path.relative_to(ROOT) for path in sources(".md")]
    found = [f"{path}:{number}: {line.strip()[:80]}" for path in (*product_files(), *pages)
             for number, line in enumerate(text_of(ROOT / path).splitlines(), 1) for _ in re.findall(word, line)]
    assert len(found) <= most, "\n".join(found)


def test_each_file_that_a_text_names_is_there():
    there = {str(path.relative_to(ROOT)) for path in files()}
    named = [(file, number, name) for file, text in texts() if "tests/text_rules.py" not in file and "changelog" not in file and "tests/python/differential" not in file
             for number, name in named_files(file, text)]
    assert len(named) > 300  # the scan saw the tree
    gone = {name for name in {name for _, _, name in named} if not is_there(name, there)}
    assert [f"{file}:{number}: {name}" for file, number, name in named if name in gone] == []


@pytest.mark.parametrize(
    "file, text, name",
    [
        ("src/base/log.cc", "// as warmth.cc has it", "warmth.cc"),
        ("docs/states.md", "see `src/core/lease/warmth.cc`", "src/core/lease/warmth.cc"),
        ("docs/states.md", "(`no_such_page.md`)", "no_such_page.md"),
        ("tests/run", "pytest tests/nowhere", "tests/nowhere"),
        ("python/pounce/ref.py", "x = 1  # as python/pounce/_nothing*.py", "python/pounce/_nothing*.py"),
    ],
)
def test_a_name_of_a_file_that_is_not_there_is_found(file, text, name):
    (found,) = named_files(file, text)
    assert found == (1, name)
    assert not is_there(name, {"src/core/lease/idle_reuse.cc", "docs/states.md", "tests/run", "python/pounce/ref.py"})


@pytest.mark.parametrize("name", ["states.md", "src/core", "docs/decisions/0005", "tests/*_test.py", "src/core/lease/*.cc", "slurm.h"])
def test_a_folder_a_pattern_and_the_beginning_of_a_name_are_there(name):
    assert is_there(name, {"docs/states.md", "src/core/lease/idle_reuse.cc", "docs/decisions/0005-a-group.md", "tests/rules_test.py"})


def test_each_cited_gotcha_exists():
    there = set(re.findall(r"^- \*\*([A-Z]\d+)\.", text_of(ROOT / "docs" / "gotchas.md"), re.M))
    cited = {(id_, path.name) for path in sources(".cc", ".h", ".py", ".txt") if path != Path(__file__)
             for id_ in re.findall(r"gotchas\s+(?://\s*)?([A-Z]\d+)", text_of(path))}
    assert len(cited) > 10
    assert {pair for pair in cited if pair[0] not in there} == set()


# ---- documents ---------------------------------------------------------------------------------------------------------


READS_EVIDENCE = r"\bcontext\.((find|contains|at|count)\(|get\(\")|\.context\[[^]]*\](?! = )|\bin [\w.]+\.context\b"


def readers_of_evidence(suffix: str, *roots: str) -> set[str]:
    return {path.name for path in sources(suffix) if str(path.relative_to(ROOT)).startswith(roots) and re.search(READS_EVIDENCE, text_of(path))}


def test_no_cpp_program_decides_by_the_evidence_of_an_error():
    """By a field or a cause. The one reader shows Slurm's own words."""
    assert readers_of_evidence(".cc", "src/", "daemon/") | readers_of_evidence(".h", "src/", "daemon/", "include/") == {"checks_slurm.cc"}


def test_no_python_program_decides_by_the_evidence_of_an_error():
    """By the class or an attribute. Each reader shows it: str(error), where a function raised, which node a rank was on, its last lines."""
    assert readers_of_evidence(".py", "python/pounce/") == {"errors.py", "task.py", "gang.py", "gang_plan.py"}


@pytest.mark.parametrize("line", ['error.context.find("lease")', 'if error.context.contains(kApart)', 'error.context["gpus"] == "1"',
                                  'error.context.get("path", "")', '"object" in error.context'])
def test_a_reader_of_evidence_is_found(line):
    assert re.search(READS_EVIDENCE, line)


def test_what_writes_evidence_is_no_reader():
    assert not re.search(READS_EVIDENCE, 'error.context["node"] = death.node; error.context.try_emplace("job", "7"); {**error.context, "a": 1}')


def chained_tests_of_a_variant(text: str) -> int:
    """The most std::get_if in a row, with no more than two lines between each and the next."""
    at = [number for number, line in enumerate(text.split("\n")) if re.search(r"std::(get_if|holds_alternative)<", line)]
    longest = run = 1
    for before, after in itertools.pairwise(at):
        run = run + 1 if after - before <= 3 else 1
        longest = max(longest, run)
    return longest


def test_a_message_is_dispatched_by_visit_which_does_not_compile_where_a_kind_has_no_answer():
    code = [path for path in sources(".cc", ".h") if path.relative_to(ROOT).parts[0] in ("src", "daemon")]

    assert [path.name for path in code if chained_tests_of_a_variant(text_of(path)) > 2] == []


def test_a_chain_of_get_if_is_found():
    assert chained_tests_of_a_variant("if (std::get_if<A>(&one))\n  a();\n" * 3) == 3
    assert chained_tests_of_a_variant("if (std::get_if<A>(&one))\n\n\n\n" * 3) == 1


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


@pytest.mark.parametrize("page", ["faults.md", "security.md"])
def test_each_test_that_a_page_of_promises_names_is_there(page):
    text = text_of(ROOT / "docs" / page)
    named = set(re.findall(r"`(test_\w+|test_attack\[\w+\]|\w+Test\.\w+)`", text))
    there = {name for path in sources(".py") for name in re.findall(r"^ *def (test_\w+)\(", text_of(path), re.M)}
    there |= {".".join(names) for path in sources(".cc") for names in re.findall(r"^TEST(?:_F|_P)?\((\w+), (\w+)\)", text_of(path), re.M)}
    there |= {f"test_attack[{attack.name}]" for attack in ATTACKS}
    assert len(named) > 30
    assert named - there == set()


NAMES_A_TEST = re.compile(r"`(test_\w+|test_attack\[\w+\]|\w+Test\.\w+)`|^the same$")


def rows_without_a_test(text: str) -> list[str]:
    """Of the tables whose last column is for tests."""
    tables = re.findall(r"^\|[^\n]*\| tests? \|\n\|[-|]+\|\n((?:\|[^\n]*\n)*)", text + "\n", re.M)
    return [row for rows in tables for row in rows.splitlines() if not NAMES_A_TEST.search(row.rstrip("| ").rpartition("|")[2].strip())]


@pytest.mark.parametrize("page", ["faults.md", "security.md"])
def test_each_row_of_a_page_of_promises_names_a_test(page):
    text = text_of(ROOT / "docs" / page)
    assert len(re.findall(r"^\|.*\| test \|$", text, re.M)) >= 4  # the scan saw the tables
    assert rows_without_a_test(text) == []


def test_a_row_without_a_test_is_found():
    table = "| promise | test |\n|---|---|\n| one | `test_one` |\n| two | |\n| three | test_three |\n\n| who | has |\n|---|---|\n| a | b |\n"
    assert rows_without_a_test(table) == ["| two | |", "| three | test_three |"]


def test_the_page_of_security_counts_the_attacks():
    where = [len(ATTACKS)] + [sum(place in attack.where for attack in ATTACKS) for place in (LOCAL, SLURM)]
    counts = re.search(r"(\d+) attacks, .* (\d+) are\nrun against the local launcher, (\d+) on", text_of(ROOT / "docs" / "security.md"))
    assert counts and [int(count) for count in counts.groups()] == where


def test_every_suite_says_what_it_takes():
    stated = text_of(ROOT / "docs" / "contributing.md")
    suites = re.findall(r'^    Suite\("([a-z]+)"', text_of(ROOT / "tests" / "suites" / "suites.py"), re.M)
    assert len(suites) > 8
    assert [name for name in suites if not re.search(rf"^\| `{name}` \|", stated, re.M)] == []


def test_each_scenario_on_slurm_belongs_to_one_feature_of_the_table():
    there = sorted(path.name.removesuffix("_test.py") for path in (ROOT / "tests" / "slurm").glob("*_test.py"))
    assert sorted(name for names in slurm_table.FEATURES.values() for name in names) == there
    assert set(slurm_table.SMOKE) <= {f"{name}_test.py" for name in there}


def test_the_page_of_slurms_releases_has_what_was_seen():
    page = text_of(ROOT / "docs" / "slurm.md")
    assert slurm_table.with_table(page, json.loads(text_of(ROOT / "docs" / "slurm.json"))) == page


def test_a_feature_counts_what_passed_of_what_ran():
    first, second, *_ = slurm_table.FEATURES["pools, gangs"]
    seen = {"25.11": {first: {"passed": 3, "ran": 4, "date": "2026-11-25", "commit": "abc1234"},
                      second: {"passed": 2, "ran": 2, "date": "2026-11-20", "commit": "bcd2345"}}}

    lines = slurm_table.table(seen).splitlines()

    assert lines[0] == "| seen working | 25.11 |"
    assert "| pools, gangs | 5 of 6, in part, 2026-11-20, bcd2345 |" in lines and lines[2].endswith("| not run |")
