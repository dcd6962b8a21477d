"""A ``%%pounce --nodes 2`` cell on one rank of its gang. Its variables stay in the rank's Python, and go with it."""

from __future__ import annotations

from typing import Any

from ..._common import bundle
from ..._common.cell_protocol import CellCode, CellReply, CellRun
from .. import interpreter, mlflow_runs, rank_run
from . import reloads
from .cell_reply import brought_back, error_of, shells
from .compile_clock import compiled_s

_absent = object()


class CellFailed(Exception):
    """The cell failed on one rank; the argument is its CellError."""


def run_cell(code: CellCode, pickle: Any, buffers: list[Any]) -> CellReply:
    """Returns what the cell did, and from rank 0 the requested variables. Raises ``CellFailed``, since the other ranks
    wait."""
    shell = shells().the_only(page=bool(code.message), colors=code.colors)
    names = shell.user_ns
    reloads.follow()
    shells().know_files(code.files)
    names.update(bundle.loads(pickle, buffers))
    before, compiled = dict(names), compiled_s()
    mlflow_runs.begin_cell(code.origin)
    began, imported = interpreter.runner.so_far() if interpreter.runner is not None else (0.0, 0.0)
    result = shells().run(shell, code.source, code.number, False, code.message)
    error = result.error_before_exec or result.error_in_exec
    if isinstance(error, KeyboardInterrupt):
        raise error
    if error is not None:
        raise CellFailed(error_of(shell, error))
    own = [name for name in names if not name.startswith("_") and name not in shell.user_ns_hidden]
    run = CellRun(shell.displayhook.take(), [], [name for name in own if names[name] is not before.get(name, _absent)],
                  code_began=began, imported=imported, compiled=compiled_s() - compiled)
    brings = code.brings if rank_run.current().rank == 0 else ()
    missing = [name for name in brings if name not in names]
    return CellReply(run=run, missing=missing, bundle=brought_back(names, brings))
