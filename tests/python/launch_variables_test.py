"""What a launcher writes into the environment belongs to the worker that had it, and to one run of a gang."""

from __future__ import annotations

import os
import pickle

import pytest
from pounce._worker import launch_variables
from pounce._worker.state import process_state

# torchrun's documentation names its own; Lightning's and accelerate's launchers write NODE_RANK and MASTER_*, Horovod's the rest.
OF_ONE_WORKER = (
    "MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "GROUP_WORLD_SIZE",
    "ROLE_RANK", "ROLE_WORLD_SIZE", "ROLE_NAME", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE", "NCCL_SOCKET_IFNAME",
    "GLOO_SOCKET_IFNAME", "NCCL_COMM_ID", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "SLURM_PROCID",
    "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "HOROVOD_LOCAL_RANK", "TMPDIR", "POUNCE_NODE")
OF_THE_PERSON = ("NCCL_DEBUG", "OMP_NUM_THREADS", "CUDA_LAUNCH_BLOCKING", "CUBLAS_WORKSPACE_CONFIG", "RANKING", "TORCH_HOME", "PL_GLOBAL_SEED",
                 "ACCELERATE_MIXED_PRECISION", "WORLD", "JAX_PLATFORMS", "MPLBACKEND", "PYTHONHASHSEED")


@pytest.mark.parametrize("name", OF_ONE_WORKER)
def test_it_is_one_workers(name):
    assert launch_variables.is_of_one_worker(name)


@pytest.mark.parametrize("name", OF_THE_PERSON)
def test_it_is_the_persons_and_goes_on_to_the_next_worker(name):
    assert not launch_variables.is_of_one_worker(name)


@pytest.fixture
def environment(monkeypatch):
    """Changes of it end with the test."""
    for name in (*OF_ONE_WORKER, *OF_THE_PERSON):
        monkeypatch.delenv(name, raising=False)
    before = dict(os.environ)
    yield os.environ
    os.environ.clear()
    os.environ.update(before)


def test_the_next_worker_has_its_own_devices_and_no_rendezvous_of_the_last_one(environment):
    """Training on the next worker waited for ranks at the address of the last one."""
    environment["CUDA_VISIBLE_DEVICES"] = "3"
    start = process_state.Baseline()
    environment.update(dict.fromkeys((*OF_ONE_WORKER, *OF_THE_PERSON), "of the last"))
    saved = process_state.taken(start)
    for name in (*OF_ONE_WORKER, *OF_THE_PERSON):
        del environment[name]
    environment["CUDA_VISIBLE_DEVICES"] = "5"

    assert process_state.Waiting(saved).put_back() == {}

    assert environment["CUDA_VISIBLE_DEVICES"] == "5" and not set(OF_ONE_WORKER) - {"CUDA_VISIBLE_DEVICES"} & set(environment)
    assert {environment[name] for name in OF_THE_PERSON} == {"of the last"}


def test_a_state_that_an_older_pounce_saved_brings_none_of_them_either(environment):
    older = {"environment": pickle.dumps({"MASTER_ADDR": "g1", "CUDA_VISIBLE_DEVICES": None, "MINE": "1"})}
    environment["CUDA_VISIBLE_DEVICES"] = "5"

    process_state.Waiting(pickle.dumps(older)).put_back()

    assert "MASTER_ADDR" not in environment and environment["CUDA_VISIBLE_DEVICES"] == "5" and environment["MINE"] == "1"


def test_what_runs_on_a_worker_after_a_gangs_run_finds_nothing_of_it(home):
    reports = home.run("""
        def launches(): os.environ.update(NODE_RANK="0", MASTER_PORT="1", CUDA_VISIBLE_DEVICES="7", HOROVOD_RANK="1", MINE="kept")
        def finds(): return {name: os.environ.get(name) for name in ("NODE_RANK", "CUDA_VISIBLE_DEVICES", "HOROVOD_RANK", "MINE")}
        def between():  # two runs, a rank is an ordinary worker: what it offers for the next one is a call
            from pounce._worker import rank_run
            seen = {}
            def offer(of=rank_run.offer):
                seen.update(RANK=os.environ.get("RANK"), MASTER_PORT=os.environ.get("MASTER_PORT"), NODE_RANK=os.environ.get("NODE_RANK"))
                return of()
            rank_run.offer = offer
            rank_run.seen = seen
        def seen():
            from pounce._worker import rank_run
            return rank_run.seen
        with pounce.Client() as client, client.gang(workers=2) as gang:
            gang.run(between), gang.run(launches)
            report(next=gang.run(finds), between=gang.run(seen), pids=gang.run(os.getpid) == gang.run(os.getpid))
    """).reports
    assert reports["next"] == [{"NODE_RANK": None, "CUDA_VISIBLE_DEVICES": None, "HOROVOD_RANK": None, "MINE": "kept"}] * 2
    assert reports["between"] == [{"RANK": None, "MASTER_PORT": None, "NODE_RANK": None}] * 2 and reports["pids"]
