"""What outlives a worker that does not see the notebook's folder: a real kernel, on workers of the local launcher."""

from __future__ import annotations

import os
import re
import signal

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from cell_state_test import (  # noqa: F401  the same is promised here: these run with the notebook below
    GREY,
    afresh,
    released,
    second_kernel,
    test_a_cell_in_the_background_finds_them_too,
    test_a_damaged_state_is_refused_in_words_and_the_notebook_goes_on,
    test_a_function_of_the_notebook_finds_what_it_reads,
    test_a_killed_worker_costs_nothing_that_was_saved,
    test_restart_forgets_what_was_saved,
    test_the_directory_the_environment_and_the_seeds_go_along,
    test_the_variables_follow_to_a_worker_that_offers_more,
    test_what_cannot_be_saved_is_named_under_its_cell_and_when_it_has_gone,
    test_what_is_not_restored_yet_outlives_the_next_worker_too,
)
from kernel import CAN_BE_APART, SECONDS, Notebook, notebook_at_home

pytestmark = pytest.mark.skipif(not CAN_BE_APART, reason="hides a folder in a mount namespace, which takes root")


@pytest.fixture(scope="module")
def notebook():
    with notebook_at_home("import os, pounce", apart=True) as made:
        yield made


def test_the_next_worker_has_the_same_variables_and_the_notebook_says_where_they_are_kept(afresh):  # noqa: F811
    first = afresh.run("%%pounce\nimport os\nmodel = {'w': [1, 2]}\nalias = model['w']\nfirst = os.getpid()")
    second = afresh.run("%%pounce\n1")
    afresh.run("%pounce release")

    cell = afresh.run("%%pounce\nimport os\nalias.append(3)\nmodel, alias is model['w'], os.getpid() != first")

    assert re.search(r"this worker does not see \S+/parked/\w+: what cells change is brought there when they have run", first.said)
    assert "does not see" not in second.said + cell.said
    assert cell.value == "({'w': [1, 2, 3]}, True, True)"


def test_a_cell_gets_what_it_reads_and_the_rest_stays_where_it_is(afresh):  # noqa: F811
    released(afresh, "%%pounce\nread = list(range(1000))\nunread = list(range(100_000))")

    cell = afresh.run("%%pounce\nlen(read)")
    rest = afresh.run("%pounce vars").stdout
    later = afresh.run("%%pounce\nlen(unread)")

    assert cell.value == "1000" and "unread" not in cell.stream("stdout")
    assert re.search(r"unread +saved", rest)
    assert later.value == "100000" and re.search(r"restored unread \(\d", GREY.sub("", later.stream("stdout")))


def test_what_the_notebook_sends_to_a_new_worker_is_said_once(afresh):  # noqa: F811
    released(afresh, "%%pounce\nkept = [1]")

    cell = afresh.run("sent = list(range(1000))\nget_ipython().run_cell_magic('pounce', '', 'kept.append(len(sent)); kept')")

    assert cell.said.count("sent sent (") == 1 and cell.value == "[1, 1000]"


def test_release_brings_what_the_last_cell_left(afresh):  # noqa: F811
    afresh.run("%%pounce\nimport os\nlarge = bytearray(os.urandom(40_000_000))\nlarge[-1] = 7")
    afresh.run("%pounce release")

    assert afresh.run("%%pounce\nlen(large), large[-1]").value == "(40000000, 7)"


def test_a_kernel_that_was_killed_has_left_what_had_come(notebook):
    last = Notebook(notebook.home)
    last.run("import pounce")
    last.run("%%pounce\nfirst, second = [1], [2]")
    last.until_saved("first")
    last.close()  # with SIGKILL

    with second_kernel(notebook) as next_one:
        said = next_one.run("%pounce restore second").said
        cell = next_one.run("%%pounce\nsecond, 'first' in globals()")

    assert "second will be there" in said and cell.value == "([2], False)"


