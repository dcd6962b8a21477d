"""``%pounce explain JOB`` shows a lease or a batch run of this user as a script and Slurm commands."""

from __future__ import annotations

from .._batch import by_hand, run_folder
from .._batch.run_folder import RunFolder
from .._engine.submission import open_sessions
from ..batch_runs import export_sbatch
from ..errors import BadRequest
from ..lease import Lease, of_session


def by_hand_of(what: str) -> str:
    """`what` is the number of a job or the name of a batch run. Blocks for a question to Slurm about classes.

    Raises
    ------
    BadRequest
        There is neither; the message lists what there is.
    """
    leases = {str(lease.job): lease for lease in _leases() if lease.job}
    if what in leases:
        return by_hand.of_lease(leases[what].job, export_sbatch(leases[what]))
    runs = [run_folder.found(name) for name in run_folder.names()]
    run = next((run for run in runs if what in (str(run.job()), run.name)), None)
    if run is None:
        there = ", ".join([*leases, *(_words(run) for run in runs)]) or "nothing"
        raise BadRequest(f"{what} is no job of this notebook's and no batch run; there is: {there}")
    return by_hand.of_run(run.name, run.job(), run.script, run.script.read_text())


def _leases() -> list[Lease]:
    return [lease for session in open_sessions() for lease in of_session(session)]


def _words(run: RunFolder) -> str:
    return f"{run.name} (job {run.job()})" if run.job() else run.name
