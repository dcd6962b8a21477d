"""The commands that do by hand what pounce requested from Slurm, for a user who goes on without it. Pure."""

from __future__ import annotations

import shlex
from pathlib import Path


def of_run(name: str, job: int, script: Path, text: str) -> str:
    which = f"--me --name={shlex.quote(name)}"
    what = f"batch run {name}: " + (f"job {job}" if job else "not submitted")
    submit = f"sbatch {shlex.quote(str(script))}"
    return _lines(what, submit, job or which, f"--jobs={job}" if job else which, f"{script}:", text)


def of_lease(job: int, text: str) -> str:
    """`text`: its script, for a command that the user names."""
    return _lines(f"job {job}: a lease of this notebook", f"sbatch lease-{job}.sbatch COMMAND", job, f"--jobs={job}",
                  f"lease-{job}.sbatch, to be saved under this name:", text)


def _lines(what: str, submit: str, job: int | str, jobs: str, script: str, text: str) -> str:
    return f"{what}. By hand it is\n  {submit}\n  squeue {jobs}\n  scancel {job}\n{script}\n\n{text}"
