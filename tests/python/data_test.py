"""Data of every kind arrives equal, and its memory travels out of band: the pickle itself stays small."""

from __future__ import annotations

import numpy as np
import pytest
from pounce._common import serialize

N = 300_000
SMALL = 4_000  # bytes of a pickle whose data is elsewhere


def there_and_back(value):
    """(the value again, the size of its pickle, its buffers) as on the wire: writable copies of the buffers' bytes."""
    data, buffers, objects = serialize.dumps(value)
    assert objects == []
    return serialize.loads(data, [bytearray(buffer.raw()) for buffer in buffers]), len(data), buffers


def read_only(array):
    array.flags.writeable = False
    return array


ARRAYS = {
    "of every second": lambda: np.arange(2 * N)[::2],
    "backwards": lambda: np.arange(N)[::-1],
    "in Fortran's order": lambda: np.asfortranarray(np.random.default_rng(1).random((600, 500))),
    "a transposed slice": lambda: np.arange(N * 1.0).reshape(600, 500)[::2].T,
    "broadcast": lambda: np.broadcast_to(np.arange(1000), (300, 1000)),
    "read-only": lambda: read_only(np.arange(N)),
    "half precision": lambda: np.ones(N, "f2"),
    "big-endian": lambda: np.arange(N, dtype=">i4"),
    "complex": lambda: np.ones(N, "c16") * 1j,
    "truths": lambda: np.arange(N) % 3 == 0,
    "texts": lambda: np.array(["pounce", "größer"] * N),
    "structured": lambda: np.array([(1, 2.5), (3, 4.5)] * N, dtype=[("a", "i4"), ("b", "f8")]),
    "dates": lambda: np.arange(N).astype("M8[s]"),
    "spans of time": lambda: np.arange(N).astype("m8[ns]").reshape(600, 500).T,
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_travel_out_of_band(kind):
    array = ARRAYS[kind]()

    again, size, buffers = there_and_back({"x": [array]})

    again = again["x"][0]
    assert size < SMALL and len(buffers) == 1
    assert again.dtype == array.dtype and again.shape == array.shape and np.array_equal(again, array)


@pytest.mark.parametrize("array", [np.zeros((0, 5)), np.array(5.0), np.array([1, "a", None], dtype=object), np.zeros((0, 2))[:, ::2],
                                   np.ma.masked_array([1, 2], [0, 1]), np.zeros(3, dtype=[("a", "i4")]).view(np.recarray)])
def test_unusual_arrays_come_back_as_what_they_were(array):
    again, _, _ = there_and_back(array)

    assert type(again) is type(array) and again.dtype == array.dtype and again.shape == array.shape
    assert np.array_equal(again, array)


def test_an_array_in_a_file_arrives_as_one_in_memory(tmp_path):
    array = np.memmap(tmp_path / "array", dtype="f8", shape=(N,), mode="w+")
    array[:] = np.arange(N)

    again, size, buffers = there_and_back(array)

    assert size < SMALL and len(buffers) == 1 and type(again) is np.ndarray and np.array_equal(again, array)


def test_tensors_that_share_memory_share_it_there():
    torch = pytest.importorskip("torch")
    whole = torch.zeros(N)

    (again, part, view), size, buffers = there_and_back((whole, whole[10:20], {"v": whole.view(600, 500)}))
    again[15] = 7

    assert size < SMALL and len(buffers) == 1
    assert part[5] == 7 and view["v"][0, 15] == 7


TENSORS = {
    "of every second": lambda torch: torch.arange(2.0 * N)[::2],
    "in brain floats": lambda torch: torch.arange(N).to(torch.bfloat16),
    "with a gradient": lambda torch: torch.ones(N, requires_grad=True),
    "without elements": lambda torch: torch.empty(0, 3),
    "a single number": lambda torch: torch.tensor(3),
    "sparse": lambda torch: torch.eye(3).to_sparse(),
    "conjugated": lambda torch: torch.full((3,), 1j).conj(),
}


@pytest.mark.parametrize("kind", TENSORS)
def test_tensors_come_back_equal(kind):
    torch = pytest.importorskip("torch")
    tensor = TENSORS[kind](torch)

    again, size, _ = there_and_back(tensor)

    assert size < SMALL
    assert again.dtype == tensor.dtype and again.requires_grad == tensor.requires_grad and again.layout == tensor.layout
    assert torch.equal(again.to_dense() if again.is_sparse else again, tensor.to_dense() if tensor.is_sparse else tensor)


def test_a_model_with_tied_weights_keeps_them_tied():
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(500, 500), torch.nn.Linear(500, 500))
    model[1].weight = model[0].weight

    again, size, buffers = there_and_back(model)

    assert size < 2 * SMALL and sum(buffer.raw().nbytes for buffer in buffers) < 1_100_000
    assert again[0].weight is again[1].weight and torch.equal(again(torch.ones(500)), model(torch.ones(500)))


def test_a_table_of_pandas_travels_out_of_band():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"n": np.arange(N), "x": np.arange(N) / 3, "when": pandas.date_range("2026", periods=N, freq="s"),
                              "what": pandas.Categorical(["a", "b"] * (N // 2)), "text": ["pounce"] * N})

    again, size, buffers = there_and_back(table)

    assert size < SMALL and len(buffers) >= 5
    pandas.testing.assert_frame_equal(again, table)
    again.loc[3, "x"] = 1.0  # a copy of one's own, as any


def test_a_table_of_arrow_travels_out_of_band():
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table({"n": np.arange(N), "text": ["pounce"] * N, "lists": [[1, 2]] * N})

    again, size, buffers = there_and_back(table)

    assert size < SMALL and len(buffers) >= 4 and again.equals(table)


def test_a_table_of_polars_comes_back_equal():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"n": np.arange(N), "text": ["pounce"] * N})

    again, _, _ = there_and_back(table)

    assert again.equals(table)


