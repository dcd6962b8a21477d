"""What a gang gives to the device of each of its ranks: on host memory here, where processes meet as GPUs do through NCCL."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

import numpy
import pounce
import pytest
from pounce.gangs import broadcasts


@pytest.fixture(scope="module")
def client():
    with pounce.Client(launcher="local") as client:
        yield client


@pytest.fixture
def gang(client):
    with client.gang(workers=3) as gang:
        yield gang


def seen(array):
    return numpy.from_dlpack(array).sum().item(), array.device, pounce.rank().rank


def test_each_rank_has_it_on_its_device(gang):
    array = numpy.arange(3_000_000)

    found = gang.run(seen, gang.scatter(array, broadcast=True))

    assert found == [(array.sum().item(), "host:0", rank) for rank in range(3)]


def test_a_model_is_the_same_on_all_ranks(gang):
    import torch  # not for all: a rank that is stopped in the middle of this import cannot import it again

    model = torch.nn.Linear(4, 2)

    found = gang.run(lambda its: its(torch.ones(4)).tolist(), gang.scatter(model, broadcast=True))

    assert found == [model(torch.ones(4)).tolist()] * 3


def test_the_next_one_goes_through_the_same_group(gang):
    def groups():
        from pounce._worker import rank_broadcast

        return [*rank_broadcast._groups]

    gang.scatter(numpy.ones(10), broadcast=True)
    before = gang.run(groups)
    gang.scatter(numpy.zeros(10), broadcast=True)

    assert gang.run(groups) == before
    assert len({name for names in before for name in names}) == 1


def test_the_memory_of_one_that_nobody_has_any_more_is_given_back_with_the_next(gang):
    def held():
        from pounce._worker import interpreter

        return interpreter.core.devices.held()["host:0"]

    kept = gang.scatter(numpy.zeros(1000, "u1"), broadcast=True)
    gang.scatter(numpy.zeros(50_000, "u1"), broadcast=True)
    gang.scatter(numpy.zeros(7, "u1"), broadcast=True)

    assert gang.run(held) == [1007] * 3
    assert gang.run(lambda array: array.nbytes, kept) == [1000] * 3


def test_after_a_rank_was_replaced_it_is_said_that_it_is_gone_and_it_is_scattered_again(gang):
    placed = gang.scatter(numpy.ones(10), broadcast=True)
    with pytest.raises(pounce.WorkerCrashed):
        gang.run(lambda: os.kill(os.getpid(), signal.SIGKILL) if pounce.rank().rank == 1 else None)

    with pytest.raises(pounce.LostError, match="not on this worker"):
        gang.run(seen, placed)

    assert [total for total, *_ in gang.run(seen, gang.scatter(numpy.ones(10), broadcast=True))] == [10.0] * 3


def rank_1_does_not_come():
    from pounce._worker import rank_broadcast

    rank_broadcast.usual = rank_broadcast._Group._came
    if pounce.rank().rank == 1:
        rank_broadcast._Group._came = lambda self: threading.Event().wait()


def all_come_again():
    from pounce._worker import rank_broadcast

    rank_broadcast._Group._came = rank_broadcast.usual


@pytest.mark.parametrize("step", ["join the group of devices", "the broadcast"])
def test_a_rank_that_does_not_come_is_named(client, monkeypatch, step):
    with client.gang(workers=2) as gang:
        if step == "the broadcast":
            gang.scatter(numpy.ones(3), broadcast=True)
        gang.run(rank_1_does_not_come)

        with monkeypatch.context() as hurried, pytest.raises(pounce.Timeout, match=f"rank 1 of 2 did not come to {step} in time") as late:
            hurried.setattr(broadcasts, "_JOIN_S", 1.0)
            gang.scatter(numpy.ones(3), broadcast=True)
        gang.run(all_come_again)

        assert late.value.context["missing"] == "1"
        assert len(gang.run(seen, gang.scatter(numpy.ones(3), broadcast=True))) == 2


def test_stopping_it_stops_all_ranks(home):
    run = home.run("""
        import signal, threading, numpy
        def late():
            from pounce._worker import rank_broadcast
            rank_broadcast.usual = rank_broadcast._Group._came
            if pounce.rank().rank == 1: rank_broadcast._Group._came = lambda self: threading.Event().wait()
        def usual():
            from pounce._worker import rank_broadcast
            rank_broadcast._Group._came = rank_broadcast.usual
        with pounce.Client() as client, client.gang(workers=2) as gang:
            gang.run(late)
            def stop_when_rank_0_waits():
                while not any(gang._broadcasts._came.values()): time.sleep(0.01)
                signal.raise_signal(signal.SIGINT)
            threading.Thread(target=stop_when_rank_0_waits, daemon=True).start()
            try:
                gang.scatter(numpy.ones(3), broadcast=True)
            except KeyboardInterrupt:
                gang.run(usual)
                placed = gang.scatter(numpy.ones(3), broadcast=True)
                report(again=gang.run(lambda array: float(array.numpy().sum()), placed))
    """)

    assert run.reports["again"] == [3.0, 3.0]


@pytest.mark.parametrize(("words", "said"), [
    ({"broadcast": True, "shard": 0}, "contradict each other"),
    ({"device": "host"}, "device= is for a broadcast"),
    ({"broadcast": True, "device": "gpu"}, "there is no device 'gpu'"),
])
def test_what_makes_no_sense_is_refused_with_a_remedy(gang, words, said):
    with pytest.raises(pounce.BadRequest, match=said) as refused:
        gang.scatter(numpy.ones(3), **words)

    assert refused.value.remedy


def test_what_has_no_array_is_refused(gang):
    with pytest.raises(pounce.BadRequest, match="there is no array in this dict"):
        gang.scatter({"a": 1}, broadcast=True)


def test_what_cannot_be_pickled_is_named_as_of_any_scatter(gang):
    with pytest.raises(pounce.NotPicklable, match=r"the value\['lock'\] is a lock"):
        gang.scatter({"array": numpy.ones(3), "lock": threading.Lock()}, broadcast=True)


def test_a_handle_of_data_on_a_device_is_no_ranks(client, gang):
    ref = client.scatter(numpy.ones(3), device="host")

    with pytest.raises(pounce.BadRequest, match="a device of its own"):
        gang.run(seen, ref)


def test_an_elastic_gang_has_no_broadcast(client):
    with client.gang(workers="1:2") as gang, pytest.raises(pounce.BadRequest, match="elastic gang"):
        gang.scatter(numpy.ones(3), broadcast=True)


def test_ranks_without_a_gpu_say_so(gang):
    with pytest.raises(pounce.DeviceUnavailable, match="no NVIDIA driver"):
        gang.scatter(numpy.ones(3), broadcast=True, device="cuda")

    assert gang.run(lambda: pounce.rank().rank) == [0, 1, 2]


# ---- CUDA, with libraries of ours ----


@pytest.fixture
def cuda(tmp_path, monkeypatch):
    """Workers find a CUDA runtime with four devices, and a NCCL."""
    built = Path(os.environ["POUNCE_BUILD_DIR"]) / "tests"
    (tmp_path / "libcudart.so.13").symlink_to(built / "libfake_cuda.so")
    (tmp_path / "libnccl.so.2").symlink_to(built / "libfake_nccl.so")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    with pounce.Client(launcher="local", imports="no") as client:
        yield client


def test_a_gang_on_gpus_has_it_on_its_gpu(cuda):
    with cuda.gang(workers=1) as gang:
        placed = gang.scatter(numpy.arange(1000), broadcast=True, device="cuda")

        assert gang.run(lambda array: (array.device, int(array.numpy().sum())), placed) == [("cuda:0", 499500)]


def test_two_ranks_with_one_gpu_are_named(client):
    ranks = broadcasts.Broadcasts(client._session)
    group = ranks.group("cuda", [], lambda: "g")
    for rank in range(2):
        ranks.came(group, rank, 1, "GPU-1234")

    failed = ranks.failed(group, pounce.DeviceFailed("Duplicate GPU detected"), 2)

    assert isinstance(failed, pounce.BadRequest)
    assert "ranks 0 and 1 would use one device, GPU-1234" in str(failed)


def test_ranks_of_one_machines_memory_share_it(client):
    ranks = broadcasts.Broadcasts(client._session)
    group = ranks.group("host", [], lambda: "g")
    for rank in range(2):
        ranks.came(group, rank, 1, "")
    error = pounce.DeviceFailed("something else")

    assert ranks.failed(group, error, 2) is error
