"""Saved variables of a real kernel, as `pouncectl parked` and the configuration treat them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import time
from contextlib import contextmanager

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from conftest import made_home
from kernel import SECONDS, Notebook
from pounce.cell.notebook_state import NotebookState


@contextmanager
def notebook_with(**config):
    with made_home(idle_release_s=600, **config) as home:
        notebook = Notebook(home)
        try:
            assert not notebook.run("import pounce").of("error")
            yield notebook
            notebook.run("%pounce release")
        finally:
            notebook.close()


def parked(notebook, *words: str) -> dict:
    program = shutil.which("pouncectl", path=os.environ.get("POUNCE_BUILD") or sysconfig.get_path("scripts"))
    done = subprocess.run([program, "parked", *words, "--json"],
                          env=notebook.home.environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return json.loads(done.stdout)


def saved(notebook, *names: str) -> dict:
    """The notebook's state, when it has these variables."""
    deadline = time.monotonic() + SECONDS
    while True:
        states = parked(notebook, "list")["parked"]
        if states and states[0]["variables"] == list(names):
            return states[0]
        assert time.monotonic() < deadline, states


def test_pouncectl_lists_what_a_notebook_saved_and_removes_it():
    with notebook_with() as notebook:
        notebook.run("%%pounce --cpus 1\nmodel, history, log = bytes(3_000_000), [0.5], open('/dev/null')")

        state = saved(notebook, "history", "model")

        assert state["not_saved"] == ["log"] and state["problem"] == ""
        assert 0 < state["saved_s"] <= time.time() and state["cell"] == 2 and state["size"] > 3_000_000
        assert state["notebook"] == str(notebook.home.folder)
        assert parked(notebook, "rm", state["id"][:6], "--yes") == {"removed": [state["id"]], "failed": []}
        assert parked(notebook, "list") == {"parked": []}


def test_a_kernel_knows_how_much_may_be_saved_and_where():
    with notebook_with(parked_most_mib=1) as notebook:
        known = notebook.run("from pounce.calls import session_of\nsession = session_of(pounce.Client())\nsession.parked_most_bytes, session.parked")

        assert known.value == repr((1024 * 1024, notebook.home.endpoint()["parked"]))


def test_a_state_that_was_removed_under_its_worker_costs_that_worker_nothing():
    with notebook_with() as notebook:
        notebook.run("%%pounce --cpus 1\nhistory = [1]")
        saved(notebook, "history")
        parked(notebook, "rm", "--all", "--yes")

        assert notebook.run("%%pounce --cpus 1\nhistory.append(2)\nhistory").value == "[1, 2]"


def test_a_notebook_whose_state_was_removed_gets_a_new_folder(tmp_path):
    state = NotebookState()
    state.make_folder(str(tmp_path / "parked"))
    shutil.rmtree(state.folder)

    state.make_folder(str(tmp_path / "parked"))

    assert os.listdir(state.folder) == ["about.json"]
