"""What a call raises is raised here as it was there: type, arguments, attributes, notes, causes, members and lines."""

from __future__ import annotations

import shutil

import exception_cases
import pytest

PROGRAM = """
    import concurrent.futures
    sys.path.insert(0, os.getcwd())
    import exception_cases
    from exception_cases import CASES, differences, raised, seen, survives_pickle

    locally = {name: raised(*call) for name, call in CASES.items()}
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        futures = {name: pool.submit(*CASES[name]) for name, error in locally.items() if survives_pickle(error)}
        pooled = {name: future.exception() for name, future in futures.items()}
    with pounce.Client() as client:
        remote = {name: client.submit(*call) for name, call in CASES.items()}
        for name, future in remote.items():
            error = seen(future.exception())
            found = {"locally": differences(seen(locally[name]), error)}
            if name in pooled:
                in_pool = seen(pooled[name])
                found["pool"] = [one for one in ("type", "args", "str", "repr", "notes") if in_pool[one] != error[one]]
                printed = {line.strip(" |") for line in str(pooled[name].__cause__).splitlines()}
                lines = [line for text in error["lines"] for line in text.splitlines()]
                found["lines"] = [line for line in lines if line.strip() not in printed]
            report(**{name: found})
"""

LOST_IN_A_POOL = {"has_wrong_scope": {"str"}}  # the line, which is beside args


@pytest.fixture(scope="module")
def reports(module_home):
    shutil.copy(exception_cases.__file__, module_home.folder)
    return module_home.run(PROGRAM).reports


@pytest.mark.parametrize("case", exception_cases.CASES)
def test_an_exception_is_what_it_was_on_the_worker(reports, case):
    assert reports[case]["locally"] == []


@pytest.mark.parametrize("case", exception_cases.CASES)
def test_an_exception_is_what_a_process_pool_gives_where_that_does_not_break(reports, case):
    assert set(reports[case].get("pool", ())) <= LOST_IN_A_POOL.get(case, set())


def test_the_lines_of_its_traceback_are_those_that_a_process_pool_prints(reports):
    assert {case: report["lines"] for case, report in reports.items() if report.get("lines")} == {}


def test_a_line_without_columns_is_shown_by_tracebacks_of_ipython():
    """`executing`, which they use, looked back from the instruction -1 for ever: the kernel hung while it showed an error."""
    import traceback

    import executing
    from pounce._common.traceback_lines import Line, traceback_of

    trace = traceback_of([Line(__file__, "outer", "m", 7, None), Line(__file__, "inner", "m", 9, (9, 0, 5))])

    assert executing.Source.executing(trace).node is None
    (outer, inner) = traceback.extract_tb(trace)
    assert (outer.lineno, outer.colno, outer.name) == (7, None, "outer") and (inner.lineno, inner.colno) == (9, 0)
