"""Where what is logged leaves MLflow: the store and the artifacts of a server that is reached over HTTP.

MLflow has one function for all requests of such a store, and its messages are plain JSON there. Other stores (files, a
database, Databricks) are left alone. Installed when user code has imported MLflow.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import re
import sys
import tempfile
import threading
from collections.abc import Callable
from typing import Any

from ..._common import task_end
from ..._common.after_import import AfterImport
from ..._common.machine import is_private_folder
from ..._common.mlflow_uri import without_password
from ..._common.settings import mlflow_options
from . import object_stores
from .attempts import within_limits
from .link import Link
from .process import WorkerProcess
from .records import KEPT, Record, added_to_tag, run_of_artifact
from .renewal import Renewal

_REST, _STORE, _HTTP = "mlflow.utils.rest_utils", "mlflow.store.tracking.rest_store", "http_request"
_ARTIFACTS = "mlflow.store.artifact.http_artifact_repo"
_CALL = "_call_endpoint"  # MLflow has no public name for it

_READS = "GetRun"
_RUNS = 64  # that are known at a time
_ROOM = "MLFLOW_POUNCE_SPOOL_MIB"
_ROOM_MIB = 256
_CALL_ENDS_S = 20.0    # how long a call may last longer for what a slow server has not taken
_PROCESS_ENDS_S = 1.5  # less than a worker has for its end

_links: dict[str, Link] = {}  # by the server's address without a password
_stores: dict[str, Any] = {}  # MLflow's latest of each of these servers
_runs: dict[str, Any] = {}  # the server's last answers about runs
_lock = threading.Lock()
_process: WorkerProcess
_renewal: Renewal
_call: Callable[..., Any]
_log_file: Callable[..., Any]


def install(process: WorkerProcess) -> None:
    """MLflow has just been imported."""
    global _call, _process, _renewal
    _process, _renewal = process, Renewal(process)
    store = importlib.import_module(_STORE).RestStore
    _call = getattr(store, _CALL)
    setattr(store, _CALL, _call_endpoint)
    _limit_requests()
    if _ARTIFACTS in sys.modules:
        _follow_artifacts()
    else:
        AfterImport(_ARTIFACTS, _follow_artifacts)
    object_stores.install(_link_to_store)
    os.register_at_fork(after_in_child=_forked)


def call_ends() -> None:
    """One that was cancelled does not wait."""
    for link in list(_links.values()):
        link.flush(0.0 if task_end.is_to_end() else _CALL_ENDS_S)


def process_ends() -> None:
    for link in list(_links.values()):
        link.close(_PROCESS_ENDS_S)


def call_begins() -> None:
    """It may have brought a new token."""
    for link in list(_links.values()):
        link.wake()


def _forked() -> None:
    global _lock
    _lock = threading.Lock()
    for link in _links.values():
        link.forget()
    _links.clear()


# ---- requests ----

def _limit_requests() -> None:
    own = getattr(sys.modules[_REST], _HTTP)
    limited = within_limits(own, _renewal.is_renewed, _credentials)
    for name, module in list(sys.modules.items()):  # those that have taken it out of its module
        if name.startswith("mlflow.") and getattr(module, _HTTP, None) is own:
            setattr(module, _HTTP, limited)


def _credentials(server: str) -> Any:
    return importlib.import_module("mlflow.utils.credentials").get_default_host_creds(server)


def _call_endpoint(store: Any, api: Any, json_body: Any = None, *args: Any, **kwargs: Any) -> Any:
    """In place of RestStore's."""
    link, name = _link_of(store), api.DESCRIPTOR.name
    if link is None or args or kwargs or not json_body or name not in (*KEPT, _READS):
        return _call(store, api, json_body, *args, **kwargs)
    if name == _READS:
        return _run(link, store, api, json_body)
    record = {"api": name, "body": json.loads(json_body)}
    answer = link.log(record, lambda: _call(store, api, json_body))
    return _answer(api, record["body"]) if answer is None else answer


def _answer(api: Any, body: Any) -> Any:
    """What the server would say."""
    answer = api.Response()
    if api.DESCRIPTOR.name == "UpdateRun":
        info, status = answer.run_info, api.DESCRIPTOR.fields_by_name["status"].enum_type.values_by_name
        info.run_id = info.run_uuid = body["run_id"]
        if body.get("status") in status:
            info.status = status[body["status"]].number
    return answer


