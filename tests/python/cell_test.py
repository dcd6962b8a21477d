"""%%pounce through a real kernel, on workers of the local launcher: what a user sees of a remote cell."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from kernel import notebook_at_home


@pytest.fixture(scope="module")
def notebook():
    """One kernel for all: each test has names of its own. `import pounce` alone brings the magics."""
    with notebook_at_home("import os, pounce; here = os.getpid()") as made:
        yield made


# ---- running ----


def test_a_cell_runs_elsewhere_and_its_last_value_is_shown(notebook):
    cell = notebook.run("%%pounce\nimport os\nprint('pid', os.getpid())\nos.getpid() == here, 6 * 7")

    assert cell.value == "(False, 42)"
    assert cell.stdout.startswith("pid ")


def test_what_a_cell_assigns_is_there_for_the_next(notebook):
    notebook.run("%%pounce\nkept = [1]\ndef grow(): kept.append(len(kept) + 1)")

    assert notebook.run("%%pounce\ngrow()\nkept").value == "[1, 2]"


def test_imports_travel_whichever_variables_are_sent(notebook):
    notebook.run("import statistics as moments\nfrom math import floor\ntrips = [1.5, 2.7]\nothers = [1]")

    assert notebook.run("%%pounce --in trips\nfloor(moments.mean(trips))").value == "2"
    assert "others is a variable of the notebook that was not sent" in notebook.run("%%pounce --in trips\nothers").error["text"]


def test_a_module_that_both_sides_have_imported_is_no_conflict(notebook):
    notebook.run("%%pounce\nimport textwrap")
    notebook.run("import textwrap")

    cell = notebook.run("%%pounce\ntextwrap.dedent(' x')")

    assert cell.value == "'x'" and "changed in the notebook" not in cell.said


def test_a_semicolon_hides_the_value(notebook):
    assert notebook.run("%%pounce\n6 * 7;").kinds == []


def test_await_works_and_a_loop_is_running(notebook):
    cell = notebook.run("%%pounce\nimport asyncio\nasyncio.get_running_loop()\nawait asyncio.sleep(0, 'awaited')")

    assert cell.value == "'awaited'"


def test_asyncio_run_fails_as_it_does_at_home(notebook):
    cell = notebook.run("%%pounce\nimport asyncio\nasyncio.run(asyncio.sleep(0))")

    assert "running event loop" in cell.error["evalue"]


def test_the_worker_looks_like_a_notebook(notebook):
    cell = notebook.run("%%pounce\nimport sys\n"
                        "type(get_ipython()).__name__, 'IPKernelApp' in get_ipython().config, 'ipykernel.zmqshell' in sys.modules")

    assert cell.value == "('ZMQInteractiveShell', True, True)"


# ---- errors ----


def test_a_traceback_has_the_cells_name_its_lines_and_its_causes(notebook):
    cell = notebook.run("%%pounce\n# second line\ndef deep():\n    raise KeyError('inner')\ntry:\n    deep()\n"
                        "except KeyError as e:\n    raise ValueError('outer') from e")

    assert (cell.error["ename"], cell.error["evalue"]) == ("ValueError", "outer")
    number = cell.reply["execution_count"]
    plain = uncoloured(cell.error["text"])
    assert f"Cell In[{number}], line 4" in plain and f"Cell In[{number}], line 8" in plain
    assert "KeyError: 'inner'" in plain and "direct cause" in plain
    assert plain.startswith("on ") and "magic.py" not in plain and "runner.py" not in plain


def test_an_error_has_its_own_type_in_the_notebook(notebook):
    notebook.run("%%pounce\nimport json")
    notebook.run("try:\n    get_ipython().run_cell_magic('pounce', '', 'json.loads(\"{\")')\nexcept ValueError as e:\n    got = e.pos")

    assert notebook.run("got").value == "1"


def test_a_syntax_error_is_found_here_and_nothing_is_sent(notebook):
    cell = notebook.run("%%pounce\nprint('ran')\nif :\n  pass")

    assert cell.error["ename"] == "SyntaxError"
    assert f"Cell In[{cell.reply['execution_count']}], line 3" in uncoloured(cell.error["text"])
    assert cell.stdout == ""


def test_a_traceback_through_a_function_of_the_notebook_names_its_cell(notebook):
    number = notebook.run("def breaks(n):\n    return 1 / n").reply["execution_count"]

    plain = uncoloured(notebook.run("%%pounce\nbreaks(0)").error["text"])
    assert f"Cell In[{number}], line 2" in plain and "return 1 / n" in plain


@pytest.mark.parametrize("source", [
    "raise ExceptionGroup('two', [OSError(2, 'x'), KeyError('k')])",
    "try:\n    int('x')\nexcept ValueError as e:\n    raise ExceptionGroup('two', [e, ExceptionGroup('one', [e])]) from e",
    "try:\n    raise ExceptionGroup('g', [ValueError(1)])\nexcept* ValueError:\n    {}['k']",
    "try:\n    raise ExceptionGroup('g', [ValueError(1)])\nexcept ExceptionGroup:\n    int('x')",
])
def test_a_group_of_exceptions_is_shown_once_and_as_in_a_plain_cell(notebook, source):
    plain, cell = notebook.run("# in the magic's place\n" + source), notebook.run(f"%%pounce\n{source}")

    where, *lines = cell.error["text"].splitlines()
    assert where.startswith("on ") and without_files("\n".join(lines)) == without_files(plain.stream("stderr"))
    assert cell.stream("stderr") == "" and cell.kinds == ["error"]
    assert (cell.reply["ename"], cell.reply["evalue"]) == (plain.reply["ename"], plain.reply["evalue"])


def without_files(text: str) -> str:
    """Of a traceback as Python prints it; without IPython's own frame too, which is in all of a plain cell's."""
    lines = re.sub(r'"[^"]*(ipython-input|ipykernel)[^"]*"', "", text).splitlines()
    own = [n for n, line in enumerate(lines) if "interactiveshell.py" in line]
    return "\n".join(line for n, line in enumerate(lines) if n not in own and n - 1 not in own).strip()


def test_an_error_that_ipython_shows_in_its_own_way_is_the_cause_of_the_one_here(notebook):
    run = "try:\n    get_ipython().run_cell_magic('pounce', '', \"raise ExceptionGroup('two', [OSError(2, 'x')])\")\n"
    cell = notebook.run(run + "except Exception as e:\n    got = e.__cause__.exceptions[0].errno")

    assert not cell.of("error") and notebook.run("got").value == "2"


def test_an_unknown_option_names_the_nearest(notebook):
    cell = notebook.run("%%pounce --gpus 1\n1")

    assert "did you mean --gpu?" in cell.stream("stderr") and cell.reply["status"] == "error"


def test_sys_exit_ends_the_cell_and_not_the_worker(notebook):
    cell = notebook.run("%%pounce\nstays = 1\nimport sys\nsys.exit(3)")

    assert cell.error["ename"] == "SystemExit"
    assert notebook.run("%%pounce\nstays").value == "1"


# ---- variables ----


def test_a_cell_that_forks_ends_once_and_its_child_shows_nothing_of_the_notebooks(notebook):
    cell = notebook.run("%%pounce\nimport os\nchild = os.fork()\nif child == 0:\n    os._exit(7)\n"
                        "os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])")

    assert cell.value == "7" and notebook.run("%%pounce\n'still here'").value == "'still here'"


def test_a_cell_that_closes_its_standard_output_loses_no_more_than_that(notebook):
    cell = notebook.run("%%pounce --on closing\nimport os, sys\nprint('before')\nsys.stdout.close()\nos.close(1)\n'its value'")
    after = notebook.run("%%pounce --on closing\n'the next one'")

    assert "before" in cell.stdout and cell.value == "'its value'"
    assert after.value == "'the next one'"


def test_edited_and_run_ten_times_there_is_one_worker_one_import_and_nothing_is_sent_again(notebook):
    notebook.run("from pathlib import Path\nPath('slow_module.py').write_text(\"print('imported', flush=True)\")\ntable = list(range(100_000))")

    runs = [notebook.run(f"%%pounce\nimport os, slow_module\nsum(table) + {edit}, os.getpid()") for edit in range(10)]

    assert "sent table" in runs[0].said and not any("sent" in run.said for run in runs[1:])
    assert "".join(run.stdout for run in runs) == "imported\n"
    assert len({run.value.split(",")[1] for run in runs}) == 1


def test_variables_that_a_cell_reads_are_sent_and_said(notebook):
    notebook.run("factor = 3\ndef times(n): return n * factor\ndef twice(n): return times(times(n))")

    cell = notebook.run("%%pounce\ntwice(7)")

    assert cell.value == "63"
    assert "factor (" in cell.said and "times (" in cell.said and "twice (" in cell.said


def test_what_is_there_is_not_sent_again(notebook):
    notebook.run("steady = [1, 2]")
    notebook.run("%%pounce\nsteady")

    assert notebook.run("%%pounce\nsteady").said == ""


@pytest.mark.parametrize("change", ["config['lr'] = 2", "config = {'lr': 2}"])
def test_what_changed_in_the_notebook_is_sent_again(notebook, change):
    notebook.run("config = {'lr': 1}")
    notebook.run("%%pounce\nconfig")
    notebook.run(change)

    assert notebook.run("%%pounce\nconfig['lr']").value == "2"


def test_a_helper_that_is_reached_only_through_another_function_is_sent_again_when_edited(notebook):
    notebook.run("def helper(): return 'old'\ndef outer(): return helper()")
    notebook.run("%%pounce\nouter()")
    notebook.run("def helper(): return 'new'")

    assert notebook.run("%%pounce\nouter()").value == "'new'"


def test_a_global_that_a_cell_assigns_is_what_functions_of_the_notebook_see(notebook):
    notebook.run("level = 1\ndef tell_level(): return level")
    notebook.run("%%pounce\ntell_level()")

    assert notebook.run("%%pounce\nlevel = 5\ntell_level()").value == "5"


def test_the_workers_value_is_kept_when_only_it_changed(notebook):
    notebook.run("both = 'notebook'")
    notebook.run("%%pounce\nboth = both + ' and worker'")

    assert notebook.run("%%pounce\nboth").value == "'notebook and worker'"


def test_of_two_changes_the_later_wins_and_is_named(notebook):
    notebook.run("%%pounce\nrace = 'worker'")
    number = notebook.run("race = 'notebook'").reply["execution_count"]

    cell = notebook.run("%%pounce\nrace")

    assert cell.value == "'notebook'"
    assert f"race changed in the notebook (cell {number})" in cell.said


def test_the_workers_change_wins_when_it_is_the_later(notebook):
    notebook.run("late = 1")
    notebook.run("%%pounce\nlate")
    notebook.run("late = 2")
    notebook.run("%%pounce\nlate = 3")

    assert notebook.run("%%pounce\nlate").value == "3"


def test_out_brings_a_variable_home_and_pull_another(notebook):
    notebook.run("%%pounce --out answer\nanswer = 42\nquestion = 'what'")
    notebook.run("%pounce pull question")

    assert notebook.run("answer, question").value == "(42, 'what')"


def test_in_sends_what_it_names_and_nothing_else(notebook):
    notebook.run("wanted, other = 1, 2")

    cell = notebook.run("%%pounce --in wanted\nwanted, other")

    assert cell.error["ename"] == "NameError"
    assert "other is a variable of the notebook that was not sent: --in other sends it" in cell.error["text"]


def test_a_class_of_the_notebook_works_on_the_worker_and_its_objects_at_home(notebook):
    notebook.run("class Point:\n    def __init__(self, x): self.x = x\n    def moved(self): return Point(self.x + 1)\np = Point(1)")
    notebook.run("%%pounce --out q\nq = p.moved()")

    assert notebook.run("isinstance(q, Point), q.moved().x").value == "(True, 3)"


def test_a_class_and_a_function_of_a_cell_work_at_home(notebook):
    notebook.run("%%pounce --out Made,make\nclass Made:\n    n = 4\ndef make(): return Made()")

    assert notebook.run("make().n, type(make()) is Made").value == "(4, True)"


def test_arrays_arrive_writable_and_large_ones_too(notebook):
    pytest.importorskip("numpy")
    notebook.run("import numpy as np\nsmall, large = np.zeros(3), np.zeros(400_000)")

    cell = notebook.run("%%pounce --out large\nsmall[0] = 1\nlarge[0] = 2\nsmall.sum()")

    assert "large (3.2 MB)" in cell.said
    assert notebook.run("large[1] = 5\nfloat(large.sum())").value == "7.0"


def test_objects_that_are_sent_together_share_what_they_shared(notebook):
    notebook.run("inner = [1]\npair = {'of': inner}")

    assert notebook.run("%%pounce\npair['of'] is inner").value == "True"


def test_a_variable_that_cannot_be_sent_is_named(notebook):
    notebook.run("import threading\nlock = {'a': threading.Lock()}")

    cell = notebook.run("%%pounce\nlock")

    assert cell.error["ename"] == "NotPicklable"
    assert "the cell reads lock" in cell.error["evalue"] and "lock['a']" in cell.error["evalue"] and "--in" in cell.error["evalue"]


def test_vars_and_status_name_what_is_there(notebook):
    notebook.run("%%pounce\nlisted = 1")

    assert "listed" in notebook.run("%pounce vars").stdout
    assert "listed" in notebook.run("%pounce status").stdout


def test_what_befalls_a_worker_is_told_without_lines_of_pounces_own_code(notebook):
    cell = notebook.run("%%pounce --cpus 5\nimport os; os._exit(3)")

    assert cell.error["ename"] == "WorkerCrashed" and "exit code 3" in cell.error["evalue"]
    assert cell.error["text"] == f"WorkerCrashed: {cell.error['evalue']}"


# ---- the lease's time ----


def test_a_cell_whose_leases_time_ends_is_warned_before(notebook):
    cell = notebook.start("%%pounce --on timed --time 1min\nimport time\nwhile True: time.sleep(0.01)")
    last = lambda shown: "".join(content["data"]["text/plain"] for content in shown.of("display_data")[-1:])
    warned = notebook.ended(cell, until=lambda shown: "save what you need" in last(shown))
    notebook.manager.interrupt_kernel()

    assert " s more, until " in last(warned)
    assert notebook.ended(cell).error["ename"] == "KeyboardInterrupt"


# ---- the stop button ----


def test_stop_interrupts_the_worker_and_keeps_its_variables(notebook):
    cell = notebook.start("%%pounce\nimport time\nprogress = 1\nprint('going', flush=True)\ntime.sleep(600)")
    notebook.ended(cell, until=lambda shown: "going" in shown.stdout)
    pressed = time.monotonic()
    notebook.manager.interrupt_kernel()
    shown = notebook.ended(cell)

    assert shown.error["ename"] == "KeyboardInterrupt" and re.search("line [45]", uncoloured(shown.error["text"]))
    assert time.monotonic() - pressed < 60
    assert notebook.run("%%pounce\nprogress").value == "1"


def test_stop_interrupts_an_await(notebook):
    cell = notebook.start("%%pounce\nimport asyncio\nprint('going', flush=True)\nawait asyncio.sleep(600)")
    notebook.ended(cell, until=lambda shown: "going" in shown.stdout)
    notebook.manager.interrupt_kernel()

    assert notebook.ended(cell).error["ename"] == "KeyboardInterrupt"


def test_a_cell_that_ignores_stop_is_left_to_itself_at_the_third_and_restart_ends_it(notebook):
    notebook.run("%%pounce --on stubborn\ndoomed = 1")
    cell = notebook.start("%%pounce --on stubborn\nimport os, signal, time\nsignal.signal(signal.SIGINT, lambda *_: "
                          "os.write(1, b'ignored\\n'))\n"
                          "print('going', flush=True)\ntime.sleep(600)")
    for seen in ("going", "ignored", "stop once more"):
        notebook.ended(cell, until=lambda shown, seen=seen: seen in shown.stream("stdout"))
        notebook.manager.interrupt_kernel()
    shown = notebook.ended(cell)
    running = notebook.run("%pounce status").stream("stdout")
    restarted = notebook.run("%pounce restart --on stubborn").said
    after = notebook.run("%%pounce --on stubborn\n'fresh'")

    assert shown.error["ename"] == "KeyboardInterrupt" and "%pounce restart ends its Python" in shown.error["evalue"]
    assert "running" in running and "doomed went with the old one" in restarted
    assert after.value == "'fresh'"


def test_stop_takes_a_cell_back_that_still_waits(notebook):
    notebook.run("%%pounce\n1")
    daemon = notebook.home.endpoint()["pid"]
    os.kill(daemon, signal.SIGSTOP)  # nobody grants anything
    try:
        cell = notebook.start("%%pounce --on waiting\nprint('ran')")
        notebook.ended(cell, until=lambda shown: shown.of("display_data"))  # the line that tells of the wait
        notebook.manager.interrupt_kernel()
        shown = notebook.ended(cell)
    finally:
        os.kill(daemon, signal.SIGCONT)

    assert (shown.error["ename"], shown.error["evalue"]) == ("KeyboardInterrupt", "the cell was taken back before it ran")
    assert "ran" not in shown.stdout


# ---- alive ----


def test_output_is_seen_while_the_cell_runs(notebook):
    cell = notebook.start("%%pounce\nimport os, time\nprint('now', flush=True)\nos.system('echo child')\n"
                          "while not os.path.exists('seen'): time.sleep(0.01)")
    notebook.ended(cell, until=lambda shown: "now" in shown.stdout and "child" in shown.stdout)
    (notebook.home.folder / "seen").touch()

    assert not notebook.ended(cell).of("error")


def test_input_and_getpass_ask_in_the_notebook(notebook):
    cell = notebook.start("%%pounce\nimport getpass\nname = input('name? ')\nname, getpass.getpass('word? ')", allow_stdin=True)

    assert notebook.asked("Ada") == ("name? ", False)
    assert notebook.asked("s3cret") == ("word? ", True)
    assert notebook.ended(cell).value == "('Ada', 's3cret')"


def test_debug_in_a_cell_looks_into_the_workers_last_error(notebook):
    notebook.run("%%pounce\ndef deep(divisor):\n    secret = 41\n    return 1 / divisor\ndeep(0)")
    cell = notebook.start("%%pounce\n%debug", allow_stdin=True)

    assert notebook.asked("p secret + 1") == notebook.asked("q") == ("ipdb> ", False)
    assert notebook.ended(cell).stdout.rstrip().endswith("42")


def test_stop_at_a_question_interrupts_the_cell(notebook):
    cell = notebook.start("%%pounce\nasked = True\ninput('well? ')", allow_stdin=True)
    notebook.asked(None)
    notebook.manager.interrupt_kernel()

    assert notebook.ended(cell).error["ename"] == "KeyboardInterrupt"
    assert notebook.run("%%pounce\nasked").value == "True"


def test_where_nobody_can_answer_a_question_is_an_error_in_the_cell(notebook):
    cell = notebook.run("%%pounce\ninput('name? ')")

    assert cell.error["ename"] == "StdinNotImplementedError" and "raw_input was called" in cell.error["evalue"]


def test_a_worker_that_died_is_told_and_the_next_cell_has_what_was_before_it(notebook):
    notebook.run("%%pounce --on dying\nfragile = [1]")
    notebook.until_saved("fragile")
    cell = notebook.run("%%pounce --on dying\nimport os\nfragile.append(2)\nos._exit(9)")
    after = notebook.run("%%pounce --on dying\nfragile")

    assert cell.error["ename"] == "WorkerCrashed"
    assert after.value == "[1]"


def test_on_is_another_worker_and_says_where_a_variable_is(notebook):
    notebook.run("%%pounce\nplaced = 1")

    cell = notebook.run("%%pounce --on elsewhere\nplaced")

    assert re.search(r"placed is on the worker with .*: bring it here with %pounce pull placed", cell.error["text"])


def uncoloured(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