@pytest.mark.parametrize("kind", ["csr_array", "coo_matrix", "csc_array"])
def test_sparse_matrices_travel_out_of_band(kind):
    sparse = pytest.importorskip("scipy.sparse")
    matrix = getattr(sparse, kind)(sparse.random(2000, 2000, 0.05, random_state=1))

    again, size, buffers = there_and_back(matrix)

    assert size < SMALL and buffers and (again != matrix).nnz == 0 and type(again) is type(matrix)


def test_a_worker_sees_what_was_sent_and_sends_it_back_as_it_is(home):
    run = home.run("""
        import numpy as np, pandas, pyarrow, polars, torch, scipy.sparse
        def look(values):
            arrays, tensors = values["arrays"], values["tensors"]
            arrays[0][0] = 99
            tensors[0][0] = 99
            return values, float(tensors[1][0]), arrays[1].dtype.str
        n = 200_000
        a, t = np.arange(n), torch.arange(n * 1.0)
        values = dict(arrays=[a, a[::2].astype("M8[s]")], tensors=[t, t[:10]], table=pandas.DataFrame({"a": a}),
                      arrow=pyarrow.table({"a": a}), polars=polars.DataFrame({"a": a}), sparse=scipy.sparse.eye(1000).tocsr())
        with pounce.Client() as client:
            back, shared, dtype = client.submit(look, values).result(80)
        report(mine=[int(a[0]), float(t[0])], theirs=[int(back["arrays"][0][0]), float(back["tensors"][0][0])])
        report(shared=shared, dtype=dtype, dates=np.array_equal(back["arrays"][1], values["arrays"][1]))
        report(equal=[back[name].equals(values[name]) for name in ("table", "arrow", "polars")])
        report(sparse=(back["sparse"] != values["sparse"]).nnz)
        back["tensors"][0][5] = 1
        report(still_shared=float(back["tensors"][1][5]))
    """)

    assert run.reports == {"mine": [0, 0.0], "theirs": [99, 99.0], "shared": 99.0, "dtype": "<M8[s]", "dates": True, "equal": [True] * 3,
                           "sparse": 0, "still_shared": 1.0}


# The client's beats have their turn meanwhile, or its lease would be taken away as a dead one's.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("home", [{"orphan_grace_s": 4, "heartbeat_ms": 500}], indirect=True)
def test_more_than_two_gibibytes_travel_both_ways(home):
    run = home.run("""
        import numpy as np
        def make(size):
            import numpy as np
            data = np.zeros(size, dtype=np.uint8)
            data[-1] = 7
            return data
        with pounce.Client() as client:
            data = client.submit(make, 2**31 + 8).result(280)
            report(size=data.nbytes, last=int(data[-1]), there=client.submit(lambda data: (data.nbytes, int(data[-1])), data).result(280))
    """, seconds=580)

    assert run.reports == {"size": 2**31 + 8, "last": 7, "there": [2**31 + 8, 7]}


def test_results_of_many_buffers_arrive(home):
    home.run("""
        import numpy as np
        def arrays(count, size): return [np.ones(size) for _ in range(count)]
        with pounce.Client() as client:
            for count, size in ((1021, 10), (1022, 10), (1023, 10), (1100, 0), (1100, 40_000)):
                assert [a.sum() for a in client.submit(arrays, count, size).result()] == [size] * count, (count, size)
    """)


def test_results_that_are_kept_cost_no_descriptors_and_are_nobody_elses(home):
    run = home.run("""
        import numpy as np
        def array(value): return np.full(300_000, value)
        def descriptors(): return len(os.listdir("/proc/self/fd"))
        with pounce.Client() as client:
            kept = [client.submit(array, 0).result()]
            before = descriptors()
            kept += [client.submit(array, value).result() for value in range(1, 30)]
            report(more=descriptors() - before)

            seen, told = os.pipe()
            go, gone = os.pipe()
            child = os.fork()
            if child == 0:
                kept[0][:10] = 7
                os.read(go, 1)
                os.write(told, b"%d" % int(sum(int((array != value).sum()) for value, array in enumerate(kept))))
                os._exit(0)
            changed = int(kept[0].sum())
            del kept
            for value in range(100, 130):
                client.submit(array, value).result()
            os.write(gone, b".")
            os.waitpid(child, 0)
            report(changed=changed, in_the_child=int(os.read(seen, 100)))
    """)

    assert run.reports["more"] <= 2
    assert run.reports["changed"] == 0, "what a forked child writes is its own"
    assert run.reports["in_the_child"] == 10, "what the parent gets afterwards does not lie where the child looks"


def test_an_argument_of_many_megabytes_needs_nobody_to_look_after_it(home):
    """It is copied step by step; each step but the first once waited for the next beat, two seconds later."""
    run = home.run("""
        import numpy as np
        with pounce.Client() as client:
            client.submit(abs, 1).result()
            array, took = np.ones(160 * 2**20, np.uint8), []
            for number in range(5):
                array[0] = number
                future = client.submit(len, array)
                future.result()
                took.append(future.timings()["send"])
            report(least=min(took))
    """)

    assert run.reports["least"] < 1
