"""Values whose arrays go to a device of the worker: host memory here, and CUDA with a runtime of ours in NVIDIA's place."""

from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path

import numpy
import pytest
import torch
from conftest import made_home

import pounce
from pounce._common import arrays, device_pickle, serialize
from pounce._common.device_array import DeviceArray


@pytest.fixture(scope="module")
def client():
    with pounce.Client(launcher="local") as client:
        client.submit(int).result()
        yield client


def seen(array):
    """Of a DeviceArray, by way of what frameworks read."""
    taken = numpy.from_dlpack(array)
    return taken.tolist(), str(array.dtype), array.shape, array.strides, array.device


# ---- what arrives ----


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i8", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_an_array_of_any_number_is_the_same_on_the_device(client, dtype):
    array = numpy.arange(12).astype(dtype).reshape(3, 4)

    found = client.submit(seen, client.scatter(array, device="host")).result()

    assert found == (array.tolist(), array.dtype.name, (3, 4), array.strides, "host:0")


@pytest.mark.parametrize("array", [numpy.zeros(()), numpy.zeros((0, 3)), numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3)),
                                   numpy.arange(20)[::3], numpy.arange(24).reshape(2, 3, 4).transpose(1, 2, 0)],
                         ids=["no dimension", "no element", "column by column", "every third", "transposed"])
def test_an_array_of_any_shape_and_order_is_the_same_on_the_device(client, array):
    taken = client.submit(lambda placed: numpy.from_dlpack(placed), client.scatter(array, device="host")).result()

    numpy.testing.assert_array_equal(taken, array)


def test_what_a_task_returns_of_it_is_a_numpy_array_here(client):
    array = numpy.asfortranarray(numpy.arange(6.0).reshape(2, 3))

    back = client.submit(lambda placed: {"it": placed}, client.scatter(array, device="host")).result()["it"]

    assert type(back) is numpy.ndarray
    assert back.flags.f_contiguous
    numpy.testing.assert_array_equal(back, array)


def test_tensors_stay_tensors_and_a_model_stays_a_model(client):
    torch.manual_seed(0)
    value = {"model": torch.nn.Linear(3, 2), "half": torch.arange(5, dtype=torch.bfloat16), "none": torch.empty(0, 3), "flag": torch.tensor(True)}

    def used(placed):
        output = placed["model"](torch.ones(3))
        return output.tolist(), output.requires_grad, placed["half"].dtype, placed["half"].tolist(), placed["none"].shape, bool(placed["flag"])

    found = client.submit(used, client.scatter(value, device="host")).result()

    expected = value["model"](torch.ones(3)).tolist()
    assert found == (expected, True, torch.bfloat16, [0, 1, 2, 3, 4], (0, 3), True)


def test_all_tasks_of_a_worker_have_the_same_memory_of_the_device(client):
    ref = client.scatter(numpy.ones(300_000), device="host")

    first, second = (client.submit(lambda array: (os.getpid(), numpy.from_dlpack(array).__array_interface__["data"][0]), ref).result()
                     for _ in range(2))

    assert first == second


def test_a_handle_is_taken_on_the_device_too(client):
    array = numpy.arange(1000)
    ref = client.scatter(array)

    there = client.submit(lambda here, placed: (type(here).__name__, placed.device, int(here.sum()) - int(numpy.from_dlpack(placed).sum())),
                          ref, ref.on_device("host")).result()

    assert there == ("ndarray", "host:0", 0)
    assert ref.on_device("host") == client.scatter(array, device="host")


def test_its_memory_is_given_back_when_nobody_needs_it_any_more(client):
    def held():
        from pounce._worker import interpreter

        return interpreter.core.devices.held()["host:0"]

    ref = client.scatter(numpy.zeros(1_000_000), device="host")
    assert client.submit(lambda array, held: held(), ref, held).result() == 8_000_000

    del ref

    assert client.submit(held).result() == 0