def test_a_kernel_that_ends_brings_what_its_last_cell_left(notebook):
    last = Notebook(notebook.home)
    last.run("import pounce")
    last.run("%%pounce\nimport os\nat_the_end = os.urandom(10_000_000)")
    last.client.shutdown()
    last.manager.provisioner.process.wait(SECONDS)
    last.close()

    with second_kernel(notebook) as next_one:
        next_one.run("%pounce restore at_the_end")
        cell = next_one.run("%%pounce\nlen(at_the_end)")

    assert cell.value == "10000000"


def test_a_worker_that_is_killed_says_how_much_had_come(afresh):  # noqa: F811
    afresh.run("%%pounce\nkept = [1]")
    afresh.until_saved("kept")

    afresh.run("%%pounce\nimport os, signal\nkept.append(2)\nos.kill(os.getpid(), signal.SIGKILL)")

    assert afresh.run("%%pounce\nkept").value == "[1]"


@pytest.fixture
def unasked(afresh):  # noqa: F811
    """The kernel asks no worker for what it has saved: it comes when the worker offers it."""
    afresh.run("from pounce.cell import state_transfer\nstate_relay._FIRST_S = 3600")
    yield afresh
    afresh.run("state_transfer._FIRST_S = 0.3")


def ended_as_by_slurm(supervisor: str) -> None:
    """At its walltime, or by a preemption: the job's processes get a signal, and some time."""
    os.kill(int(supervisor), signal.SIGTERM)


def test_a_worker_that_goes_by_itself_gives_what_had_not_come_before(unasked):
    supervisor = unasked.run("%%pounce\nimport os\nlarge = bytearray(os.urandom(40_000_000))\nlarge[-1] = 7\nos.getppid()").value

    ended_as_by_slurm(supervisor)
    cell = unasked.run(f"%%pounce\nlen(large), large[-1], os.getppid() != {supervisor}")

    assert cell.value == "(40000000, 7, True)" and "went with" not in cell.said


KEPT = """%%pounce
import glob, os, tempfile, time
kept = [1]
def is_saved():
    try:
        return any('"kept"' in open(each).read() for each in glob.glob(tempfile.gettempdir() + "/pounce-state-*/*/manifest-*"))
    except OSError:  # the next one has taken its place
        return False"""


def test_a_cell_that_is_cut_off_by_the_end_of_its_worker_leaves_what_was_there_before(unasked):
    unasked.run(KEPT)
    while unasked.run("%%pounce\nis_saved()").value != "True":  # this variable: another test's are there too
        pass
    running = unasked.start("%%pounce\nkept.append(2)\nprint(os.getppid(), flush=True)\ntime.sleep(1000)")
    supervisor = unasked.ended(running, until=lambda shown: shown.stdout.endswith("\n")).stdout

    ended_as_by_slurm(supervisor)
    ended = unasked.ended(running)
    cell = unasked.run("%%pounce\nkept")

    assert ended.error["ename"] == "LeaseEnded" and cell.value == "[1]"


def test_what_a_worker_that_has_gone_offers_comes_before_the_notebook_releases_it(unasked):
    supervisor = unasked.run("%%pounce\nimport os\nlarge = os.urandom(40_000_000)\nos.getppid()").value

    ended_as_by_slurm(supervisor)
    unasked.run("%pounce release")

    assert unasked.run("%%pounce\nlen(large)").value == "40000000"


def test_nothing_is_left_on_the_node(afresh):  # noqa: F811
    listed = "import glob, tempfile\nglob.glob(tempfile.gettempdir() + '/pounce-state-*/{ID}')"
    afresh.run("%%pounce\nkept = [1]")
    afresh.until_saved("kept")
    state = max((afresh.home.folder / ".local/state/pounce").glob("*/parked/*/manifest-*.json"), key=os.path.getmtime).parent.name

    there = afresh.run("%%pounce\n" + listed.format(ID=state))
    afresh.run("%pounce restart")

    assert state in there.value and afresh.run("%%pounce\n" + listed.format(ID=state)).value == "[]"


def test_a_setup_cell_and_what_it_reads_are_there_on_each_new_worker(afresh):  # noqa: F811
    released(afresh, "%%pounce\nname = '/etc/hostname'", "%%pounce --setup\nfile = open(name)")

    assert afresh.run("%%pounce\nfile.readable()").value == "True"
