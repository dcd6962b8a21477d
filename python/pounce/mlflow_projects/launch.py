"""The backend: what ``mlflow run --backend pounce`` does, until the job is with Slurm."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlflow.entities import RunTag
from mlflow.exceptions import ExecutionException
from mlflow.projects import utils as projects
from mlflow.projects.backend.abstract_backend import AbstractBackend
from mlflow.tracking import MlflowClient
from mlflow.utils.environment import _PythonEnv
from mlflow.utils.mlflow_tags import MLFLOW_PROJECT_ENV

from .._batch import making
from .._batch.placement import COMMAND, Placement, placed
from .._batch.run import BatchRun
from .._batch.run_folder import RunFolder, home
from .._common import mlflow_uri
from .._engine.submission import prefix_of
from .._record import store
from ..errors import BadRequest, OutcomeUnknown, PounceError
from . import artefacts, command, environment_lease, environments, open_runs, record, script_link, variables
from .config import IMAGE, parsed
from .entry import entry_of, loaded_from
from .source import Source, fetched
from .submitted_run import OPEN, PounceSubmittedRun

# What MLflow adds to a backend's configuration.
_OF_MLFLOW = (projects.PROJECT_ENV_MANAGER, projects.PROJECT_SYNCHRONOUS, projects.PROJECT_DOCKER_ARGS,
              projects.PROJECT_STORAGE_DIR, projects.PROJECT_BUILD_IMAGE, projects.PROJECT_DOCKER_AUTH)


class PounceBackend(AbstractBackend):
    """Each project is one batch run of pounce: a job of the user's, which goes on when the caller ends."""

    def run(self, project_uri: str, entry_point: str, params: Mapping[str, Any] | None, version: str | None,
            backend_config: Mapping[str, Any], tracking_uri: str, experiment_id: str) -> PounceSubmittedRun:
        """Blocks until the job is with Slurm: for git, and for the project's environment if it is not there yet, which
        a job without a GPU makes.

        Raises
        ------
        mlflow.exceptions.ExecutionException
            Nothing was submitted. Its text is a sentence of cause and one of remedy; ``__cause__`` is pounce's error.
        """
        keys = {key: value for key, value in backend_config.items() if key not in _OF_MLFLOW}
        manager = backend_config.get(projects.PROJECT_ENV_MANAGER)
        uri = mlflow_uri.absolute(tracking_uri)
        try:
            with fetched(project_uri, version) as source:
                launch = Launch(source, entry_point, dict(params or {}), version, keys, manager)
                run = launch.submitted(uri, experiment_id)
            open_runs.settle(uri)
            return run
        except PounceError as error:
            raise ExecutionException(str(error)) from error


