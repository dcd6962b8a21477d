"""Values of C++ as Python sees them: records, whose names and types the stub has as the tables have them.

`python tests/python/records_test.py` writes the fields of every record anew into the stub, as the built _core has them.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from pounce import _core
from pounce._engine.options import Options

STUB = Path(__file__).resolve().parents[2] / "python/pounce/_core.pyi"
RECORDS = {name: kind for name, kind in vars(_core).items() if hasattr(kind, "_fields")}


def stubbed(record: str) -> dict[str, str]:
    """The fields that the stub gives this record, with their types."""
    (kind,) = (node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ClassDef) and node.name == record)
    return {line.target.id: ast.unparse(line.annotation) for line in kind.body if isinstance(line, ast.AnnAssign)}


def renewed(stub: str) -> str:
    """The stub with the records' fields of today. Notes behind fields stay."""
    for record, kind in RECORDS.items():
        written = re.search(rf"^class {record}\(NamedTuple\):\n((?:    \w+: .*\n)*)", stub, re.MULTILINE)
        if written is None:
            continue
        notes = dict(re.findall(r"^    (\w+): .*? = \.\.\.(  #.*)$", written[1], re.MULTILINE))
        fields = "".join(f"    {name}: {type_} = ...{notes.get(name, '')}\n" for name, type_ in kind.__annotations__.items())
        stub = stub[: written.start(1)] + fields + stub[written.end(1) :]
    return stub


@pytest.mark.parametrize("record", RECORDS)
def test_the_stub_names_each_field_of_the_table(record):
    fields = RECORDS[record].__annotations__

    assert list(fields) == list(RECORDS[record]._fields)
    assert list(stubbed(record).items()) == list(fields.items()), "renew the stub: python tests/python/records_test.py"


def test_a_field_that_the_stub_lacks_or_has_otherwise_is_written_into_it():
    stub = STUB.read_text()
    (line,) = (line for line in stub.splitlines(keepends=True) if line.startswith("    gpu_memory_mib: "))

    assert renewed(stub) == stub
    assert renewed(stub.replace(line, "")) == renewed(stub.replace(line, "    gpu_memory_mib: str = ...\n")) == stub


def test_the_stub_names_each_record_and_no_other():
    named = [node.name for node in ast.parse(STUB.read_text()).body
             if isinstance(node, ast.ClassDef) and any(isinstance(base, ast.Name) and base.id == "NamedTuple" for base in node.bases)]

    assert named == list(RECORDS) and len(named) > 20


def test_no_binding_returns_a_tuple_of_places():
    sources = "".join(path.read_text() for path in (STUB.parents[1] / "bindings").glob("*"))

    assert "make_tuple" not in sources and "tuple[" not in STUB.read_text().replace("ERROR_CODES: tuple[ErrorCode, ...]", "")


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


def test_what_is_no_record_is_refused(home):
    done = home.run("""
        with pounce.Client(launcher="local") as client:
            try:
                client._session.core.request(("lion", 1, "a100"))
            except TypeError as error:
                report(refused="incompatible" in str(error))
    """)

    assert done.reports == {"refused": True}


if __name__ == "__main__":
    STUB.write_text(renewed(STUB.read_text()))
