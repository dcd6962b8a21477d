"""Artifacts that go to an object store directly (S3, Google, Azure), not through MLflow's server: they wait, too, while
that store is away.

MLflow has a class for each kind of store, whose clients try again for minutes. So an upload is made on a thread, and
code that logs waits for it within a limit. What the store is sent later is the same request: an object that is there
already is replaced by itself.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from ..._common.after_import import AfterImport
from .attempts import Outcome
from .link import Link
from .records import Record, added_to_tag, run_of_artifact
from .store_errors import outcome_of

_REGISTRY = "mlflow.store.artifact.artifact_repository_registry"
_CLASSES = ("S3ArtifactRepository", "GCSArtifactRepository", "AzureBlobArtifactRepository",
            "AzureDataLakeArtifactRepository", "R2ArtifactRepository", "B2ArtifactRepository")
_ENDPOINTS = ("MLFLOW_S3_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_OF_S3 = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_CLIENTS = "_cached_get_s3_client"  # MLflow has no public name for them
KEYS = ("keys", _OF_S3[1])  # for Link
UPLOAD_S = 10.0  # how long code that logs waits for the store, beside the time for the bytes
_BYTES_A_SECOND = 2e5  # a store that takes fewer is treated as one that is away

LinkOf = Callable[[str, Callable[[Record, str], Any], Callable[..., Any]], Link]
_link_of: LinkOf
_keys: tuple[str, ...] | None = None  # at the last upload
_uploads = threading.local()  # `own`: this thread runs MLflow's methods as they are


def install(link_of: LinkOf) -> None:
    """`link_of`: gives the link to a store by its name, its way to send a record and its way to make an attempt."""
    global _link_of
    _link_of = link_of
    if _REGISTRY in sys.modules:
        _follow()
    else:
        AfterImport(_REGISTRY, _follow)


def _follow() -> None:
    for name in _CLASSES:
        made = getattr(sys.modules[_REGISTRY], name, None)
        if made is not None:  # another MLflow may have others
            for method in ("log_artifact", "log_artifacts"):
                setattr(made, method, _followed(getattr(made, method)))


def _followed(own: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(own)
    def log(repository: Any, local: Any, artifact_path: Any = None) -> None:
        link = None if getattr(_uploads, "own", False) else _link(repository)
        if link is None:
            return own(repository, local, artifact_path)
        uri = repository.artifact_uri
        files = [({"file": uri, "path": path, "run": run_of_artifact(uri)}, file)
                 for path, file in _files(os.fspath(local), artifact_path or None)]
        link.log_files(files, lambda: own(repository, local, artifact_path))

    return log


def _files(local: str, path: str | None) -> Iterator[tuple[str | None, str]]:
    """Each file, and the folder in the store into which it goes."""
    if not os.path.isdir(local):
        yield path, local
        return
    for folder, _, names in os.walk(local):
        inner = os.path.relpath(folder, local)
        place = "/".join(part for part in (path, inner if inner != "." else "") if part) or None
        yield from ((place, os.path.join(folder, name)) for name in sorted(names))


def _link(repository: Any) -> Link | None:
    """None: an address with a password in it, which is not written down."""
    address = urlsplit(str(repository.artifact_uri))
    if not address.scheme or ":" in address.netloc.rpartition("@")[0]:
        return None
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    endpoint = endpoint.rpartition("@")[2] if address.scheme == "s3" else ""
    store = f"{address.scheme}://{address.netloc}" + (f" ({endpoint})" if endpoint else "")
    return _link_of(store, _send, attempt)


def _send(record: Record, copies: str) -> None:
    if "file" in record:
        repository = importlib.import_module(_REGISTRY).get_artifact_repository(record["file"])
        repository.log_artifact(os.path.join(copies, record["copy"]), record["path"])
        return
    body, client = record["body"], sys.modules["mlflow"].MlflowClient()
    value = added_to_tag(client.get_run(body["run_id"]).data.tags.get(body["key"], ""), body["value"])
    if value is not None:
        client.set_tag(body["run_id"], body["key"], value)


# ---- one upload ----

def attempt(send: Callable[[], Any], seconds: float, size: int = 0) -> tuple[Outcome, Any, int]:
    """As ``attempts.attempt``. An upload that takes too long is left alone: it may still succeed."""
    _follow_keys()
    found: list[tuple[Outcome, Any, int]] = []
    over = threading.Event()

    def upload() -> None:
        _uploads.own = True
        try:
            found.append((Outcome.SENT, send(), 200))
        except BaseException as error:
            outcome, status = outcome_of(error)
            found.append((outcome, error, status))
        finally:
            over.set()

    threading.Thread(target=upload, name="pounce-upload", daemon=True).start()
    over.wait(seconds + size / _BYTES_A_SECOND)
    return found[0] if found else (Outcome.AWAY, None, 0)


def _follow_keys() -> None:
    """boto3 keeps those that it found first in the environment."""
    global _keys
    now = tuple(os.environ.get(name, "") for name in _OF_S3)
    if now == _keys:
        return
    known, _keys = _keys, now
    boto3, made = sys.modules.get("boto3"), sys.modules.get("mlflow.store.artifact.s3_artifact_repo")
    if known is None or boto3 is None or made is None:
        return
    if boto3.DEFAULT_SESSION is not None and boto3.DEFAULT_SESSION.get_credentials().method == "env":
        boto3.setup_default_session()
    getattr(made, _CLIENTS).cache_clear()