class OnAGpu:
    """As a tensor there."""

    device = torch.device("cuda:0")

    def cpu(self):
        return torch.arange(3)


def test_a_tensor_on_a_device_that_a_task_returns_is_a_cpu_tensor_here(monkeypatch):
    monkeypatch.setitem(arrays._reducers, OnAGpu, arrays._tensor)

    pickled, buffers, _ = serialize.dumps({"it": OnAGpu()}, to_host=True)

    assert serialize.loads(pickled, buffers)["it"].tolist() == [0, 1, 2]


# ---- what cannot ----


@pytest.mark.parametrize(("value", "device", "said"), [
    (3, "host", "there is no array in this int"),
    (numpy.zeros(2), "gpu", "there is no device 'gpu'"),
    (numpy.zeros(2), "cuda:x", "there is no device 'cuda:x'"),
    (numpy.zeros(2), 1, "there is no device 1"),
    (numpy.array(["a"]), "host", "an array of <U1 cannot lie on a device"),
    (numpy.zeros(2, ">f4"), "host", "an array of >f4 cannot lie on a device"),
    (numpy.array([object()]), "host", "an array of object cannot lie on a device"),
    ([numpy.zeros(2), numpy.zeros(1, "M8[s]")], "host", "cannot lie on a device"),
    (torch.zeros(2).to_sparse(), "host", "cannot be sent to a device"),
])
def test_what_cannot_lie_on_a_device_is_refused_at_once(client, value, device, said):
    with pytest.raises(pounce.BadRequest, match=said) as refused:
        client.scatter(value, device=device)

    assert refused.value.remedy


def test_a_worker_without_a_gpu_says_so_and_goes_on(client):
    future = client.submit(seen, client.scatter(numpy.ones(3), device="cuda"))

    with pytest.raises(pounce.DeviceUnavailable, match="Ask for a GPU"):
        future.result()

    assert client.submit(int).result() == 0


def test_a_call_that_has_asked_for_a_gpu_is_not_told_to_ask_for_one():
    with made_home(stand_in_gpus=1) as home:
        error = home.run("""
            import numpy
            with pounce.Client(gpus=1) as client:
                try:
                    client.submit(id, client.scatter(numpy.ones(3), device="cuda")).result(60)
                except pounce.DeviceUnavailable as error:
                    report(text=str(error), remedy=error.remedy)
        """).reports
    assert "the lease has CPU standing in" in error["text"] and "gpus=" not in error["remedy"]


def test_one_that_the_worker_has_not_is_named(client):
    future = client.submit(seen, client.scatter(numpy.ones(3), device="host:77"))

    with pytest.raises(pounce.DeviceUnavailable, match="77"):
        future.result()


# ---- DeviceArray ----


class Memory:
    """As _core.DeviceMemory."""

    def __init__(self, array, device):
        self._array, self.device, self.nbytes = array, device, array.nbytes
        self.address = array.__array_interface__["data"][0]

    def read_into(self, into):
        memoryview(into).cast("B")[:] = memoryview(self._array.reshape(-1)).cast("B")


def test_cuda_array_interface_tells_where_it_lies_and_that_it_is_not_to_be_written():
    memory = Memory(numpy.arange(6, dtype="f4"), "cuda:1")

    told = DeviceArray(memory, "<f4", (2, 3)).__cuda_array_interface__

    assert told == {"version": 3, "shape": (2, 3), "typestr": "<f4", "data": (memory.address, True), "strides": (12, 4), "stream": None}


def test_host_memory_has_no_cuda_array_interface():
    assert not hasattr(DeviceArray(Memory(numpy.zeros(3), "host:0"), "<f8", (3,)), "__cuda_array_interface__")


def test_it_is_handed_over_only_where_it_lies_and_never_as_a_copy():
    array = DeviceArray(Memory(numpy.zeros(3), "cuda:1"), "<f8", (3,))

    with pytest.raises(BufferError):
        array.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        array.__dlpack__(dl_device=(1, 0))


