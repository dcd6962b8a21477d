"""Saved variables of a real kernel, as `pouncectl parked` and the configuration treat them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from conftest import made_home
from kernel import SECONDS, Notebook
from pounce import _core
from pounce._worker.state import manifest
from pounce._worker.state.blobs import Stored
from pounce._worker.state.folder import Folder
from pounce._worker.state.manifest import Manifest, Unit
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


def said_by(home, program: str, *words: str) -> dict:
    path = shutil.which(program, path=os.environ.get("POUNCE_BUILD") or sysconfig.get_path("scripts"))
    done = subprocess.run([path, *words], env=home.environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return json.loads(done.stdout)


def parked(notebook, *words: str) -> dict:
    return said_by(notebook.home, "pouncectl", "parked", *words, "--json")


def test_a_list_of_20_mib_is_read_by_python_and_by_pouncectl(home):
    """pouncectl took 16 MiB at most, and Python wrote up to 256."""
    units = [Unit(frozenset([f"x{number}"]), Stored(2**37, (f"{number:064x}",) * 2000)) for number in range(160)]
    data = manifest.encode(Manifest(units, cell=7))
    folder = Path(said_by(home, "pounced", "where")["parked"], "0123456789abcdef")
    folder.mkdir(parents=True, mode=0o700)
    (folder / "manifest-1.json").write_bytes(data)

    (state,) = said_by(home, "pouncectl", "parked", "list", "--json")["parked"]

    assert 20 << 20 < len(data) < _core.MOST_MANIFEST_BYTES and manifest.decode(Folder(folder).manifest()).units == units
    assert state["cell"] == 7 and state["variables"] == sorted(f"x{number}" for number in range(160))


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
        known = notebook.run("from pounce.calls import session_of\nsession = session_of(pounce.Client())\nsession.parked_most_bytes, session.saved_states")

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