class Launch:
    """One run of one entry point on its way to Slurm. What can be refused is refused before anything is made."""

    def __init__(self, source: Source, entry_point: str, parameters: dict[str, Any], version: str | None,
                 keys: Mapping[str, Any], manager: str | None):
        config = parsed(keys)
        self._source, self._config, self._manager, self._version = source, config, manager, version
        self._keys = keys
        self._entry_point, self._parameters = entry_point, parameters
        self._project = loaded_from(source.folder, entry_point)
        self._entry = entry_of(self._project, entry_point)
        self._secrets = variables.secrets(os.environ, config.exports)
        origin = f"{source.uri}@{source.commit}" if source.commit else os.path.realpath(source.folder)
        self._steps = variables.steps(os.environ, origin, entry_point, parameters)
        command.check(self._entry.command, parameters, self._entry.compute_parameters(parameters, None)[0])
        artefacts.check(self._entry, parameters)
        script_link.check(config.script_link)
        self._place = _allowed(placed(config.options), config.partition)
        self._container = self._container_words()

    @property
    def parameters(self) -> list[str]:
        """Those that the entry point declares."""
        return list(self._entry.parameters)

    def submitted(self, tracking_uri: str, experiment_id: str,
                  tags: Mapping[str, str] | None = None) -> PounceSubmittedRun:
        """`tags`: for the run, beside those of each project."""
        config = self._config
        prefix_named = prefix_of(config.env) if config.env else ""
        manager, found = environments.chosen(self._project, self._source.folder, self._manager, prefix_named,
                                             bool(config.container), self._python_env)
        prefix = found if isinstance(found, str) else environment_lease.made(found, config.options, config.build_on)
        inputs = record.inputs_of(self._entry, self._parameters)
        recorded = record.of(self._source, self._entry_point, self._parameters, inputs, self._keys, self._manager,
                             prefix)
        request = making.Request(config.options, env=prefix, lines=self._lines(), place=self._place)
        directory = home() if self._source.clone else self._source.folder
        folder = making.of_project(self._project.name or self._source.name, str(directory), request)
        run_id = ""
        try:
            project = self._source.moved_into(folder.path)
            text = artefacts.with_paths(self._entry, self._parameters, self._folder_of_paths(folder))
            run = projects.get_or_create_run(None, self._source.uri, experiment_id, str(project), self._version,
                                             self._entry_point, self._parameters)
            run_id = run.info.run_id
            self._describe(folder, project, text, run, tracking_uri, prefix)
            MlflowClient().update_run(run_id, "SCHEDULED")
            batch = BatchRun(folder).submit(script_link.made(config.script_link, folder.script))
        except OutcomeUnknown:  # there may be a job, which needs its folder
            raise
        except BaseException:
            folder.remove()
            if run_id:
                MlflowClient().set_terminated(run_id, "FAILED")
            raise
        _say(f"job {batch.job} is MLflow's run {run_id}; its output is in {folder.log}")
        if mlflow_uri.is_this_machines_own(tracking_uri):
            _say(f"{tracking_uri} is an address of this machine alone; a job on another one does not reach it")
        self._tag(run_id, batch, manager, {store.TAG: store.kept(recorded), **(tags or {})})
        return PounceSubmittedRun(run_id, batch)

    def _python_env(self, file: str) -> environments.PythonEnv:
        is_conda = os.path.basename(file).startswith("conda")
        found = _PythonEnv.from_conda_yaml(file) if is_conda else _PythonEnv.from_yaml(file)
        for line in found.dependencies:
            if self._source.clone and line.startswith(("-e", "--editable")):
                raise BadRequest(f"{line!r} refers to the project's folder, and a clone is another one in each run",
                                 'Write "." in the place of "-e .".')
        return environments.PythonEnv(found.python, found.build_dependencies, found.dependencies)

    # ---- what the job is given ----

    def _lines(self) -> tuple[str, ...]:
        return (*self._config.lines, *script_link.output_line(self._config.output))

    def _folder_of_paths(self, folder: RunFolder) -> str | None:
        """Where MLflow puts the artefacts that parameters of the type path name."""
        if not any(parameter.type == "path" for parameter in self._entry.parameters.values()):
            return None
        paths = folder.path / "paths"
        paths.mkdir()
        return str(paths)

    def _describe(self, folder: RunFolder, project: Path, text: str, run: Any, tracking_uri: str, prefix: str) -> None:
        """Writes what ``_batch/job/run_project.py`` reads, for this user alone."""
        of_run = variables.of_run(run.info.run_id, run.info.experiment_id, tracking_uri)
        secrets = self._secrets | variables.with_password(of_run)
        known = {name: value for name, value in of_run.items() if name not in secrets}
        description = {
            "run": run.info.run_id,
            "command": text,
            "directory": str(project),
            "path": self._path(prefix),
            "other_python": bool(prefix),
            "modules": self._config.modules,
            "container": self._container,
            "nodes": self._config.nodes,
            "variables": {**known, variables.STEPS: self._steps},
            "environment": self._config.environment,
            "secrets": sorted(secrets),
        }
        folder.write("project.json", json.dumps(description, indent=1))
        folder.write(OPEN, "")
        if secrets:
            folder.write("secrets.json", json.dumps(secrets))

    def _path(self, prefix: str) -> str:
        """Where the command finds its Python first: without an environment of its own, the one that submits."""
        if prefix:
            return os.path.join(prefix, "bin")
        is_open = self._config.modules or self._container != (COMMAND,)
        return "" if is_open else os.path.dirname(sys.executable)

    def _container_words(self) -> tuple[str, ...]:
        """The command that runs the project's own, which stands where COMMAND is."""
        words = self._config.container or self._place.container
        docker = self._project.docker_env or {}
        if docker and words == (COMMAND,):
            raise BadRequest(f"the project runs in the Docker image {docker['image']}, and this cluster has no command "
                             "for containers", f'Name one with the key "container": "apptainer exec docker://{IMAGE} '
                             f'{COMMAND}".')
        if docker and not any(IMAGE in word for word in words):
            _say(f"the container is the configuration's or the site's, not the project's image {docker['image']}")
        for what in ("volumes", "environment"):
            if docker.get(what):
                _say(f"docker_env's {what} are not passed on; name them in the key \"container\" or \"environment\"")
        return tuple(word.replace(IMAGE, str(docker.get("image", ""))) for word in words)

    def _tag(self, run_id: str, batch: BatchRun, manager: str, more: Mapping[str, str]) -> None:
        tags = {MLFLOW_PROJECT_ENV: manager, "slurm_job_id": str(batch.job), "pounce.batch": batch.name,
                "pounce.class": self._place.class_, **more}
        MlflowClient().log_batch(run_id, tags=[RunTag(name, value) for name, value in tags.items()])


def _allowed(place: Placement, partition: str) -> Placement:
    """The site's policy may say where a class runs; what it leaves open, Slurm decides."""
    if partition and place.partition not in ("", partition):
        raise BadRequest(f"the site's policy runs class {place.class_} in the partition {place.partition}, not in "
                         f"{partition}", 'Leave "partition" out, or name another class: "class": "NAME".')
    return place


def _say(text: str) -> None:
    print(f"pounce: {text}", file=sys.stderr, flush=True)
