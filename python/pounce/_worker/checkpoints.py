"""The checkpoint of the running task: one file, which outlives the worker, in a folder of this user's alone.

A task keeps its id when it runs again after its worker was lost, and the file has that name. It is removed when the
client has the outcome; by pounced when the client has closed its session or died, or when a task with a name is
forgotten; and by its age if all of these were killed.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from .. import errors
from .._common import result_store, serialize
from . import interpreter


def save(obj: Any) -> None:
    job = interpreter.running
    path = _path(job)
    parts = _pickled(obj)
    try:
        result_store.write_checkpoint(path, parts)
    except OSError as problem:
        why = (f"{problem.strerror}: the checkpoint was not written; the one before it is kept. "
               "Make room there, or keep less.")
        raise OSError(problem.errno, why, os.path.dirname(path)) from None
    _remove_in_time(job, path)


def load(default: Any) -> Any:
    job = interpreter.running
    path = _path(job)
    if not os.path.lexists(path):
        return default
    _remove_in_time(job, path)  # this run may end without another one
    try:
        _, (data, *buffers) = result_store.read(path, sealed=True)
    except errors.ResultGone as problem:
        remedy = "Nothing of it was unpickled. Remove it, and begin anew."
        raise errors.ResultGone(f"the checkpoint cannot be used: {problem.text}", remedy) from None
    return serialize.loads(data, buffers)


def _remove_in_time(job: Any, path: str) -> None:
    if not job.kept_in:
        interpreter.core.remove_when_acknowledged(job.task, path)


def _path(job: Any) -> str:
    # pounced removes a session's files with the session; a task with a name outlives every session.
    return os.path.join(_folder(), f"{job.task}.checkpoint" if job.kept_in else f"{job.session}-{job.task}.checkpoint")


def _folder() -> str:
    """The checkpoints' folder, which pounced made beside its own. No other machine has a folder of that name: if it is
    not here, this is not pounced's file system."""
    state = interpreter.state_folder
    if not state or not os.path.isdir(state):
        where = os.path.dirname(state) or "the disk of the notebook's machine"
        raise errors.NotShared(
            f"the worker on {interpreter.node} does not see {where}, where checkpoints are kept",
            "Set state_folder to one that the notebook's host and the nodes share.", {"node": interpreter.node},
        )
    folder = os.path.join(os.path.dirname(state), "checkpoints")
    facts = os.lstat(folder)
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
        raise errors.ResultGone(f"{folder} is not this user's alone",
                                "Nothing was read or written; look who else can write there.")
    return folder


def _pickled(obj: Any) -> list[Any]:
    try:
        data, buffers, objects = serialize.dumps(obj)
    except Exception as error:
        where, part, why = serialize.path_of_unpicklable(obj, "the checkpoint") or ("the checkpoint", obj, error)
        raise errors.NotPicklable(
            f"{where} is a {type(part).__name__}, which cannot be pickled: {why}",
            "Leave it out, and make it again where you begin.",
        ) from None
    if objects:
        raise errors.BadRequest("a pounce.Ref cannot be in a checkpoint",
                                "Keep the value itself, or leave it to the arguments.")
    return [data, *buffers]
