"""What the tab key offers behind %%pounce and %pounce, asked of a real kernel."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from kernel import SECONDS, notebook_at_home


# This machine has no classes, so pounced's answer is given some.
CLASSES = """
import json
from pounce._engine import daemon
real = daemon.ensure
daemon.ensure = lambda *asked: json.dumps({**json.loads(real(*asked)), "classes": ["long", "short", "tiny"]})
"""


@pytest.fixture(scope="module")
def notebook():
    with notebook_at_home(f"import pounce; of_the_notebook = 1\n{CLASSES}") as made:
        deadline = time.monotonic() + SECONDS
        while "long" not in made.completed("%%pounce --class "):  # they are fetched with the first tab, and there with a later one
            assert time.monotonic() < deadline
        yield made


@pytest.mark.parametrize("line", ["%%pounce --class ", "%%pounce --gpu 1 --class=", "%pounce vars --class "])
def test_classes_are_those_of_the_cluster(notebook, line):
    assert notebook.completed(line) == ["long", "short", "tiny"]


def test_a_class_is_completed_from_its_first_letters(notebook):
    assert notebook.completed("%%pounce --class sh") == ["short"]


def test_what_a_cell_may_do_instead_is_offered(notebook):
    assert {"cpu", "cancel"} <= set(notebook.completed("%%pounce --gpu 1 --or "))
    assert notebook.completed("%%pounce --gpu 1 --or class=sh") == ["short"]


def test_asking_for_classes_leases_nothing(notebook):
    notebook.completed("%%pounce --class ")

    assert notebook.run("pounce.Client().queue()").value == "no worker processes"


@pytest.mark.parametrize("line", ["%pounce pull of_", "%pounce pull of_the_worker, of_", "%%pounce --out of_", "%%pounce --out=x,of_"])
def test_names_of_the_workers_variables(notebook, line):
    notebook.run("%%pounce\nof_the_worker = 2")

    assert notebook.completed(line) == ["of_the_worker"]


@pytest.mark.parametrize("line", ["%pounce push of_", "%%pounce --in of_"])
def test_names_of_the_notebooks_variables(notebook, line):
    assert notebook.completed(line) == ["of_the_notebook"]


def test_options_and_verbs(notebook):
    assert {"--bg", "--gpu"} <= set(notebook.completed("%%pounce --"))
    assert notebook.completed("%%pounce --gpu 1 --cl") == ["--class"]
    assert notebook.completed("%pounce rel") == ["release"]
