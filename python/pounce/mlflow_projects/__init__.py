"""The backends "pounce" and "slurm" of MLflow's projects: ``mlflow run --backend pounce DIR`` is one job of Slurm.

MLflow finds them by the entry points of its group ``mlflow.project_backend``. Nothing else in pounce imports MLflow,
and this package only inside these functions.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

_GROUP = "mlflow.project_backend"


def backend() -> Any:
    """What MLflow calls for ``--backend pounce``."""
    from .launch import PounceBackend

    return PounceBackend()


def slurm_backend() -> Any:
    """For ``--backend slurm``: the other plugin of that name where one is installed, else pounce."""
    others = [found for found in entry_points(group=_GROUP, name="slurm") if not found.value.startswith(__name__)]
    return others[0].load()() if others else backend()
