"""``SilentStore``: MLflow's store for the ranks of a gang that do not log."""

from __future__ import annotations

import importlib
import time
import uuid
from typing import Any

_WRITES = ("log_", "set_", "delete_", "record_", "update_", "link_", "restore_", "start_trace", "end_trace")
_begun: dict[str, Any] = {}  # runs and models that such a rank has begun, by their ids


class SilentStore:
    """What is read is real; what is written goes nowhere, and files into `folder`."""

    def __init__(self, store: Any, folder: str):
        self._store, self._folder = store, folder

    def __getattr__(self, name: str) -> Any:
        return _nothing if name.startswith(_WRITES) else getattr(self._store, name)

    def create_run(self, experiment_id: str, user_id: str, start_time: int, tags: Any, run_name: str) -> Any:
        proto = importlib.import_module("mlflow.protos.service_pb2").Run()
        info = proto.info
        info.run_id = info.run_uuid = uuid.uuid4().hex
        info.experiment_id, info.user_id, info.run_name = str(experiment_id), user_id or "", run_name or "rank"
        info.status, info.start_time, info.lifecycle_stage = 1, start_time or int(time.time() * 1000), "active"
        info.artifact_uri = self._folder
        return _begun.setdefault(info.run_id, _run_of(proto))

    def get_run(self, run_id: str) -> Any:
        if run_id in _begun:
            return _begun[run_id]
        proto = self._store.get_run(run_id).to_proto()
        proto.info.artifact_uri = self._folder
        return _run_of(proto)

    def update_run_info(self, run_id: str, *_: Any, **__: Any) -> Any:
        return self.get_run(run_id).info

    def create_logged_model(self, experiment_id: str, name: str | None = None, *_: Any, **__: Any) -> Any:
        entities, now = importlib.import_module("mlflow.entities"), int(time.time() * 1000)
        model = entities.LoggedModel(
            experiment_id=experiment_id, model_id=f"m-{uuid.uuid4().hex}", name=name or "model",
            artifact_location=self._folder, creation_timestamp=now, last_updated_timestamp=now)
        return _begun.setdefault(model.model_id, model)

    def get_logged_model(self, model_id: str, *args: Any, **kwargs: Any) -> Any:
        return _begun.get(model_id) or self._store.get_logged_model(model_id, *args, **kwargs)

    def finalize_logged_model(self, model_id: str, *_: Any, **__: Any) -> Any:
        return self.get_logged_model(model_id)


def _run_of(proto: Any) -> Any:
    return importlib.import_module("mlflow.entities").Run.from_proto(proto)


def _nothing(*_: Any, **__: Any) -> None:
    pass
