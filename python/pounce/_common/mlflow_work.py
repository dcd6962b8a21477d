"""What cells and calls bring to a worker for MLflow, and what a cell brings back. Neither imports MLflow there."""

from __future__ import annotations

from dataclasses import dataclass, field

BEGUN = "pounce_mlflow_run"  # the kind of message with the id of a run that a call has begun
# The kind of message with which a worker requests the notebook's secrets for MLflow; they come under the same name.
SECRETS = "pounce_mlflow_secrets"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a cell or a call comes from, for the tags of its run."""

    source: str = ""  # the notebook's path, or the script's; empty: there is neither
    cell: int = 0  # of a notebook
    commit: str = ""  # of the script's repository
    job_class: str = ""  # that the call asked for
    run: str = ""  # the id of the run that is active there: a worker need not import MLflow to know it
    record: str = ""  # the name of the call's record (_record/store.py); empty: it has none
    rerun_of: str = ""  # the run that the call repeats
    name: str = ""  # of a task with a name: that of a run that it begins
    parent: str = ""  # the run below which such a run is

    def source_tags(self) -> dict[str, str]:
        """Those of a run that MLflow's pages show as its source; empty where nothing is known of it."""
        if not self.source:
            return {}
        named = {"mlflow.source.name": f"{self.source}, cell {self.cell}" if self.cell else self.source,
                 "mlflow.source.type": "NOTEBOOK" if self.cell else "LOCAL",
                 "mlflow.source.git.commit": self.commit}
        return {name: value for name, value in named.items() if value}


@dataclass(frozen=True, slots=True)
class CallRuns:
    """What a call logs into: the runs that were active where it was submitted, the innermost last."""

    runs: list[bytes]
    origin: Origin
    variables: dict[str, str] = field(default_factory=dict)  # MLflow's, for a task without the notebook's environment


@dataclass(frozen=True, slots=True)
class MlflowState:
    """What a cell left: the notebook goes on with it, as if the cell had run there."""

    options: bytes  # pickled one by one (settings.setting.packed)
    runs: list[bytes]
