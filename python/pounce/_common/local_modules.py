"""The user's own modules, edited while the session lives: which source text of them a worker runs.

An importable function is pickled by its name, so a worker that imported its module earlier would run the old code. Once
the file of such a module has changed, a text travels with each function (by digest: once to each worker). For calls it
is the file's current text (``LocalModules``), and the worker imports the user's modules again before it calls. For
cells it is what the notebook has loaded (``cell/loaded_modules.py``), and the worker reloads the modules that the
notebook has reloaded.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import site
import sys
import time
import types
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from typing import Any, NamedTuple, Protocol

from . import here

_SHARE = 100  # with many calls in a row, checking files takes at most one part in so many of the time


class Source(NamedTuple):
    """The source of one module. Only cells use the last three fields."""

    path: str
    is_package: bool
    text: bytes
    edition: int = 0  # grows with each load of any module; 0: as the module was first imported
    how: str = ""  # how it was loaded: "reload", or by IPython's autoreload "patch" (only what differs) or "whole"
    before: bytes = b""  # the text that autoreload compared it with


class Modules(Protocol):
    """The kernel's view: which text of the user's modules travels with functions."""

    in_place: bool  # the worker reloads modules as the notebook did; False: it imports all of them again

    def edited(self, surely: bool = False) -> dict[str, Source]: ...


class LocalModules:
    """For calls: the modules imported here that have changed since they were first seen, with their current text."""

    in_place = False

    def __init__(self) -> None:
        self._signatures: dict[str, tuple[str, tuple[int, int]]] = {}
        self._edited: dict[str, Source] = {}
        self._count = 0
        self._next_look = 0.0

    def edited(self, surely: bool = False) -> dict[str, Source]:
        """A new dict after each change; empty until a file has changed. Without `surely` it may miss the last edits."""
        if surely or time.monotonic() >= self._next_look:
            start = time.thread_time()  # excludes the time of other processes
            self._look()
            self._next_look = time.monotonic() + (time.thread_time() - start) * _SHARE
        if len(sys.modules) != self._count:
            self._find()
        return self._edited

    def _look(self) -> None:
        for name, (path, before) in list(self._signatures.items()):  # another thread may add to it
            try:
                signature = signature_of(path)
                if signature == before:
                    continue
                self._edited = {**self._edited, name: source_of(name, path)}
                self._signatures[name] = path, signature
            except OSError:  # it is gone, or an editor is about to replace it: keep what is known
                continue

    def _find(self) -> None:
        modules = dict(sys.modules)
        self._count = len(modules)
        for name, module in modules.items():
            if name not in self._signatures and is_local(module):
                with contextlib.suppress(OSError):
                    path = str(module.__file__)  # every local module has one
                    self._signatures[name] = path, signature_of(path)


class _Finder:
    """On the worker: imports changed modules from the sent texts. A shared file system may show edits late."""

    def __init__(self) -> None:
        self._sources: dict[str, Source] = {}
        self._generation = 0
        self._in_place = False
        self._editions: dict[str, int] = {}  # of the modules that were loaded from here
        self._follows = False  # the current reload repeats one of the notebook's

    def serve(self, sources: dict[str, Source], in_place: bool) -> int:
        """Imports use these texts from now on. Returns a new number after each change of them."""
        if sources != self._sources:
            self._sources, self._in_place = sources, in_place
            self._generation += 1
            self.install()
            if not in_place:
                # All of them: one that was not edited may have `from edited import name` at its top.
                for name in [name for name, module in dict(sys.modules).items() if is_local(module)]:
                    del sys.modules[name]
            importlib.invalidate_caches()
        return self._generation

    def install(self) -> None:
        """Reloads read the source file from now on."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def later(self) -> list[tuple[str, Source]]:
        """The modules here that the notebook has loaded again since, in its order. Each is returned once."""
        newer = [(name, source) for name, source in self._sources.items()
                 if name in sys.modules and source.edition > self._editions.get(name, 0)]
        self._editions.update((name, source.edition) for name, source in newer)
        return sorted(newer, key=lambda each: each[1].edition)

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        """Reloads inside the block repeat the notebook's, from the texts that were sent."""
        self._follows = True
        try:
            yield
        finally:
            self._follows = False

    def find_spec(self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None) -> Any:
        source = self._source(name, target)
        if source is None:
            return None
        places = [os.path.dirname(source.path)] if source.is_package else None
        return importlib.util.spec_from_file_location(
            name, source.path, loader=_Loader(name, source), submodule_search_locations=places
        )

    def _source(self, name: str, target: types.ModuleType | None) -> Source | None:
        if target is not None and not self._follows and (self._in_place or name not in self._sources):
            # A cell reloads it by itself: it gets the file's current text, never cached bytecode.
            with contextlib.suppress(OSError):
                return source_of(name, file_of(target)) if is_local(target) else None
        source = self._sources.get(name)
        if source is not None:
            self._editions[name] = source.edition
        return source


