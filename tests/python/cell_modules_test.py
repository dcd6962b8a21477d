"""Modules of the user's own that are edited between cells. The oracle is the kernel itself: the same cells, run there without pounce."""

from __future__ import annotations

import pytest
from kernel import notebook_at_home

FIRST = """
import importlib, itertools, os, pathlib, sys, time, pounce
sys.path.insert(0, os.getcwd())
_times = itertools.count(time.time_ns() - 10**12, 10**9)
def edit(name, text, at=None):
    path = pathlib.Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    at = at or next(_times)
    os.utime(path, ns=(at, at))
    return at
"""
V1 = "calls = []\nkind = 'old'\ndef f():\n    calls.append(1)\n    return 'old', len(calls)\nclass C:\n    def g(self): return 'old'\n"
V2 = V1.replace("return 'old'", "return 'new'")  # functions alone
V3 = V2.replace("kind = 'old'", "kind = 'new'; [calls.append(1) for _ in range(9)]")  # what runs at the top too
USE = "from M import f as M_f, C as M_C; import M; M_c = M_C()"  # in a remote cell, so that these are variables of the worker
ALL = "M_f(), M.f(), M.kind, M_c.g(), M.C().g(), type(M_c) is M_C, M_C is M.C"

# Cells in order. `>` begins one that runs on the worker; M is a module of the scenario's own.
SCENARIOS = {
    "an edit alone changes nothing": [f"edit('M.py', {V1!r}); import M", f">{USE}", f">{ALL}", f"edit('M.py', {V3!r})", f">{ALL}",
                                      ">import M as again; again.f()"],
    "after reload": [f"edit('M.py', {V1!r}); import M", f">{USE}", f">{ALL}", f"edit('M.py', {V2!r}); importlib.reload(M)", f">{ALL}",
                     f">{ALL}", f"edit('M.py', {V3!r})", f">{ALL}", "importlib.reload(M)", f">{ALL}"],
    "variables of the notebook": [f"edit('M.py', {V1!r}); import M; from M import f as M_f, C as M_C; M_c = M_C()", f">{ALL}",
                                  f"edit('M.py', {V3!r}); importlib.reload(M)", f">{ALL}"],
    "autoreload of functions": ["%load_ext autoreload\n%autoreload 2", f"edit('M.py', {V1!r}); import M", f">{USE}", f">{ALL}",
                                f"edit('M.py', {V2!r})", f">{ALL}", f">{ALL}", "%autoreload 0"],
    "autoreload of a whole module": ["%load_ext autoreload\n%autoreload 2", f"edit('M.py', {V1!r}); import M", f">{USE}", f">{ALL}",
                                     f"edit('M.py', {V3!r})", f">{ALL}", f">{ALL}", "%autoreload 0", f"edit('M.py', {V1!r})", f">{ALL}"],
    "autoreload on the worker itself": [
        ">%load_ext autoreload\n%autoreload 2", f"edit('M.py', {V1!r})", f">{USE}", f">{ALL}", f"edit('M.py', {V2!r})", f">{ALL}",
        f"edit('M.py', {V3!r})", f">{ALL}", ">%autoreload 0"],
    "a module that others took names from": [
        "edit('M_base.py', 'def f(): return 1'); edit('M.py', 'from M_base import f'); import M, M_base", ">import M; M.f()",
        "edit('M_base.py', 'def f(): return 2'); importlib.reload(M_base)", ">M.f()", "importlib.reload(M)", ">M.f()",
        "edit('M_base.py', 'def f(): return 3'); importlib.reload(M); importlib.reload(M_base)", ">M.f()",
        "edit('M_base.py', 'def f(): return 4'); importlib.reload(M_base); importlib.reload(M)", ">M.f()"],
    "a package": [
        "edit('M/__init__.py', 'from .inner import f'); edit('M/inner.py', 'def f(): return 1'); import M", ">import M; M.f()",
        "edit('M/inner.py', 'def f(): return 2'); importlib.reload(M.inner)", ">M.f(), M.inner.f()", "importlib.reload(M)",
        ">M.f(), M.inner.f(), M.__path__ == [os.path.abspath('M')]"],
    "a reload that fails": [
        "edit('M.py', 'x = 1'); import M", ">import M; M.x", "edit('M.py', 'x = ')\ntry: importlib.reload(M)\nexcept SyntaxError: pass", ">M.x",
        "edit('M.py', 'x = 2; 1 / 0')\ntry: importlib.reload(M)\nexcept ZeroDivisionError: pass", ">M.x",
        "edit('M.py', 'x = 3'); importlib.reload(M)", ">M.x"],
    "a module that the worker alone has": [
        "edit('M.py', 'x = 1')", ">import M; M.x", "edit('M.py', 'x = 2')", ">M.x", ">importlib.reload(M).x", "edit('M.py', 'x = 3'); import M",
        ">importlib.reload(M).x"],
    "a module that is removed and imported again": [
        "edit('M.py', 'x = 1'); import M", ">import M; M.x", "edit('M.py', 'x = 2'); del sys.modules['M']; import M", ">import M; M.x"],
}


