"""``AutoExecutor``: functions as jobs that outlive the kernel."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ... import DetachedFuture
from ..._engine import seeds
from ...errors import BadRequest
from ...shared_client import shared_client
from .. import not_offered
from .array import Array
from .helpers import DelayedSubmission
from .job import Job
from .parameters import options_of
from .paths import folder_of

# submitit's defaults.
_AHEAD_S = 90          # a Checkpointable keeps its state so long before the end of its time
_RUNS_AGAIN = 3        # further runs of a Checkpointable whose time was over
_AT_A_TIME = 256       # jobs of one array
_OF_EXECUTOR = {
    **dict.fromkeys(("slurm_python", "local_python"), "Leave it out: workers have the notebook's own Python."),
    "slurm_use_srun": "Leave it out: pounce starts its workers without srun.",
}


class AutoExecutor:
    """Submits functions as jobs. Each has a lease of its own, which is released when the function has ended.

    Parameters
    ----------
    folder : path
        For the jobs' output files, ``<job_id>_0_log.out`` and ``.err``; ``%j`` in it is the job's id.
    cluster : {"slurm", "local"}, optional
        By default Slurm where there is one, else processes of this machine.
    slurm_max_num_timeout : int
        How often a ``Checkpointable`` may run again after its worker was lost: its time was over, or it was preempted.

    Examples
    --------
    >>> from pounce.compat import submitit
    >>> executor = submitit.AutoExecutor(folder="logs")
    >>> executor.update_parameters(timeout_min=5, cpus_per_task=1)
    >>> executor.submit(pow, 2, 10).result()
    1024
    """

    def __init__(self, folder: str | os.PathLike[str], cluster: str | None = None,
                 slurm_max_num_timeout: int = _RUNS_AGAIN, **keywords: Any):
        if cluster not in (None, "slurm", "local"):
            raise BadRequest(f"cluster= is 'slurm', 'local' or None, not {cluster!r}",
                             "Write cluster='local', or call the function.")
        not_offered.unknown_keywords("AutoExecutor", keywords, _OF_EXECUTOR)
        self.folder, self.cluster = folder, cluster
        self._runs_again = slurm_max_num_timeout
        self._parameters: dict[str, Any] = {}
        self._options: dict[str, Any] = {}
        self._batch: list[tuple[Job, Callable[[], DetachedFuture]]] | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters from ``update_parameters``."""
        return dict(self._parameters)

    def update_parameters(self, **parameters: Any) -> None:
        """Sets parameters of later jobs. Parameters that are not named keep their values.

        Parameters
        ----------
        timeout_min : int (minutes)
        mem_gb : float
        cpus_per_task, gpus_per_node : int
        name : str
            The beginning of each job's id.
        slurm_array_parallelism : int
            How many jobs of one array are submitted at a time, by default 256. The others wait in this kernel; if it
            ends too early, it says how many are lost.
        slurm_signal_delay_s : int (seconds)
            How long before the end of its time a ``Checkpointable`` keeps its state.
        stderr_to_stdout : bool
        slurm_* : any
            Other options of sbatch: ``slurm_constraint=``, ``slurm_account=``,
            ``slurm_additional_parameters={"gres": "gpu:1"}``.

        Raises
        ------
        BadRequest
            A parameter without an equivalent, by its name, with what to write instead.
        """
        changed = {**self._parameters, **parameters}
        options = options_of(changed)
        shared_client(self._launcher).options(**options)  # checks the type of each value
        self._parameters, self._options = changed, options

    def submit(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Job:
        """One job. Inside ``with executor.batch()`` it is submitted at the end of the block, with the others."""
        return self._submit(DelayedSubmission(fn, *args, **kwargs))

    def map_array(self, fn: Callable[..., Any], *iterable: Iterable[Any]) -> list[Job]:
        """One job for each item, at most ``slurm_array_parallelism`` at a time."""
        return self.submit_array([DelayedSubmission(fn, *row) for row in zip(*iterable, strict=False)])

    def submit_array(self, fns: Iterable[Any]) -> list[Job]:
        """One job for each function without arguments, likewise."""
        with contextlib.nullcontext() if self._batch is not None else self.batch():
            return [self._submit(fn if isinstance(fn, DelayedSubmission) else DelayedSubmission(fn)) for fn in fns]

    @contextlib.contextmanager
    def batch(self, allow_implicit_submissions: bool = False) -> Iterator[None]:
        """Jobs submitted inside the block are one array. If the block fails, none of them is submitted."""
        if self._batch is not None:
            raise BadRequest("a batch is open already", "Submit within it.")
        batch: list[tuple[Job, Callable[[], DetachedFuture]]] = []
        self._batch = batch
        try:
            yield
        finally:
            self._batch = None
        Array(batch, int(self._parameters.get("slurm_array_parallelism") or _AT_A_TIME))

    @property
    def _launcher(self) -> str | None:
        return self.cluster if self.cluster == "local" else None

    def _submit(self, submission: DelayedSubmission) -> Job:
        name = self._parameters.get("name") or self._parameters.get("slurm_job_name") or "submitit"
        job_id = f"{_word(name)}-{os.urandom(4).hex()}"
        folder = folder_of(self.folder, job_id)
        os.makedirs(folder, exist_ok=True)
        submit = self._call(job_id, folder, submission)
        if self._batch is None:
            return Job(folder, job_id, _future=submit())
        job = Job(folder, job_id, _waits=True)
        job.in_batch(True)
        self._batch.append((job, submit))
        return job

    def _call(self, job_id: str, folder: str, submission: DelayedSubmission) -> Callable[[], DetachedFuture]:
        from .on_worker import Work, run

        parameters, options, client = self._parameters, self._options, shared_client(self._launcher)
        one_file = bool(parameters.get("stderr_to_stdout") or parameters.get("slurm_stderr_to_stdout"))
        work = Work(job_id, folder, one_file, float(parameters.get("slurm_signal_delay_s") or _AHEAD_S), submission)
        retries = self._runs_again if hasattr(submission.function, "checkpoint") else 0

        streams = seeds.of_call(submission.function)

        def submit() -> DetachedFuture:
            with seeds.given(streams):
                future = client.options(**options, name=job_id).submit(run, work, retries=retries)
            assert isinstance(future, DetachedFuture)
            return future

        return submit

    def __repr__(self) -> str:
        return f"AutoExecutor(folder={os.fspath(self.folder)!r}, cluster={self.cluster!r})"


def _word(name: str) -> str:
    """`name` with only the characters that a task's name may have."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", name).lstrip("._-")[:48] or "submitit"