def test_numpy_gets_a_copy_of_it():
    array = DeviceArray(Memory(numpy.arange(4), "cuda:0"), "<i8", (2, 2))

    assert numpy.asarray(array).tolist() == [[0, 1], [2, 3]]
    assert numpy.asarray(array, dtype="f4").dtype == "f4"
    with pytest.raises(ValueError, match="only as a copy"):
        array.__array__(copy=False)
    assert pickle.loads(pickle.dumps(array, 5)).tolist() == [[0, 1], [2, 3]]


def test_equal_values_for_two_devices_are_two_objects():
    array = numpy.arange(3)

    assert device_pickle.dumps(array, "cuda")[0] != device_pickle.dumps(array, "cuda:1")[0]


# ---- CUDA, with a runtime of ours ----


@pytest.fixture(scope="module")
def cuda(tmp_path_factory, request):
    """A client whose workers find a CUDA runtime with four devices of 64 MiB."""
    folder = tmp_path_factory.mktemp("cuda")
    (folder / "libcudart.so.13").symlink_to(Path(os.environ["POUNCE_BUILD_DIR"]) / "tests" / "libfake_cuda.so")
    patch = pytest.MonkeyPatch()
    request.addfinalizer(patch.undo)
    patch.setenv("LD_LIBRARY_PATH", str(folder))
    with pounce.Client(launcher="local") as client:
        yield client


def test_what_is_scattered_to_cuda_lies_in_its_memory_and_comes_back(cuda):
    array = numpy.arange(1_000_000.0)

    def told(placed):
        return placed.device, placed.__dlpack_device__(), placed.__cuda_array_interface__["data"][0] != 0, placed

    device, place, has_address, back = cuda.submit(told, cuda.scatter(array, device="cuda:2")).result()

    assert (device, place, has_address) == ("cuda:2", (2, 2), True)
    numpy.testing.assert_array_equal(back, array)


def test_a_worker_takes_nothing_of_a_gpu_that_nobody_asked_for(cuda):
    def loaded():
        return any("libcudart" in line or "fake_cuda" in line for line in open("/proc/self/maps"))

    with pounce.Client(launcher="local") as other:
        assert other.submit(loaded).result() is False


def test_what_does_not_fit_on_the_gpu_says_what_pounce_holds_of_it(cuda):
    kept = cuda.scatter(numpy.zeros(40 << 20, "u1"), device="cuda")
    cuda.submit(id, kept).result()

    with pytest.raises(pounce.OutOfMemory, match="no room for 30.0 MiB.*pounce holds 40.0 MiB") as full:
        cuda.submit(id, cuda.scatter(numpy.ones(30 << 20, "u1"), device="cuda")).result()

    assert kept.id[:8] in full.value.context["holders"]
    assert cuda.submit(lambda placed: placed.nbytes, kept).result() == 40 << 20


def test_calls_that_take_the_same_handle_at_once_have_it_there_once(cuda):
    ref = cuda.scatter(numpy.ones(20 << 20, "u1"), device="cuda:3")
    start = threading.Barrier(4)

    def submitted():
        start.wait()
        return cuda.submit(lambda placed: int(placed.numpy().sum()), ref).result()

    found = []
    threads = [threading.Thread(target=lambda: found.append(submitted())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [20 << 20] * 4


def test_a_driver_that_is_older_than_the_runtime_is_named(tmp_path, monkeypatch):
    (tmp_path / "libcudart.so.13").symlink_to(Path(os.environ["POUNCE_BUILD_DIR"]) / "tests" / "libfake_cuda.so")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))

    def have_old_driver():
        os.environ["FAKE_CUDA_DRIVER"] = "12040"

    with pounce.Client(launcher="local", imports="no") as client:
        client.submit(have_old_driver).result()
        with pytest.raises(pounce.DeviceUnavailable, match="12.4") as old:
            client.submit(id, client.scatter(numpy.ones(3), device="cuda")).result()

    assert old.value.remedy
