"""Calls run under the settings that this process had when they were submitted."""

from __future__ import annotations

import pytest
from pounce._common.settings.python import passed_on

SET = """
    import decimal, os, sys, warnings
    import numpy as np
    import pounce
    client = pounce.Client()

    def seen():
        import numpy
        return {"flag": os.environ.get("MY_FLAG"), "precision": numpy.get_printoptions()["precision"],
                "divide": numpy.geterr()["divide"], "digits": decimal.getcontext().prec, "limit": sys.getrecursionlimit(),
                "umask": os.umask(os.umask(0)), "folder": os.getcwd()}

    def change(folder):
        os.environ["MY_FLAG"] = "a b\\nc"
        np.set_printoptions(precision=3)
        np.seterr(divide="raise")
        decimal.getcontext().prec = 6
        sys.setrecursionlimit(4321)
        os.umask(0o027)
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
"""


def test_a_call_has_what_was_changed_before_it(home):
    run = home.run(SET + """
    before = client.submit(seen).result()
    change(os.environ["HOME"] + "/there")
    report(before=before, after=client.submit(seen).result(), here=seen())
    """)

    before, after, here = (run.reports[name] for name in ("before", "after", "here"))
    assert before["flag"] is None and before["precision"] == 8
    assert after == here


def test_a_program_that_left_its_umask_alone_has_it_in_its_calls(home):
    """A local worker had pounced's own, 077."""
    run = home.run("""
    def made():
        open("made", "w").close()
        return oct(os.stat("made").st_mode)
    os.umask(0o022)
    client = pounce.Client()
    report(made=client.submit(made).result())
    """)

    assert run.reports["made"] == "0o100644"


def test_a_program_that_changed_nothing_sends_nothing(home):
    for name in [name for name, value in home.environment.items() if passed_on(name, value)]:
        del home.environment[name]

    run = home.run("""
    client = pounce.Client()
    result = client.submit(pow, 2, 3).result()
    report(result=result, sent=client._submitter._settings().object() is not None)
    """)

    assert run.reports == {"result": 8, "sent": False}


def test_a_call_that_waits_keeps_what_was_set_when_it_was_submitted(home):
    """All of these are submitted before there is a worker."""
    run = home.run(SET + """
    def precision(_):
        import numpy
        return numpy.get_printoptions()["precision"]

    futures = []
    for digits in (3, 5, 7):
        np.set_printoptions(precision=digits)
        futures.append(client.submit(precision, digits))
    report(precisions=[future.result() for future in futures])
    """)

    assert run.reports["precisions"] == [3, 5, 7]


@pytest.mark.parametrize("submit", [
    "list(client.map(lambda _: seen(), [1]))[0]", "client.get_executor().submit(seen).result()",
    "client.gang(workers=2).run(seen)[1]"])
def test_every_kind_of_call_has_them(submit, home):
    run = home.run(SET + f"""
    change(os.environ["HOME"] + "/there")
    report(there={submit}, here=seen())
    """)

    assert run.reports["there"] == run.reports["here"]


def test_a_task_with_a_name_has_all_but_the_environment_which_would_lie_in_a_file(home):
    run = home.run(SET + """
    change(os.environ["HOME"] + "/there")
    report(there=client.options(name="kept").submit(seen).result(), here=seen())
    """)

    assert run.reports["there"] == {**run.reports["here"], "flag": None}


def test_a_library_that_a_call_imports_itself_gets_them_then(home):
    """A notebook with numpy, a function that imports it in its second line."""
    run = home.run(SET + """
    def late():
        before = "numpy" in sys.modules
        import numpy
        return before, numpy.get_printoptions()["precision"]

    client = pounce.Client(imports="no")  # an idle worker imports what the notebook has
    np.set_printoptions(precision=2)
    report(late=client.submit(late).result())
    """)

    assert run.reports["late"] == [False, 2]


def test_a_call_shows_what_a_process_pool_shows(home):
    """Its processes are forked, so they begin as this one is."""
    run = home.run(SET + """
    import concurrent.futures, multiprocessing
    change(os.environ["HOME"] + "/there")
    warnings.filterwarnings("error", "mine")
    import logging, socket
    logging.getLogger("mine").setLevel(17)
    socket.setdefaulttimeout(4.5)
    def more():
        import logging, socket, warnings
        try: warnings.warn("mine")
        except UserWarning as warning: shown = str(warning)
        return seen(), shown, logging.getLogger("mine").level, socket.getdefaulttimeout()
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        report(pool=pool.submit(more).result())
    report(call=client.submit(more).result())
    """)

    assert run.reports["call"] == run.reports["pool"]


def test_a_setting_that_is_changed_back_is_as_it_was(home):
    run = home.run(SET + """
    np.set_printoptions(precision=2)
    first = client.submit(seen).result()["precision"]
    np.set_printoptions(precision=8)
    report(precisions=[first, client.submit(seen).result()["precision"]])
    """)

    assert run.reports["precisions"] == [2, 8]


def test_a_call_from_another_thread_takes_nothing_back(home):
    """numpy's options there are as in a fresh process."""
    run = home.run(SET + """
    import threading
    np.set_printoptions(precision=3)
    precisions = [client.submit(seen).result()["precision"]]
    other = threading.Thread(target=lambda: precisions.append(client.submit(seen).result()["precision"]))
    other.start(), other.join()
    report(precisions=[*precisions, client.submit(seen).result()["precision"]])
    """)

    assert run.reports["precisions"] == [3, 3, 3]


def test_a_fast_series_of_calls_is_looked_at_seldom_as_a_whole(monkeypatch):
    """So that it costs no more, the time of a look does not count: a busy machine would leave none for the next change."""
    from pounce._engine import call_settings

    clock, whole = [0.0], []
    monkeypatch.setattr(call_settings.time, "monotonic", lambda: clock[0])
    looks = call_settings.Looks(lambda only_quick: whole.append(clock[0]) if not only_quick else None)
    for _ in range(8193):
        looks.look()
        clock[0] += 2**-12

    assert whole[:20] == [2**-12 * call for call in range(20)]
    assert len(whole) == 20 + 2 * 30


def test_what_changes_results_is_looked_at_in_the_fastest_series_too(home):
    run = home.run(SET + """
    import math
    from pounce._engine import call_settings
    call_settings._looks._left = -math.inf  # no whole looks

    def here():
        return os.environ.get("STEP"), np.get_printoptions()["precision"], decimal.getcontext().prec

    futures, expected = [], []
    for step in range(20):
        os.environ["STEP"] = str(step)
        np.set_printoptions(precision=step)
        decimal.getcontext().prec = step + 1
        expected.append(here())
        futures.append(client.submit(here))
    report(there=[future.result() for future in futures], here=expected)
    """)

    assert run.reports["there"] == run.reports["here"]
