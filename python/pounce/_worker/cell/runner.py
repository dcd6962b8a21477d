"""What a ``%%pounce`` cell is on a worker: a task that takes a request and returns a reply. Imported by reference."""

from __future__ import annotations

import linecache
import os
import sys
import uuid
from typing import Any

from ... import errors
from ..._common import bundle
from .. import interpreter
from . import packages

_shell: Any = None
_namespace_id = uuid.uuid4().hex
_absent = object()
_digests: dict[str, bytes] = {}  # of variables as the notebook sent them, or as a cell left them


def run_cell(request: dict[str, Any], pickle: Any, buffers: list[Any]) -> dict[str, Any]:
    """Nothing runs (``ran`` false) where `request` counts on variables of another worker."""
    reply: dict[str, Any] = {"namespace": _namespace_id, "ran": request["namespace"] in ("", _namespace_id)}
    if not reply["ran"]:
        return reply
    shell = _the_shell(request)
    names = shell.user_ns
    for filename, (number, text) in request["files"].items():
        shell.compile._filename_map[filename] = number
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    _arrived(names, bundle.loads(pickle, buffers))
    if request["source"]:
        reply.update(_run(shell, request))
    brings = [name for name in request["brings"] if name in names]
    reply["missing"] = [name for name in request["brings"] if name not in names]
    if "error" not in reply:
        reply["bundle"] = _bundle({name: names[name] for name in brings})
    return reply


def _run(shell: Any, request: dict[str, Any]) -> dict[str, Any]:
    from . import shell as shells

    names = shell.user_ns
    before = dict(names)
    result = shells.run(shell, request["source"], request["number"], request["asks"], request["message"])
    error = result.error_before_exec or result.error_in_exec
    if isinstance(error, KeyboardInterrupt) and interpreter.core.ending():
        raise error  # the job ends, nobody pressed stop: why is pounced's to say
    reply: dict[str, Any] = {"shown": shell.displayhook.take()}
    own = [name for name in names if not name.startswith("_") and name not in shell.user_ns_hidden]
    assigned = [name for name in own if names[name] is not before.get(name, _absent)]
    reply["assigned"] = assigned + _changed_in_place(names, set(request["reads"]) - set(assigned))
    reply["deleted"] = [name for name in before if name not in names]
    if packages.installs(request["source"]):
        print(f"pounce: {packages.note()}", flush=True)
    if error is not None:
        reply["error"] = _error(shell, error)
    return reply


def _arrived(names: dict[str, Any], values: dict[str, Any]) -> None:
    names.update(values)
    _digests.update({name: _digest(value) for name, value in values.items()})


def _changed_in_place(names: dict[str, Any], read: set[str]) -> list[str]:
    """Of the notebook's variables that the cell read: what it has changed without assigning it. Assigned ones are the worker's own."""
    changed = []
    for name in sorted(read & _digests.keys() & names.keys()):
        digest = _digest(names[name])
        if digest != _digests[name]:
            changed.append(name)
        _digests[name] = digest
    return changed


def _digest(value: Any) -> bytes:
    try:
        return bundle.measure(value).digest
    except Exception:  # it cannot be sent any more: changed, then
        return uuid.uuid4().bytes


def _error(shell: Any, error: BaseException) -> dict[str, Any]:
    import asyncio

    kind = KeyboardInterrupt if isinstance(error, asyncio.CancelledError) else type(error)
    try:
        text = str(error)
    except Exception:
        text = "its message cannot be shown"
    return {"type": kind.__name__, "text": text, "lines": shell.stb or [], "node": interpreter.node, "devices": interpreter.devices,
            "name": getattr(error, "name", None) if isinstance(error, NameError) else None, "pickle": _pickled(error)}


def _pickled(error: BaseException) -> bytes:
    """Empty if it cannot travel: its words do."""
    try:
        data, _ = bundle.dumps({"error": error})
        bundle.loads(data, ())
        return data
    except Exception:
        return b""


def _bundle(values: dict[str, Any]) -> tuple[bytes, list[Any]]:
    try:
        return bundle.dumps(values)
    except Exception as error:
        from ..._common import serialize

        where, part, why = serialize.path_of_unpicklable(values, "the worker's variables") or ("", values, error)
        raise errors.ResultNotPicklable(f"{where} is a {type(part).__name__}, which cannot be brought back: {why}") from None


def variables(_: Any = None) -> list[tuple[str, str, str]]:
    """(name, type, a short text) of what people have put into the namespace."""
    hidden = _shell.user_ns_hidden if _shell is not None else {}
    found = []
    for name, value in sys.modules["__main__"].__dict__.items():
        if not name.startswith("_") and name not in hidden:
            shape = getattr(value, "shape", None)
            found.append((name, type(value).__name__, f"shape {tuple(shape)}" if isinstance(shape, tuple) else ""))
    return sorted(found)


def end_python() -> None:
    """The supervisor starts another at once."""
    os._exit(0)


def _the_shell(request: dict[str, Any]) -> Any:
    global _shell
    if _shell is None:
        try:
            from . import shell as shells
        except ImportError as error:
            raise errors.BadRequest(
                f"cells need IPython on the worker, whose Python {sys.executable} lacks {error.name}",
                "Install it there: python -m pip install ipython.",
            ) from None
        _shell = shells.make(page=bool(request["message"]))
        _shell.colors = request["colors"]
    return _shell
