"""A ``%%pounce --nodes 2`` cell on one rank of its gang. Its variables stay in the rank's Python, and go with it."""

from __future__ import annotations

from typing import Any

from ..._common import bundle
from .. import rank_run
from . import reloads
from .cell_reply import bundled, error_of, shells

_absent = object()


class CellFailed(Exception):
    """The cell failed on one rank; the argument is the error as in a cell's reply."""


def run_cell(request: dict[str, Any], pickle: Any, buffers: list[Any]) -> dict[str, Any]:
    """Returns the reply: the names that the cell assigned, and from rank 0 its value and the requested variables.
    Raises ``CellFailed``, since the other ranks wait."""
    shell = shells().the_only(page=bool(request["message"]), colors=request["colors"])
    names = shell.user_ns
    reloads.follow()
    shells().know_files(shell, request["files"])
    names.update(bundle.loads(pickle, buffers))
    before = dict(names)
    result = shells().run(shell, request["source"], request["number"], False, request["message"])
    error = result.error_before_exec or result.error_in_exec
    if isinstance(error, KeyboardInterrupt):
        raise error
    if error is not None:
        raise CellFailed(error_of(shell, error))
    own = [name for name in names if not name.startswith("_") and name not in shell.user_ns_hidden]
    reply = {"shown": shell.displayhook.take(),
             "assigned": [name for name in own if names[name] is not before.get(name, _absent)]}
    if rank_run.current().rank == 0:
        reply["missing"] = [name for name in request["brings"] if name not in names]
        reply["bundle"] = bundled({name: names[name] for name in request["brings"] if name in names})
    return reply
