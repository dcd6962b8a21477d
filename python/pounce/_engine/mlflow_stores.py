"""Stores of MLflow's that workers cannot use as the notebook does: said once, before anything is submitted."""

from __future__ import annotations

import os
import sys
from urllib.parse import urlsplit

from .._common import mlflow_uri
from .._common.machine import mount_of
from .status_line import output

_OF_A_NETWORK = ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "orangefs", "pvfs2", "glusterfs",
                 "fuse", "afs", "panfs", "wekafs", "9p")
_looked: set[tuple[str, bool]] = set()  # at these stores, for several workers or for one
_told: set[str] = set()


def look(launcher: str, workers: int) -> None:
    """Says what is wrong with the store for so many workers."""
    uri = sys.modules["mlflow"].get_tracking_uri()
    if (uri, workers > 1) in _looked:
        return
    _looked.add((uri, workers > 1))
    for problem in problems(uri, launcher, workers, _file_system):
        if problem not in _told:
            _told.add(problem)
            output().end(f"pounce: {problem}")


def problems(uri: str, launcher: str, workers: int, file_system: object = None) -> list[str]:
    """In words, each with what to do. `file_system` gives the kind of the one that a folder lies on."""
    address = urlsplit(uri)
    if address.scheme in ("http", "https"):
        if launcher == "slurm" and mlflow_uri.is_this_machines_own(uri):
            return [f"MLflow's server {address.hostname}:{address.port} is of this machine, and workers on other nodes "
                    "do not reach it: give mlflow.set_tracking_uri() its host's name"]
        return []
    path = mlflow_uri.path_of(uri)
    if not path:
        return []
    found = []
    kind = file_system(path) if callable(file_system) else ""
    if launcher == "slurm" and _is_of_this_machine(kind):
        found.append(f"MLflow's runs lie in {path}, on a disk of this machine ({kind}), which workers on other nodes "
                     "do not see unless they mount it: log to a server, or into a shared folder")
    if workers > 1 and address.scheme.startswith("sqlite"):
        found.append(f"MLflow's runs lie in {path}, which {workers} workers would write at once and lock for each "
                     f"other: start a server on it, mlflow server --backend-store-uri {uri}")
    return found


def disk_of_this_machine(path: str) -> str:
    """The kind of the file system, if it is this machine's own; empty: a network's, or not known."""
    kind = _file_system(path)
    return kind if _is_of_this_machine(kind) else ""


def _is_of_this_machine(kind: str) -> bool:
    return kind != "" and not kind.startswith(_OF_A_NETWORK)


def _file_system(path: str) -> str:
    """The kind of the file system that the path lies on, or will."""
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return mount_of(os.stat(path).st_dev).filesystem
