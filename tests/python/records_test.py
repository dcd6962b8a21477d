"""Values of C++ as Python sees them: records with the names and types of their tables, and the stub that is made of _core."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest
from pounce import _core
from pounce._engine.options import Options

ROOT = Path(__file__).resolve().parents[2]
STUB = runpy.run_path(str(ROOT / "python/bindings/make_stub.py"))["stub"](_core)
CLASSES = {node.name: node for node in ast.parse(STUB).body if isinstance(node, ast.ClassDef)}
RECORDS = {name: kind for name, kind in vars(_core).items() if hasattr(kind, "_fields")}
METHODS = [(name, member) for name, kind in vars(_core).items() if isinstance(kind, type) and name not in RECORDS
           for member, value in vars(kind).items() if callable(value) and not member.startswith("_")]


def test_the_build_has_written_the_stub_beside_the_sources():
    assert (ROOT / "python" / "pounce" / "_core.pyi").read_text() == STUB


@pytest.mark.parametrize("record", RECORDS)
def test_the_stub_has_each_field_of_the_table(record):
    lines = [line for line in CLASSES[record].body if isinstance(line, ast.AnnAssign)]

    stubbed = [(ast.unparse(line.target), ast.unparse(line.annotation)) for line in lines]

    assert [name for name, _ in stubbed] == list(RECORDS[record]._fields)
    assert stubbed == list(RECORDS[record].__annotations__.items())


@pytest.mark.parametrize(("kind", "method"), METHODS)
def test_each_binding_says_its_signature(kind, method):
    stubbed = [node.name for node in CLASSES[kind].body if isinstance(node, ast.FunctionDef)]

    assert method in stubbed, "its .def has no text that begins with a signature"


def test_no_binding_returns_a_tuple_of_places():
    sources = "".join(path.read_text() for path in (ROOT / "python/bindings").glob("*"))

    assert "make_tuple" not in sources and "tuple[" not in STUB.replace("ERROR_CODES: tuple[ErrorCode, ...]", "")


def test_a_record_has_the_structs_defaults():
    assert _core.Resources().workers == 1 and _core.Resources().placement == "any" and _core.Resources().slurm == {}
    assert _core.LeaseStatus().ahead == -1 and _core.LeaseStatus().eta is None
    assert Options().resources == _core.Resources()


def test_times_are_in_seconds_and_class_has_a_name_that_python_can_say():
    assert "end_time" in _core.LeaseStatus._fields and "class_" in _core.LeaseStatus._fields
    assert _core.Timings.__annotations__["run"] == "float" and _core.QueueRow.__annotations__["submit_time"] == "int"


@pytest.mark.parametrize("wrong", [{"gpus": "two"}, {"gpus": -1}, {"time_min": 1.5}, {"slurm": "constraint"}, {"class_": 3}])
def test_a_value_of_another_kind_is_refused_by_the_fields_name(home, wrong):
    (name,) = wrong
    done = home.run(f"""
        from pounce import _core
        with pounce.Client(launcher="local") as client:
            try:
                client._session.core.request(_core.Resources(**{wrong!r}))
            except TypeError as error:
                report(text=str(error))
    """)

    assert done.reports["text"].startswith(f"Resources.{name} does not take ")


def test_a_record_of_too_few_values_is_refused(home):
    done = home.run("""
        from pounce import _core
        with pounce.Client(launcher="local") as client:
            try:
                client._session.core.request(tuple.__new__(_core.Resources, ("lion",)))
            except TypeError as error:
                report(refused="incompatible" in str(error))
    """)

    assert done.reports == {"refused": True}


def test_what_is_no_record_is_refused(home):
    done = home.run("""
        with pounce.Client(launcher="local") as client:
            try:
                client._session.core.request(("lion", 1, "a100"))
            except TypeError as error:
                report(refused="incompatible" in str(error))
    """)

    assert done.reports == {"refused": True}
