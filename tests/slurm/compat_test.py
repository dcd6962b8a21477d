"""Programs for Dask, submitit and joblib on the real cluster: the examples, and what the site's policy forbids."""

from __future__ import annotations

from login_node import ROOT
from long_run import only_in_long_runs
from notebooks import Executed, code_cells, printed, shown

SECONDS = 280  # each job imports torch anew, and the machine may be busy


def executed(alice, example: str) -> list:
    """The code cells."""
    return code_cells(Executed(alice, ROOT / "examples" / f"{example}.ipynb", SECONDS).notebook())


def last_values(cells: list) -> list[str]:
    return [value for cell in cells for value in shown(cell, "text/plain") if not value.startswith("pounce: ")]


def raised(cells: list) -> list[str]:
    return [output.ename for cell in cells for output in cell.outputs if output.output_type == "error"]


def test_dasks_cells_run_with_another_import_alone(make_user):
    cells = executed(make_user(), "13_mlerp_dask/mlerp_dask")

    values = last_values(cells)
    assert values[0] == "('input1', 'input2')" and "2.3" in values and "(10, 8)" in values
    assert raised(cells) == ["AssertionError"]
    assert any("printed on the worker" in printed(cell) for cell in cells)
    assert any("trained on cpu: loss 0." in printed(cell) for cell in cells)
    assert "RUNNING" in values[-1] and "gpu:" in values[-1]


@only_in_long_runs("a minute and a half; tests/python/compat_submitit_test.py runs the same names")
def test_submitits_cells_run_with_another_import_alone(make_user):
    cells = executed(make_user(), "14_mlerp_submitit/mlerp_submitit")

    values = last_values(cells)
    assert values[:2] == ["('input1', 'input2')", "('printed on the worker\\n', 'COMPLETED')"]
    assert values[-2:] == ["[32, 81, 64]", "32"] and "2.3" in values
    assert raised(cells) == ["AssertionError"]


def test_scikit_learn_finds_the_same_on_two_leases(make_user):
    cells = executed(make_user(), "15_sklearn_joblib/sklearn_joblib")

    here, there, spread, queue = last_values(cells)
    assert here == there and spread == "(False, True)" and queue.count("RUNNING") >= 2  # of hers, and others of her jobs may run


def test_two_jobs_of_a_scaled_cluster_are_two_jobs_of_slurm_and_go_back_when_it_is_closed(make_user):
    run = make_user().python("""
        import tempfile
        from pounce.compat.dask import Client, SLURMCluster
        cluster = SLURMCluster(cores=2, memory="1g", processes=2)
        cluster.scale(4)
        client = Client(cluster)
        here = tempfile.mkdtemp()
        def meet(n):
            import pathlib
            pathlib.Path(here, f"came{n}").touch()
            while not all(pathlib.Path(here, f"came{k}").exists() for k in range(4)): time.sleep(0.05)
            return os.getpid()
        report(processes=len(set(client.gather(client.map(meet, range(4))))), jobs=len({lease.job for lease in cluster.pounce.leases()}))
        client.shutdown()
    """)
    run.ended(120)

    assert run.reported("jobs") == 2 and run.reported("processes") == 4


def test_a_directive_that_the_policy_does_not_pass_on_is_named(make_user):
    run = make_user("alice", policy={"slurm_options": ["licenses"]}).python("""
        from pounce.compat.dask import Client, SLURMCluster
        client = Client(SLURMCluster(cores=1, job_extra_directives=["--constraint=nvlink"]))
        try: client.submit(abs, 1).result()
        except Exception as e: report(refused=error(e))
    """)
    run.ended(120)

    assert "constraint" in run.reported("refused")["text"]