@pytest.fixture(scope="module")
def notebook():
    with notebook_at_home(FIRST) as made:
        assert not made.run("%%pounce\nimport importlib, os, sys").of("error")
        yield made


def values(notebook, cells: list[str], module: str, remote: bool) -> list[str]:
    """What the cells that are marked show, each run on the worker or here."""
    shown = []
    for cell in cells:
        marked = cell.startswith(">")
        ran = notebook.run(("%%pounce\n" if marked and remote else "") + cell.removeprefix(">").replace("M", module))
        assert not ran.of("error"), (cell, ran.error["text"])
        if marked and ran.of("execute_result"):
            shown.append(ran.value)
    return shown


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_cell_on_the_worker_sees_the_edition_that_it_would_see_here(notebook, scenario):
    number = list(SCENARIOS).index(scenario)

    here = values(notebook, SCENARIOS[scenario], f"here{number}", remote=False)
    there = values(notebook, SCENARIOS[scenario], f"there{number}", remote=True)

    assert here == there and len(here) > 1


def test_a_reload_on_the_worker_reads_the_file_however_alike_the_two_editions_are(notebook):
    """Python's own cache of compiled modules takes two files of one size and one second for the same."""
    notebook.run("at = edit('alike.py', 'x = 1')")
    assert notebook.run("%%pounce\nimport alike; alike.x").value == "1"

    notebook.run("edit('alike.py', 'x = 2', at)")

    assert notebook.run("%%pounce\nimportlib.reload(alike).x").value == "2"


def test_a_new_worker_has_the_edition_that_the_notebook_has_and_not_what_the_file_says(notebook):
    notebook.run("edit('kept.py', 'x = 1\\ndef f(): return x'); import kept")
    assert notebook.run("%%pounce\nkept.f()").value == "1"
    notebook.run("edit('kept.py', 'x = 2\\ndef f(): return x')")
    notebook.run("%pounce release")

    assert notebook.run("%%pounce\nimport kept as again; kept.f(), again.f()").value == notebook.run("kept.f(), kept.f()").value
    notebook.run("importlib.reload(kept)")
    notebook.run("%pounce release")
    assert notebook.run("%%pounce\nimport importlib, os, sys\nkept.f()").value == "2"


def test_what_cannot_be_loaded_anew_on_the_worker_is_said_once(notebook):
    notebook.run("edit('bound.py', 'x = 1'); import bound")
    assert notebook.run("%%pounce\nimport bound; sys.on_the_worker = True; bound.x").value == "1"

    notebook.run("edit('bound.py', 'import sys\\nif hasattr(sys, \"on_the_worker\"): raise OSError(\"no GPU here\")\\nx = 2'); import importlib; importlib.reload(bound)")
    first, second = notebook.run("%%pounce\nbound.x"), notebook.run("%%pounce\nbound.x")

    assert first.value == second.value == "1"
    assert "bound could not be loaded anew on this worker: OSError: no GPU here" in first.said and not second.said


def test_calls_have_what_the_files_say(notebook):
    notebook.run("client = pounce.Client(launcher='local'); edit('called.py', 'def f(): return 1'); import called")
    assert notebook.run("client.submit(called.f).result()").value == "1"

    notebook.run("edit('called.py', 'def f(): return 2')")

    assert notebook.run("client.submit(called.f).result(), called.f()").value == "(2, 1)"
    notebook.run("client.close()")
