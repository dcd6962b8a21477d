"""A cell that goes on without its kernel: its output is kept in a folder, and at its end what the cell did."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..._common.cell_protocol import CellEnd, CellError, CellReply, CellRequest
from .. import interpreter
from . import held

_END_S = 10.0  # for a file system that is slow
_ANSWER_S, _PAUSE_S = 1.0, 0.2
_GONE_S = 30.0  # without the kernel's connection: it does not come back to answer


@contextmanager
def cell(request: CellRequest, reply: CellReply) -> Iterator[None]:
    """Around a cell, while its source runs and until its variables are taken note of. `reply` becomes what it did."""
    keeps = request.keeps if request.code.source else None
    if keeps is not None and not os.path.isdir(keeps.folder):
        reply.not_kept = f"this worker does not see {keeps.folder}"
        keeps = None
    held.keep(keeps is not None)
    if keeps is None:
        yield
        return
    interpreter.core.keep_output(keeps.folder, keeps.most_bytes)
    raised: BaseException | None = None
    try:
        yield
    except BaseException as error:
        raised = error
        raise
    finally:
        interpreter.flush()
        reply.not_kept = interpreter.core.end_kept(_end(request, reply, raised).encoded(), _END_S)


def input() -> bytes | None:
    """The client's answer; None: the worker ends, or the client has gone."""
    gone_s = 0.0
    while gone_s < _GONE_S and not interpreter.core.ending():
        begun = time.monotonic()
        answer: bytes | None = interpreter.core.answer(_ANSWER_S)
        if answer is not None:
            return answer
        is_attached = time.monotonic() - begun >= _ANSWER_S / 2  # else it has returned at once
        gone_s = 0.0 if is_attached else gone_s + _PAUSE_S
        if not is_attached:
            time.sleep(_PAUSE_S)
    return None


def _end(request: CellRequest, reply: CellReply, raised: BaseException | None) -> CellEnd:
    run = reply.run
    error = run.error if raised is None else _cut_off(raised)
    return CellEnd(request.code.number, time.time(), request.namespace.id, reply.turn, run.shown, list(run.below),
                   list(run.assigned), reply.namespace.problem, error)


def _cut_off(raised: BaseException) -> CellError:
    """It did not come to its own end: its worker goes, or what it left could not be handled."""
    ending = interpreter.core.ending()
    kind, text = ("LeaseEnded", "its worker ended while it ran") if ending else (type(raised).__name__, str(raised))
    return CellError(kind, text, [], interpreter.node, interpreter.devices, None, b"")