def _run(link: Link, store: Any, api: Any, json_body: str) -> Any:
    """MLflow reads a run before it logs to it by its id, and before it stores a file of it. While the server is away
    that is the run as it was last known here."""
    run = json.loads(json_body)["run_id"]
    known = _runs.get(run) or _active(api, run)
    answer = link.read(lambda: _call(store, api, json_body), known)
    while len(_runs) >= _RUNS:
        _runs.pop(next(iter(_runs)))
    _runs[run] = answer
    return answer


def _active(api: Any, run: str) -> Any:
    active = mlflow_options.stack() or mlflow_options.stack_of(threading.main_thread().ident or 0)
    found = next((one for one in active if one.info.run_id == run), None)
    if found is None:
        return None
    answer = api.Response()
    answer.run.CopyFrom(found.to_proto())
    return answer


def _send(server: str, record: Record, copies: str) -> None:
    """Makes the request of a record that has waited."""
    if "file" in record:
        copy = os.path.join(copies, record["copy"])
        _log_file(_repository(_with_password(server, record["file"])), copy, record["path"])
        return
    body, store, messages = record["body"], _stores[server], importlib.import_module("mlflow.protos.service_pb2")
    if "adds" in record:
        answer = _call(store, messages.GetRun, json.dumps({"run_id": body["run_id"]}))
        present = next((tag.value for tag in answer.run.data.tags if tag.key == body["key"]), "")
        value = added_to_tag(present, body["value"])
        if value is None:
            return
        body = {**body, "value": value}
    _call(store, getattr(messages, record["api"]), json.dumps(body))


# ---- artifacts ----

def _follow_artifacts() -> None:
    global _log_file
    repository = sys.modules[_ARTIFACTS].HttpArtifactRepository
    _log_file, repository.log_artifact = repository.log_artifact, _log_artifact


def _log_artifact(repository: Any, local_file: Any, artifact_path: Any = None) -> None:
    """In place of HttpArtifactRepository's."""
    uri = without_password(repository.artifact_uri)
    link = next((link for server, link in _links.items() if uri.startswith(server + "/")), None)
    if link is None:
        return _log_file(repository, local_file, artifact_path)
    record = {"file": uri, "path": artifact_path, "run": run_of_artifact(uri)}
    link.log_files([(record, os.fspath(local_file))], lambda: _log_file(repository, local_file, artifact_path))


def _repository(uri: str) -> Any:
    return importlib.import_module("mlflow.store.artifact.artifact_repository_registry").get_artifact_repository(uri)


# ---- servers ----

def _link_of(store: Any) -> Link | None:
    server = vars(store).get("pounce_server")
    if server is None:
        host = str(store.get_host_creds().host or "") if type(store).__name__ == "RestStore" else ""
        server = store.pounce_server = without_password(host).rstrip("/") if host.startswith("http") else ""
    if not server:
        return None
    with _lock:
        _stores[server] = store
        if server not in _links:
            send = functools.partial(_send, server)
            _links[server] = Link(f"MLflow's server {server}", _folder(server), _room(), send, _renewal.is_renewed)
        return _links[server]


def _link_to_store(store: str, send: Any, attempt: Any) -> Link:
    with _lock:
        if store not in _links:
            name = f"the artifact store {store}"
            _links[store] = Link(name, _folder(store), _room(), send, _renewal.is_renewed, attempt,
                                 object_stores.KEYS, object_stores.UPLOAD_S)
        return _links[store]


def _with_password(server: str, address: str) -> str:
    """The address at that server, as its store knows it."""
    return str(_stores[server].get_host_creds().host).rstrip("/") + address.removeprefix(server)


def _folder(server: str) -> str:
    """On a disk that the next worker sees, if there is one: beside pounced's state, where its machine shares that."""
    state = _process.state_folder
    if state and os.path.isdir(state) and os.access(os.path.dirname(state), os.W_OK):
        root = os.path.join(os.path.dirname(state), "mlflow")
    else:
        root = os.path.join(tempfile.gettempdir(), f"pounce-mlflow-{os.geteuid()}")
        if os.path.lexists(root) and not is_private_folder(root):
            root = tempfile.mkdtemp(prefix="pounce-mlflow-")
    return os.path.join(root, re.sub(r"[^A-Za-z0-9.]+", "-", server.partition("://")[2])[:80])


def _room() -> int:
    text = os.environ.get(_ROOM, "")
    return (int(text) if text.isdecimal() else _ROOM_MIB) << 20
