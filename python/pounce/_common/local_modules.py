"""Modules of the user's own, edited while the session lives: a worker runs what their files say now.

What can be imported is pickled by its name, so a worker that imported it earlier would run the old code. Once the file of
such a module has changed, its content travels with each function (by digest: once to each worker), and the worker imports
the user's modules anew before it calls. In the notebook itself nothing is reloaded.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.util
import os
import site
import sys
import time
import types
from collections.abc import Sequence
from typing import Any, NamedTuple

_SHARE = 20  # of many calls in a row: files are looked at so seldom that it takes at most this part of the time


class Source(NamedTuple):
    path: str
    is_package: bool
    text: bytes


class LocalModules:
    """The client's view: which of the modules imported here have changed since they were first seen."""

    def __init__(self) -> None:
        self._signatures: dict[str, tuple[str, tuple[int, int]]] = {}
        self._edited: dict[str, Source] = {}
        self._count = 0
        self._next_look = 0.0

    def edited(self, surely: bool = False) -> dict[str, Source]:
        """A new dict after each change; empty until a file has changed. An edit of this moment may be missed unless `surely`."""
        if surely or time.monotonic() >= self._next_look:
            start = time.thread_time()  # not what a busy machine adds
            self._look()
            self._next_look = time.monotonic() + (time.thread_time() - start) * _SHARE
        if len(sys.modules) != self._count:
            self._find()
        return self._edited

    def _look(self) -> None:
        for name, (path, before) in list(self._signatures.items()):  # another thread may add to it
            try:
                signature = _signature(path)
                if signature == before:
                    continue
                self._edited = {**self._edited, name: _source(name, path)}
                self._signatures[name] = path, signature
            except OSError:  # it is gone, or an editor is about to put it there: what is known holds
                continue

    def _find(self) -> None:
        modules = dict(sys.modules)
        self._count = len(modules)
        for name, module in modules.items():
            if name not in self._signatures and is_local(module):
                with contextlib.suppress(OSError):
                    path = str(module.__file__)  # a local module has one
                    self._signatures[name] = path, _signature(path)


class _Finder(importlib.abc.MetaPathFinder):
    """On the worker: imports changed modules from what was sent. A shared file system may show them late."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}
        self._generation = 0

    def serve(self, sources: dict[str, Source]) -> int:
        if sources != self._sources:
            if self not in sys.meta_path:
                sys.meta_path.insert(0, self)
            self._sources = sources
            self._generation += 1
            # All of them: one that was not edited may have `from edited import name` at its top.
            for name in [name for name, module in dict(sys.modules).items() if is_local(module)]:
                del sys.modules[name]
            importlib.invalidate_caches()
        return self._generation

    def find_spec(self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None) -> Any:
        source = self._sources.get(name)
        if source is None:
            return None
        places = [os.path.dirname(source.path)] if source.is_package else None
        return importlib.util.spec_from_file_location(
            name, source.path, loader=_Loader(name, source), submodule_search_locations=places
        )


class _Loader(importlib.abc.SourceLoader):
    def __init__(self, name: str, source: Source):
        self._name, self._source = name, source

    def get_filename(self, fullname: str) -> str:
        return self._source.path

    def get_data(self, path: str | bytes) -> bytes:
        if path != self._source.path:
            raise OSError(path)  # no cached bytecode
        return self._source.text


_finder = _Finder()


def serve(sources: dict[str, Source]) -> int:
    """On the worker: what is imported from now on is of these texts. Another number after each change of them."""
    return _finder.serve(sources)


def is_local(module: Any) -> bool:
    """True for Python source that belongs to no installation: beside the notebook, or installed for editing."""
    path = getattr(module, "__file__", None)
    name = getattr(module, "__name__", "__main__")
    if not isinstance(path, str) or not path.endswith(".py") or name == "__mp_main__" or name.partition(".")[0] in ("__main__", "pounce"):
        return False
    return not os.path.abspath(path).startswith(_installed())


def is_installed(module: Any) -> bool:
    """True for what belongs to an installation, which no user edits."""
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    return is_installed_path(next((place for place in places if isinstance(place, str)), ""))


def is_installed_path(path: str) -> bool:
    return os.path.abspath(path).startswith(_installed())


_roots: tuple[str, ...] = ()


def search_path() -> list[str]:
    """The folders that the user added to ``sys.path``, where a worker has to look too."""
    added = [os.path.join(os.path.abspath(path), "") for path in sys.path if path]
    return [path for path in added if os.path.isdir(path) and not path.startswith(_installed())]


def _installed() -> tuple[str, ...]:
    global _roots
    if not _roots:
        import sysconfig

        folders = {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix, *site.getsitepackages(), site.getusersitepackages()}
        _roots = tuple(os.path.join(folder, "") for folder in folders)
    return _roots


def _signature(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_mtime_ns, found.st_size


def _source(name: str, path: str) -> Source:
    with open(path, "rb") as file:
        return Source(path, hasattr(sys.modules.get(name), "__path__"), file.read())
