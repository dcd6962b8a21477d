"""What a project's program finds in its environment, and which of it Slurm never sees. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from .._batch.variables import recorded
from ..errors import BadRequest

STEPS = "POUNCE_PROJECT_STEPS"  # digests of the projects that have started this one, in each other
# With those that look like secrets: of stores of artefacts, and Databricks' tracking server.
_CREDENTIALS = re.compile(r"(AWS|AZURE|GOOGLE|DATABRICKS)_\w+")


def secrets(environment: Mapping[str, str], exports: tuple[str, ...]) -> dict[str, str]:
    """The variables that reach the program by a file which only the user can read.

    Slurm would keep them: it writes the environment of each job to its disks.
    """
    if missing := [name for name in exports if name not in environment]:
        raise BadRequest(f'the key "exports": the variable {missing[0]} is not set here',
                         "Set it in the shell that runs mlflow, or leave it out.")
    names = {*recorded(environment)[1], *exports, *filter(_CREDENTIALS.fullmatch, environment)}
    return {name: environment[name] for name in sorted(names)}


def of_run(run: str, experiment: str, tracking_uri: str) -> dict[str, str]:
    return {"MLFLOW_RUN_ID": run, "MLFLOW_EXPERIMENT_ID": str(experiment), "MLFLOW_TRACKING_URI": tracking_uri}


def with_password(variables: Mapping[str, str]) -> dict[str, str]:
    """Those of them that hold one: ``https://user:password@host``."""
    return {name: variables[name] for name in recorded(variables)[1]}


def steps(environment: Mapping[str, str], project: str, entry_point: str, parameters: Mapping[str, Any]) -> str:
    """The value of STEPS for this one.

    Raises
    ------
    BadRequest
        It has started itself, maybe by others: that would go on for ever, each time with one more job.
    """
    text = json.dumps([project, entry_point, sorted((str(name), str(value)) for name, value in parameters.items())])
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    earlier = list(filter(None, environment.get(STEPS, "").split(",")))
    if digest in earlier:
        raise BadRequest(f"{entry_point} of {project} was started by itself, with the same parameters",
                         "Break the circle: a step runs other entry points, or itself with other parameters.")
    return ",".join([*earlier, digest])
