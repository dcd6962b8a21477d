"""The next worker is there before the time of the last one is over: a real kernel, on workers of the local launcher. Instead of
waiting for the end of a lease the tests look at it from afar."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
import time

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from kernel import SECONDS, notebook_at_home

LINE = "%%pounce --time 10min\n"
LOOKED_AT = "import os, pounce, time\nwhile pounce.time_left() is None: time.sleep(0.05)\ntime.sleep(1)\n"  # the time is known, and the next look is over


def leases(notebook) -> list:
    program = shutil.which("pouncectl", path=os.environ.get("POUNCE_BUILD") or sysconfig.get_path("scripts"))
    done = subprocess.run([program, "status", "--json"], env=notebook.home.environment, capture_output=True, check=True, timeout=SECONDS)
    return json.loads(done.stdout)["leases"]


@pytest.fixture
def notebook():
    with notebook_at_home("import os, pounce") as made:
        yield made


def test_a_cell_near_the_end_of_its_workers_time_begins_on_the_next_one(notebook):
    notebook.run("from pounce.cell import successors\nsuccessors._LEAST_PAUSE_S, successors.LEAD_S = 0.05, 3600")
    first = notebook.run(LINE + LOOKED_AT + "kept = [os.getpid()]\nlen(kept)")

    still = notebook.run(LINE + "kept[0] == os.getpid()")
    notebook.run("from pounce.cell import workers\nworkers.MOVE_S = 3600")
    moved = notebook.run(LINE + "kept[0] == os.getpid(), len(kept)")

    assert (first.value, still.value, moved.value) == ("1", "True", "(False, 1)")
    assert "restored" in moved.stream("stdout")


def test_none_is_asked_for_while_there_is_time(notebook):
    notebook.run("from pounce.cell import successors\nsuccessors._LEAST_PAUSE_S = 0.05")
    notebook.run(LINE + LOOKED_AT)

    assert len(leases(notebook)) == 1


def test_one_that_was_asked_for_goes_back_with_the_other(notebook):
    notebook.run("from pounce.cell import successors\nsuccessors._LEAST_PAUSE_S, successors.LEAD_S = 0.05, 3600")
    notebook.run(LINE + LOOKED_AT)
    two = len(leases(notebook))

    notebook.run("%pounce release")

    deadline = time.monotonic() + SECONDS
    while leases(notebook) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert two == 2 and not leases(notebook)
