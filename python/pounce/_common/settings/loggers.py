"""The configuration of ``logging`` as plain values: levels, and handlers that can be made again in another process."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from ..local_modules import is_local
from .setting import BY_SETUP

# Attributes with which each kind of handler is made again; nothing that derives from them is known to be equal.
_FILE = {"baseFilename": "filename", "mode": "mode", "encoding": "encoding", "delay": "delay", "errors": "errors"}
_ROTATING = {**_FILE, "maxBytes": "maxBytes", "backupCount": "backupCount"}
_KINDS: dict[str, dict[str, str]] = {
    "logging.NullHandler": {}, "logging.FileHandler": _FILE, "logging.handlers.RotatingFileHandler": _ROTATING}
_STREAM = "logging.StreamHandler"
_FORMATTER = "logging.Formatter"
_KERNELS = "IPKernelApp"
_OF_PYTHON = frozenset(("builtins", "logging", "_io", "io", "__main__"))
_STYLE, _TEXT = "_style", "_fmt"  # a formatter has no public names for them
_STYLES = {"PercentStyle": "%", "StrFormatStyle": "{", "StringTemplateStyle": "$"}


def read(logging: Any) -> dict[str, Any] | None:
    """None: nothing is configured. Handlers that cannot be made again are left out."""
    loggers = {}
    for name, logger in _loggers(logging):
        handlers = [made for handler in _own_handlers(name, logger) if (made := _described(handler)) is not None]
        state = {"level": logger.level, "propagate": logger.propagate, "disabled": logger.disabled,
                 "handlers": handlers}
        if state != _usual(logging, name):
            loggers[name] = state
    disabled = logging.root.manager.disable
    return {"loggers": loggers, "disabled": disabled} if loggers or disabled else None


def write(logging: Any, saved: dict[str, Any]) -> None:
    """Handlers that a logger has already are not added again."""
    logging.disable(saved["disabled"])
    for name, state in saved["loggers"].items():
        logger = logging.getLogger(name) if name else logging.root
        logger.setLevel(state["level"])
        logger.propagate, logger.disabled = state["propagate"], state["disabled"]
        present = [_described(handler) for handler in logger.handlers]
        for described in state["handlers"]:
            if described not in present:
                logger.addHandler(_made(logging, described))


def left_out(logging: Any) -> Iterable[tuple[str, str]]:
    for name, logger in _loggers(logging):
        for handler in _own_handlers(name, logger):
            if _described(handler) is None:
                yield f"the handler {type(handler).__name__} of the logger {name or 'root'}", BY_SETUP


def _loggers(logging: Any) -> Iterator[tuple[str, Any]]:
    """The root, and those that anything was set of: libraries have hundreds that are as they began."""
    yield "", logging.root
    every = logging.root.manager.loggerDict.items()
    yield from sorted((name, logger) for name, logger in every if isinstance(logger, logging.Logger)
                      and (logger.level or logger.handlers or logger.disabled or not logger.propagate))


def _own_handlers(name: str, logger: Any) -> list[Any]:
    """A library adds its handlers again where it is imported again, and the kernel has its own."""
    if name == _KERNELS or name.partition(".")[0] in sys.modules:
        return []
    return [handler for handler in logger.handlers if not _is_of_a_library(handler)]


def _is_of_a_library(handler: Any) -> bool:
    """One with the library's formatter that writes to the library's stream: MLflow gives it to other libraries too."""
    kinds = [type(handler.formatter), type(getattr(handler, "stream", None))]
    (package, *others) = {kind.__module__.partition(".")[0] for kind in kinds}
    module = sys.modules.get(package)
    return not others and package not in _OF_PYTHON and module is not None and not is_local(module)


def _usual(logging: Any, name: str) -> dict[str, Any]:
    level = logging.NOTSET if name else logging.WARNING
    return {"level": level, "propagate": True, "disabled": False, "handlers": []}


def _kind(thing: Any) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def _described(handler: Any) -> dict[str, Any] | None:
    """None: it cannot be made again."""
    formatter, kind = handler.formatter, _kind(handler)
    if handler.filters or (formatter is not None and _kind(formatter) != _FORMATTER):
        return None
    described: dict[str, Any] = {"kind": kind, "level": handler.level, "format": None}
    if formatter is not None:
        style = _STYLES.get(type(getattr(formatter, _STYLE)).__name__)
        if style is None:
            return None
        described["format"] = (getattr(formatter, _TEXT), formatter.datefmt, style)
    if kind == _STREAM:
        stream = _stream_name(handler.stream)
        return {**described, "stream": stream} if stream else None
    if kind not in _KINDS:
        return None
    return {**described, "arguments": {word: getattr(handler, name) for name, word in _KINDS[kind].items()}}


def _stream_name(stream: Any) -> str:
    for name in ("stdout", "stderr"):
        if stream is getattr(sys, name) or stream is getattr(sys, f"__{name}__"):
            return name
    return ""


def _made(logging: Any, described: dict[str, Any]) -> Any:
    module, _, name = described["kind"].rpartition(".")
    kind = getattr(importlib.import_module(module), name)
    if described["kind"] == _STREAM:
        handler = kind(getattr(sys, described["stream"]))
    else:
        arguments = dict(described["arguments"])
        if arguments.get("mode") == "w" and os.path.exists(arguments["filename"]):
            arguments["mode"] = "a"  # what the earlier process has written stays
        handler = kind(**arguments)
    handler.setLevel(described["level"])
    if described["format"] is not None:
        handler.setFormatter(logging.Formatter(*described["format"]))
    return handler
