"""``LoadedModules``: cells on workers get the user's own modules as the notebook has loaded them.

A module is what its file contained when it was imported or reloaded here, whatever the file contains now.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import itertools
import os
import sys
import threading
import types
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._common.local_modules import Source, file_of, is_local, signature_of, source_of
from ..calls import follow
from ..client import Client
from .stop import say

_HEADER = 16  # bytes, of compiled code: magic number, flags, the source's time and size


@dataclass
class _Loaded:
    source: Source
    signature: tuple[int, int]  # of the file, when the module was loaded
    module: Any  # a weak reference
    spec: Any  # another one after each reload
    patched: float | None  # the file's time when autoreload last looked


class LoadedModules(importlib.abc.MetaPathFinder):
    """Any thread. It is a finder that finds nothing: Python calls it first, so it sees each reload with its text."""

    in_place = True

    def __init__(self, shell: Any):
        self._shell = shell
        self._known: dict[str, _Loaded] = {}
        self._count = 0  # of all modules, at the last look
        self._reloads: list[tuple[str, Source, tuple[int, int]]] = []
        self._edited: dict[str, Source] = {}
        self._edition = itertools.count(1)
        self._lock = threading.Lock()
        sys.meta_path.insert(0, self)
        self.edited()
        older = [name for name, loaded in self._known.items() if _is_older(loaded)]
        if older:
            say(f"edited after this notebook had imported it: {', '.join(older)}; "
                "workers import what the file says now, and importlib.reload has the notebook do so too")

    def followed(self, client: Client) -> Client:
        """`client`, whose workers have these modules."""
        follow(client, self)
        return client

    def find_spec(self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None) -> None:
        if target is None or not is_local(target):
            return
        with contextlib.suppress(OSError, SyntaxError, ValueError):
            file = file_of(target)
            signature, source = signature_of(file), source_of(name, file)
            compile(source.text, file, "exec", dont_inherit=True)  # a syntax error leaves the module as it was
            self._reloads.append((name, source, signature))

    def edited(self, surely: bool = False) -> dict[str, Source]:
        """The modules whose text a new worker would not find, or that were reloaded. A new dict after each change."""
        with self._lock:
            mtimes, failed = self._autoreloaded()
            if len(sys.modules) != self._count:
                self._find(mtimes)
            self._note_reloads(mtimes, failed)
            self._note_others(mtimes, failed)
            changed = {name: known.source for name, known in self._known.items()
                       if name in self._edited or _has_changed(known)}
            if changed != self._edited:
                self._edited = changed
            return self._edited

    def _find(self, mtimes: dict[str, float]) -> None:
        """Adds the modules that were imported since the last look."""
        modules = dict(sys.modules)
        self._count = len(modules)
        for name, module in modules.items():
            if name not in self._known and is_local(module):
                with contextlib.suppress(OSError):
                    path = file_of(module)
                    signature, source, spec = signature_of(path), source_of(name, path), _spec_of(module)
                    self._known[name] = _Loaded(source, signature, weakref.ref(module), spec, mtimes.get(name))

    def _note_reloads(self, mtimes: dict[str, float], failed: dict[str, float]) -> None:
        """Handles reloads in their order, each with the text that it took."""
        reloads, self._reloads = self._reloads, []
        for name, source, signature in reloads:
            known = self._known.get(name)
            if known is not None:
                how = "whole" if _is_patched(known, mtimes.get(name), failed) else "reload"
                self._loaded_again(known, source, signature, how)
                known.module = weakref.ref(sys.modules.get(name, sys))
                known.spec, known.patched = _spec_of(sys.modules.get(name)), mtimes.get(name)

    def _note_others(self, mtimes: dict[str, float], failed: dict[str, float]) -> None:
        """Handles modules that changed without a reload: removed and imported again, or patched by autoreload."""
        for name, known in self._known.items():
            module = sys.modules.get(name)
            if module is None:
                continue
            another = known.module() is not module
            if another or (known.spec is _spec_of(module) and _is_patched(known, mtimes.get(name), failed)):
                with contextlib.suppress(OSError):
                    path = known.source.path
                    signature, source = signature_of(path), source_of(name, path)
                    self._loaded_again(known, source, signature, "reload" if another else "patch")
            if another:
                known.module = weakref.ref(module)
            known.spec, known.patched = _spec_of(module), mtimes.get(name)

    def _loaded_again(self, known: _Loaded, source: Source, signature: tuple[int, int], how: str) -> None:
        before = known.source.text if how == "patch" else b""
        known.source, known.signature = source._replace(edition=next(self._edition), how=how, before=before), signature

    def _autoreloaded(self) -> tuple[dict[str, float], dict[str, float]]:
        """From IPython's extension: modules' file times when it loaded them, and the files that it could not load."""
        magic = self._shell.magics_manager.magics["line"].get("autoreload")
        reloader = getattr(getattr(magic, "__self__", None), "_reloader", None)
        return getattr(reloader, "modules_mtimes", {}), getattr(reloader, "failed", {})


def _spec_of(module: Any) -> Any:
    return getattr(module, "__spec__", None)


def _is_patched(known: _Loaded, patched: float | None, failed: dict[str, float]) -> bool:
    """Whether autoreload has loaded the module since the last look."""
    return known.patched is not None and patched != known.patched and failed.get(known.source.path) != patched


def _has_changed(known: _Loaded) -> bool:
    """Whether the module was reloaded, or its file differs from what was loaded."""
    if known.source.edition:
        return True
    try:
        return signature_of(known.source.path) != known.signature
    except OSError:  # a worker could not import it at all
        return True


def _is_older(known: _Loaded) -> bool:
    """Whether the notebook runs an earlier text, which is lost. When Python imports, it writes compiled code of the
    text that it read; the header has that file's time and size."""
    cached = getattr(known.spec, "cached", None)
    if not cached or sys.dont_write_bytecode or not os.access(os.path.dirname(cached), os.W_OK):
        return False
    try:
        with open(cached, "rb") as file:
            header = file.read(_HEADER)
    except OSError:
        return False
    numbers = known.signature[0] // 10**9, known.signature[1]
    facts = b"".join((number & 0xFFFFFFFF).to_bytes(4, "little") for number in numbers)
    return header[4:8] == bytes(4) and header[8:] != facts
