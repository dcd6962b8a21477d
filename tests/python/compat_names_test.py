"""The names that pounce.compat offers are the originals': compared with the real packages, where these are installed."""

from __future__ import annotations

import inspect
import signal
import subprocess
import sys

import pytest

from pounce.compat import dask as our_dask
from pounce.compat import submitit as our_submitit
from pounce.compat.dask import client, cluster, future, job_options, waiting
from pounce.compat.submitit import executor, job


def parameters(function) -> list[str]:
    return [name for name, one in inspect.signature(function).parameters.items() if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]


@pytest.mark.parametrize("name", ["submit", "scatter", "gather", "cancel"])
def test_a_call_of_dasks_client_has_the_originals_parameters(name):
    distributed = pytest.importorskip("distributed")

    assert set(parameters(getattr(distributed.Client, name))) <= set(parameters(getattr(client.Client, name)))


@pytest.mark.parametrize("name", ["result", "exception", "traceback", "cancel", "add_done_callback"])
def test_a_call_of_dasks_future_has_the_originals_parameters(name):
    distributed = pytest.importorskip("distributed")

    assert parameters(getattr(future.Future, name)) == parameters(getattr(distributed.Future, name))


def test_waiting_has_the_originals_parameters():
    distributed = pytest.importorskip("distributed")

    assert parameters(our_dask.wait) == parameters(distributed.wait)
    assert parameters(waiting.as_completed.__init__) == parameters(distributed.as_completed.__init__)


def test_each_public_name_of_dask_is_offered_or_has_a_sentence():
    distributed = pytest.importorskip("distributed")
    ours = {name for name in dir(client.Client) if not name.startswith("_")} | client._INSTEAD.keys()
    # For those who write schedulers, dashboards and plugins.
    inner = {"amm", "asynchronous", "as_current", "benchmark_hardware", "dump_cluster_state", "futures_of", "get_metadata", "loop", "nthreads",
             "normalize_collection", "retire_workers", "set_metadata", "start", "story", "subscribe_topic", "sync", "unforward_logging",
             "unregister_scheduler_plugin", "unregister_worker_plugin", "unsubscribe_topic", "write_scheduler_file"}

    assert {name for name in dir(distributed.Client) if not name.startswith("_")} - ours - inner == set()
    assert {name for name in dir(distributed.Future) if not name.startswith("_")} - set(dir(future.Future)) - future._INSTEAD.keys() <= {
        "client", "key", "substitute"}


def test_each_keyword_of_the_original_cluster_is_known(monkeypatch):
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # dask_jobqueue.runner takes SIGINT when it is imported, and keeps it
    core = pytest.importorskip("dask_jobqueue.core")
    slurm = pytest.importorskip("dask_jobqueue.slurm")
    theirs = {name for made in (core.JobQueueCluster, core.Job, slurm.SLURMJob) for name in parameters(made.__init__)} - {"self"}
    ours = set(parameters(job_options.options_of_job)) | job_options.IGNORED | job_options.REFUSED.keys() | set(parameters(cluster.SLURMCluster))

    assert theirs - ours == set()


def test_a_job_and_an_executor_of_submitit_have_the_originals_names():
    submitit = pytest.importorskip("submitit")
    of_job = {name for name in dir(submitit.Job) if not name.startswith("_")}

    assert of_job - set(dir(job.Job)) - job._INSTEAD.keys() - {"job_id", "paths"} == set()
    assert {"submit", "map_array", "submit_array", "batch", "update_parameters"} <= set(dir(executor.AutoExecutor))
    assert parameters(executor.AutoExecutor.__init__)[:3] == parameters(submitit.AutoExecutor.__init__)[:3]
    assert parameters(our_submitit.helpers.CommandFunction.__init__) == parameters(submitit.helpers.CommandFunction.__init__)
    assert {name for name in dir(submitit) if name[0].isupper()} - set(our_submitit.__all__) - our_submitit._INSTEAD.keys() == set()


@pytest.mark.parametrize("line, instead", [
    ("from pounce.compat.dask import LocalCluster", "SLURMCluster is"),
    ("from pounce.compat.dask import Nanny", "its scale() and adapt() say"),
    ("from pounce.compat.dask import Lock", "pass them as arguments"),
    ("from pounce.compat.submitit import DebugExecutor", "cluster='local'"),
    ("from pounce.compat.submitit import LocalJob", "Job is"),
    ("from pounce.compat.submitit.helpers import RsyncSnapshot", "travels with the call"),
])
def test_a_name_that_is_not_offered_is_an_import_error_that_names_what_is(line, instead):
    with pytest.raises(ImportError) as refused:
        exec(line)

    assert line.split()[-1] in str(refused.value) and instead in str(refused.value)


def test_a_name_that_nobody_has_is_an_ordinary_attribute_error():
    with pytest.raises(AttributeError):
        our_dask.no_such_name
    with pytest.raises(AttributeError):
        our_submitit.no_such_name
    assert not hasattr(our_submitit.helpers, "no_such_name")


def test_nothing_of_the_originals_is_imported_before_the_program_asks_for_it():
    program = """
import sys
import pounce.compat.dask, pounce.compat.submitit
from pounce.compat.submitit import AutoExecutor, helpers
print(sorted({"dask", "distributed", "submitit", "joblib", "numpy"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
