"""Models of MLflow's at an address: the page's examples run, the protocol is MLflow's, and the program imports nothing of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import made_home

pytest.importorskip("mlflow")
pytestmark = pytest.mark.xdist_group("mlflow_serving")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "serving.md"

REGISTERED = """
import mlflow
class Areas(mlflow.pyfunc.PythonModel):
    def predict(self, context, model_input, params=None):
        if (model_input["width"] < 0).any():
            raise ArithmeticError("a width is at least 0")
        return (model_input["width"] * model_input["height"]).tolist()
class Missing(Areas):
    def load_context(self, context):
        import no_such_package_here
with mlflow.start_run():
    for name, model in (("areas", Areas()), ("missing", Missing())):
        mlflow.pyfunc.log_model(name=name, python_model=model, registered_model_name=name, pip_requirements=[])
"""

HELP = """
import json, urllib.error, urllib.request
def status(endpoint, data, kind="application/json", path="/invocations"):
    request = urllib.request.Request(endpoint.url + path, data, {**endpoint.headers, "Content-Type": kind})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
"""
# On the page's endpoint, before the page closes it: each worker imports MLflow anew.
OF_AREAS = """
report(
        records=status(endpoint, b'{"dataframe_records": [{"width": 3, "height": 4}]}'),
        inputs=status(endpoint, b'{"inputs": {"width": [3], "height": [4]}}'),
        instances=status(endpoint, b'{"instances": [{"width": 3, "height": 4}]}'),
        csv=status(endpoint, b"width,height\\n3,4\\n", "text/csv"),
        raised=status(endpoint, b'{"inputs": {"width": [-3], "height": [4]}}'),
        schema=status(endpoint, b'{"inputs": {"width": [3]}}'),
        fields=status(endpoint, b'{"rows": []}'),
        json=status(endpoint, b"{"),
        xml=status(endpoint, b"<a/>", "text/xml"),
        ping=status(endpoint, None, path="/ping"),
        version=status(endpoint, None, path="/version"))
"""
OTHERS = """
with pounce.serve("models:/missing/1") as endpoint:
    report(missing=status(endpoint, b'{"inputs": []}'), ping_missing=status(endpoint, None, path="/ping"))
with pounce.serve("models:/nothing/1") as endpoint:
    report(start=error_of(endpoint.start), nothing=status(endpoint, None, path="/health"))
report(imported="mlflow" in sys.modules)
"""


@pytest.fixture(scope="module")
def run():
    with made_home() as home:
        home.environment |= {"MLFLOW_TRACKING_URI": f"sqlite:///{home.folder}/runs.db", "MLFLOW_DISABLE_TELEMETRY": "true"}
        home.run(REGISTERED, seconds=600)
        page = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.M | re.S))
        assert page.count("\nendpoint.close()\n") == 1
        program = HELP + page.replace("\nendpoint.close()\n", f"\n{OF_AREAS}endpoint.close()\n") + OTHERS
        yield home.run(program, seconds=600)


def test_the_page_shows_what_happens(run):
    shown = re.findall(r"^ *print\(.*  # (.*)$", PAGE.read_text(), flags=re.M)
    seen = [line for line in run.stdout.splitlines() if not line.startswith("REPORT ")]

    assert len(shown) == 3 and [re.sub(r":\d+:", ":PORT:", line) for line in seen] == [re.sub(r":\d+:", ":PORT:", line) for line in shown]


def test_a_model_takes_each_form_of_mlflows_protocol(run):
    assert [run.reports[form] for form in ("records", "inputs", "instances", "csv")] == [[200, '{"predictions": [12]}']] * 4
    assert run.reports["ping"] == [200, "\n"] and re.fullmatch(r"\d+\.\d+\.\d+.*", run.reports["version"][1])


def test_errors_are_mlflows_with_the_exceptions_words_and_no_traceback(run):
    status, error = run.reports["raised"]
    assert status == 400 and "ArithmeticError: a width is at least 0" in error["message"] and error["type"] == "ArithmeticError"
    assert {name: run.reports[name][0] for name in ("schema", "fields", "json", "xml")} == {"schema": 400, "fields": 400, "json": 400, "xml": 415}
    assert "Traceback" not in str(run.reports) and "stack_trace" not in str(run.reports)


def test_a_package_that_the_worker_lacks_is_named(run):
    status, error = run.reports["missing"]
    assert status == 503 and "models:/missing/1 needs the package no_such_package_here" in error["message"]
    assert run.reports["ping_missing"][0] == 503


def test_a_model_that_is_not_there_is_told(run):
    status, error = run.reports["nothing"]
    assert run.reports["start"]["type"] == "BadRequest" and "models:/nothing/1 cannot be loaded" in run.reports["start"]["text"]
    assert status == 503 and "not found" in error["message"]


def test_the_program_imports_nothing_of_mlflow(run):
    assert run.reports["imported"] is False