class _Loader(SourceFileLoader):
    """Loads a module from the sent text, never from cached bytecode."""

    def __init__(self, name: str, source: Source):
        super().__init__(name, source.path)
        self._source = source

    def path_stats(self, path: str | bytes) -> Mapping[str, Any]:
        raise OSError(path)  # so that no cached bytecode is looked for, and none is written

    def get_data(self, path: str | bytes) -> bytes:
        if path != self._source.path:
            raise OSError(path)
        return self._source.text


_finder = _Finder()
serve, install, later, following = _finder.serve, _finder.install, _finder.later, _finder.following


def is_local(module: Any) -> bool:
    """True for Python source that belongs to no installation: beside the notebook, or installed for editing."""
    path = file_of(module)
    name = getattr(module, "__name__", "__main__")
    if not path.endswith(".py") or name == "__mp_main__" or name.partition(".")[0] in ("__main__", "pounce"):
        return False
    return not here.absolute(path).startswith(_installed())


def file_of(module: Any) -> str:
    """Its file, or empty. Autoreload empties a module before it loads it again, and keeps only the loader."""
    path = getattr(module, "__file__", None) or getattr(getattr(module, "__loader__", None), "path", None)
    return path if isinstance(path, str) else ""


def is_installed(module: Any) -> bool:
    """True for modules of an installation, which users do not edit."""
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    return is_installed_path(next((place for place in places if isinstance(place, str)), ""))


def is_installed_path(path: str) -> bool:
    return here.absolute(path).startswith(_installed())


_roots: tuple[str, ...] = ()


class SearchPath(NamedTuple):
    """The folders that the user added to ``sys.path``, in their order. An empty text is the notebook's folder."""

    front: list[str]
    between: list[str]  # the standard library and the installed packages: IPython puts the notebook's folder there
    behind: list[str]

    def folders(self) -> list[str]:
        return [folder for part in self for folder in part if folder]


def search_path() -> SearchPath:
    folder, paths = here.folder(), SearchPath([], [], [])
    into = paths.front
    for path in dict.fromkeys(here.absolute(entry) for entry in sys.path):
        if path == folder:
            into.append("")
        elif os.path.join(path, "").startswith(_installed()):
            into = paths.behind if is_of_packages(path) else paths.between
        elif os.path.exists(path):
            into.append(path)
    return paths


def is_of_packages(path: str) -> bool:
    return path.endswith("-packages")  # site-packages, and Debian's dist-packages


def standard_modules() -> list[str]:
    """The imported modules of the standard library: an import of one finds it, whatever lies on ``sys.path``."""
    names = sys.stdlib_module_names - set(sys.builtin_module_names)
    return sorted(name for name in names if (module := sys.modules.get(name)) is not None and not is_local(module))


def _installed() -> tuple[str, ...]:
    global _roots
    if not _roots:
        import sysconfig

        folders = {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix, *site.getsitepackages(),
                   site.getusersitepackages()}
        _roots = tuple(os.path.join(folder, "") for folder in folders)
    return _roots


def signature_of(path: str) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size


def source_of(name: str, path: str) -> Source:
    with open(path, "rb") as file:
        return Source(path, hasattr(sys.modules.get(name), "__path__"), file.read())
