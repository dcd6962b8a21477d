"""Objects to bytes and back: what travels, how, and what is said when it cannot."""

from __future__ import annotations

import pickle
import threading
import types

import numpy as np
import pytest
from pounce._common import cell_protocol, serialize
from pounce._common.ref import Ref


def there_and_back(value):
    data, buffers, objects = serialize.dumps(value)
    assert objects == []
    # As on the wire: writable copies of the buffers' bytes.
    return serialize.loads(data, [bytearray(buffer.raw()) for buffer in buffers])


@pytest.mark.parametrize("value", [None, 1, 2.5, "text", b"bytes", (1, [2, {"a": 3}]), {"k": (1, 2)}, 1j, {1, 2}])
def test_python_values_come_back_equal(value):
    assert there_and_back(value) == value


def test_an_array_travels_out_of_band_without_a_copy():
    array = np.arange(1000.0)

    data, buffers, _ = serialize.dumps({"a": array})

    assert len(data) < 300
    assert np.shares_memory(np.frombuffer(buffers[0], dtype=float), array)


def test_an_array_comes_back_writable():
    array = there_and_back(np.zeros(10))
    array[3] = 1

    assert array.sum() == 1


@pytest.mark.parametrize("array", [np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(10)[::2], np.array([object(), 1])[1:]])
def test_arrays_of_any_layout_come_back_equal(array):
    assert (there_and_back(array) == array).all()


def a_notebook():
    """A module like __main__ of a notebook: what it defines cannot be imported anywhere else."""
    main = types.ModuleType("__main__")
    exec("class Point:\n    def __init__(self, x): self.x = x\ndef double(p): return Point(2 * p.x)", main.__dict__)
    return main


def test_what_a_notebook_defines_goes_by_value():
    notebook = a_notebook()

    data, _, _ = serialize.dumps((notebook.double, notebook.Point(4)))

    double, point = serialize.loads(data)
    assert double(point).x == 8
    assert double.__globals__ is not notebook.__dict__


def test_what_can_be_imported_goes_by_reference():
    assert there_and_back(pickle.dumps) is pickle.dumps
    assert len(serialize.dumps(threading.Thread)[0]) < 60


def test_what_both_sides_of_a_cell_send_comes_back_equal():
    code = cell_protocol.CellCode("x = 1", 3, ("x",), "NoColor", "", {"<cell>": (1, "y = 2")})
    loop = cell_protocol.LoopState(0, 2, b"seeds", 5, "time")
    request = cell_protocol.CellRequest(code, cell_protocol.NamespaceRequest("a", "/saved/a", 2, 1), "holder", ["y"], setup=False, held=False,
                                        may_ask=True, may_leave=True, saves_at_limit=True, random=cell_protocol.CellRandom(states={"random": b"state"}), loop=loop)
    error = cell_protocol.CellError("ValueError", "no", ["line"], "node1", "GPU 0", None, b"")
    run = cell_protocol.CellRun(({"text/plain": "1"}, {}), [], ["x"], [], loop, error)
    reply = cell_protocol.CellReply(holder="holder", turn=2, namespace=cell_protocol.NamespaceReport(fresh=True), run=run, missing=["z"])

    assert there_and_back((request, reply)) == (request, reply)


def test_refs_become_places_in_the_list_of_objects():
    a, b = Ref("aa" * 16, 1, None), Ref("bb" * 16, 1, None)

    data, buffers, objects = serialize.dumps({"first": a, "nested": [b, (a,)]})

    assert objects == ["aa" * 16, "bb" * 16]
    value = serialize.loads(data, buffers, lambda index: f"value {index}")
    assert value == {"first": "value 0", "nested": ["value 1", ("value 0",)]}


def test_a_ref_means_nothing_outside_a_submit():
    with pytest.raises(TypeError, match="argument of submit"):
        pickle.dumps(Ref("aa" * 16, 1, None))


def test_pickling_inside_pickling_keeps_the_refs_apart():
    class Nested:
        def __reduce__(self):
            return bytes, (serialize.dumps([Ref("cc" * 16, 1, None)])[0],)

    _, _, objects = serialize.dumps([Ref("aa" * 16, 1, None), Nested()])

    assert objects == ["aa" * 16]


class Holder:
    def __init__(self):
        self.name = "fine"
        self.parts = {"deep": [1, threading.Lock()]}


def test_what_cannot_be_pickled_is_found_inside():
    path, part, _ = serialize.path_of_unpicklable((Holder(),), "argument 0")

    assert path == "argument 0[0].parts['deep'][1]"
    assert isinstance(part, type(threading.Lock()))


def test_a_captured_variable_is_named():
    lock = threading.Lock()

    path, _, _ = serialize.path_of_unpicklable(lambda: lock, "f")

    assert path == "f: variable lock"


def test_what_can_be_pickled_has_no_such_path():
    assert serialize.path_of_unpicklable([1, 2], "x") is None
