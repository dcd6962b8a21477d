"""What each path of an endpoint answers: MLflow's scoring protocol, and two paths of pounce's own."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Callable
from typing import Any

from .. import _core, errors
from .._worker.serving import JSON, Answer, failed, no_json
from .worker import NotServed
from .workers import CallerGone, Workers

STATUS, STOP = "/pounce/status", "/pounce/stop"
_METHODS = {"/ping": "GET", "/health": "GET", "/version": "GET", "/invocations": "POST", STATUS: "GET", STOP: "POST"}
_LOOKED_AT_BYTES = 1024 * 1024  # of a body, before a worker is requested for it


class Routes:
    """Any thread."""

    def __init__(self, workers: Workers, is_model: bool, facts: Callable[[], dict[str, Any]], stop: Callable[[], None]):
        self._workers, self._is_model, self._facts, self._stop = workers, is_model, facts, stop

    def answer(self, method: str, path: str, body: bytes, kind: str, is_gone: Callable[[], bool]) -> Answer:
        if path not in _METHODS:
            return failed(404, "NOT_FOUND", f"there is no {path}; the paths are {', '.join(_METHODS)}")
        if method != _METHODS[path]:
            return failed(405, "METHOD_NOT_ALLOWED", f"{path} takes {_METHODS[path]}, not {method}")
        if path == "/invocations":
            return self._invoked(body, kind, is_gone)
        if path == STATUS:
            return _json(self._facts())
        if path == STOP:
            self._stop()
            return _json({})
        if path == "/version":
            return Answer(200, JSON, self._version().encode())
        problem = self._workers.problem
        return failed(503, "TEMPORARILY_UNAVAILABLE", problem) if problem else Answer(200, JSON, b"\n")

    def _invoked(self, body: bytes, kind: str, is_gone: Callable[[], bool]) -> Answer:
        if (not self._is_model or kind.partition(";")[0].strip() == JSON) and len(body) <= _LOOKED_AT_BYTES:
            try:
                json.loads(body)
            except (ValueError, RecursionError) as error:
                return no_json(error)
        try:
            return self._workers.answer(body, kind, is_gone)
        except CallerGone:
            return failed(499, "CANCELLED", "the caller did not wait")
        except NotServed as error:
            return failed(503, "TEMPORARILY_UNAVAILABLE", error.text, error.kind)
        except errors.PounceError as error:
            text = f"{error.text.rstrip().rstrip('.')}. {error.remedy}".strip()
            return failed(503, "TEMPORARILY_UNAVAILABLE", text, type(error).__name__)
        except Exception as error:  # the worker's answer cannot be read here
            return failed(500, "INTERNAL_ERROR", f"{type(error).__name__}: {error}", type(error).__name__)

    def _version(self) -> str:
        """Of MLflow on the workers; before there is one, of the MLflow here."""
        if not self._is_model:
            return _core.__version__
        if self._workers.version:
            return self._workers.version
        for package in ("mlflow", "mlflow-skinny"):
            try:
                return importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                continue
        return ""


def _json(facts: dict[str, Any]) -> Answer:
    return Answer(200, JSON, json.dumps(facts).encode())
