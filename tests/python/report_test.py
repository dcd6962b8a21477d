"""pounce.report: what a task tells of itself while it runs."""

from __future__ import annotations

import json

import pounce
import pytest
from pounce._common import report


def test_a_report_is_there_while_the_task_runs(home):
    run = home.run("""
        def train(go_on):
            import pathlib, time
            for step in range(3): pounce.report(step=step, loss=1 / (step + 1))
            while not pathlib.Path(go_on).exists(): time.sleep(0.01)
            pounce.report(loss=0.0)
        with pounce.Client() as client:
            future = client.submit(train, os.getcwd() + "/go")
            while len(future.reports) < 3: time.sleep(0.01)
            report(live=future.reports, running=not future.done())
            open("go", "w").close()
            future.result(60)
            report(last=future.reports[-1], count=len(future.reports))
    """)

    assert run.reports["live"] == [{"step": 0, "loss": 1.0}, {"step": 1, "loss": 0.5}, {"step": 2, "loss": 1 / 3}]
    assert run.reports["running"] and run.reports["last"] == {"loss": 0.0} and run.reports["count"] == 4


def test_all_reports_are_there_when_the_result_is(home):
    run = home.run("""
        def many():
            for n in range(500): pounce.report(n=n)
        with pounce.Client() as client:
            future = client.submit(many)
            future.result(60)
            report(reports=[each["n"] for each in future.reports] == list(range(500)))
    """)

    assert run.reports == {"reports": True}


def test_of_too_many_the_newest_are_kept(home):
    run = home.run(f"""
        def many():
            for n in range({report.KEPT} + 10): pounce.report(n=n)
        with pounce.Client() as client:
            future = client.submit(many)
            future.result(60)
            report(count=len(future.reports), first=future.reports[0]["n"])
    """)

    assert run.reports == {"count": report.KEPT, "first": 10}


def test_a_report_that_is_no_number_is_refused_by_its_name_on_the_worker(home):
    run = home.run("""
        def train(): pounce.report(loss=[1, 2])
        with pounce.Client() as client:
            report(**error_of(client.submit(train).result))
    """)

    assert run.reports["type"] == "BadRequest" and "report(loss=...)" in run.reports["text"]


def test_in_the_notebook_itself_and_in_a_task_with_a_name_it_does_nothing(home):
    run = home.run("""
        def train():
            pounce.report(loss=0.5)
            return "trained"
        with pounce.Client() as client:
            future = client.options(name="train").submit(train)
            report(here=train(), there=future.result(60), reports=future.reports)
    """)

    assert run.reports == {"here": "trained", "there": "trained", "reports": []}


def content(**values):
    return json.loads(report.encoded(values))["content"]


def test_numbers_of_numpy_are_numbers():
    np = pytest.importorskip("numpy")

    assert content(a=np.float32(0.5), b=np.array([3]), c=np.bool_(True)) == {"a": 0.5, "b": 3, "c": True}


def test_a_tensor_with_one_element_is_a_number():
    torch = pytest.importorskip("torch")

    assert content(loss=torch.tensor(0.5, requires_grad=True)) == {"loss": 0.5}


def test_what_is_not_finite_travels():
    assert content(loss=float("inf")) == {"loss": float("inf")}


@pytest.mark.parametrize("value", [[1], {"a": 1}, object(), b"x"])
def test_what_is_no_plain_value_is_refused(value):
    with pytest.raises(pounce.BadRequest, match="report\\(loss="):
        report.encoded({"loss": value})


def test_an_array_with_several_elements_is_refused():
    np = pytest.importorskip("numpy")

    with pytest.raises(pounce.BadRequest, match="not a ndarray"):
        report.encoded({"loss": np.zeros(2)})


def test_a_report_that_is_too_long_is_refused():
    with pytest.raises(pounce.BadRequest, match="too long"):
        report.encoded({"text": "x" * 100_000})
