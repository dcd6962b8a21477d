"""State of the process itself and not of a name: its directory, environment, seeds, and options of libraries."""

from __future__ import annotations

import importlib
import os
import pickle
import random
import sys
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from ..._common import here
from ..launch_variables import is_of_one_worker


@dataclass
class Baseline:
    """The process's initial state; only differences from it are saved."""

    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    path: list[str] = field(default_factory=lambda: list(sys.path))
    folder: str = field(default_factory=here.folder)
    filters: list[Any] = field(default_factory=lambda: list(warnings.filters))


def taken(baseline: Baseline, waiting: Waiting | None = None) -> bytes:
    """The pickled state. A part that cannot be pickled is left out; a part that still waits stays as it was."""
    parts = {} if waiting is None else dict(waiting.parts)
    for name, (take, _) in _PARTS.items():
        try:
            value = take(baseline)
            if value is not None:
                parts[name] = pickle.dumps(value, 5)
        except Exception:  # an error in one library's options: the others are worth keeping
            continue
    return pickle.dumps(parts, 5)


def seeds() -> bytes:
    """The seeds of the libraries that are imported here."""
    baseline = Baseline()
    states = {name: _PARTS[name][0](baseline) for name in SEEDS}
    return pickle.dumps({name: pickle.dumps(value, 5) for name, value in states.items() if value is not None}, 5)


def put_seeds_back(data: bytes) -> None:
    Waiting(data).put_back(SEEDS)


class Waiting:
    """Parts of a saved process that this one lacks: those of libraries wait until the library is used here."""

    def __init__(self, data: bytes = b""):
        self.parts: dict[str, bytes] = pickle.loads(data) if data else {}

    def put_back(self, words: Collection[str] = ()) -> dict[str, str]:
        """Restores parts of no library, or of a library that is imported here or whose name is among `words`. Returns
        the reasons by part, for parts that do not fit this process.
        """
        failed: dict[str, str] = {}
        for name in list(self.parts):
            library = _LIBRARIES.get(name, "")
            if library and library not in sys.modules and library not in words:
                continue
            part = self.parts.pop(name)
            try:
                _PARTS[name][1](pickle.loads(part))
            except Exception as error:
                failed[name] = f"{type(error).__name__}: {error}"
        return failed


# ---- the process ----

def _folder(baseline: Baseline) -> Any:
    now = here.folder()
    return now if now != baseline.folder else None


def _environment(baseline: Baseline) -> Any:
    now, before = dict(os.environ), baseline.environment
    changed = {name: now.get(name) for name in now.keys() | before.keys() if now.get(name) != before.get(name)}
    return {name: value for name, value in changed.items() if not is_of_one_worker(name)} or None


def _set_environment(changes: dict[str, str | None]) -> None:
    for name, value in changes.items():
        if is_of_one_worker(name):  # an older pounce saved it
            continue
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _path(baseline: Baseline) -> Any:
    """The entries added in front, added behind, and removed."""
    before, now = baseline.path, sys.path
    if now == before:
        return None
    old = [place for place, folder in enumerate(now) if folder in before]
    first = old[0] if old else len(now)
    behind = [folder for folder in now[first:] if folder not in before]
    return now[:first], behind, [folder for folder in before if folder not in now]


def _set_path(changes: tuple[list[str], list[str], list[str]]) -> None:
    front, behind, gone = changes
    sys.path[:] = [*front, *(folder for folder in sys.path if folder not in gone and folder not in front), *behind]


def _filters(baseline: Baseline) -> Any:
    now = list(warnings.filters)
    return now if now != baseline.filters else None


def _set_filters(filters: list[Any]) -> None:
    warnings.filters[:] = filters  # type: ignore[index]
    getattr(warnings, "_filters_mutated", lambda: None)()


# ---- libraries, if they were imported ----

_REGISTERED, _DEPRECATED = "_registered_options", "_deprecated_options"  # pandas' defaults are not public


def _of(module: str, take: Callable[[Any], Any]) -> Callable[[Baseline], Any]:
    def part(_: Baseline) -> Any:
        library = sys.modules.get(module)
        return None if library is None else take(library)

    return part


def _into(module: str, put: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def part(value: Any) -> None:
        put(importlib.import_module(module), value)

    return part


def _torch(torch: Any) -> Any:
    cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
    return {"cpu": torch.get_rng_state().numpy(),
            "cuda": [state.numpy() for state in torch.cuda.get_rng_state_all()] if cuda else [],
            "dtype": torch.get_default_dtype(), "deterministic": torch.are_deterministic_algorithms_enabled(),
            "grad": torch.is_grad_enabled()}


def _set_torch(torch: Any, saved: dict[str, Any]) -> None:
    torch.set_rng_state(torch.from_numpy(saved["cpu"]))
    torch.set_default_dtype(saved["dtype"])
    torch.use_deterministic_algorithms(saved["deterministic"])
    torch.set_grad_enabled(saved["grad"])
    for device, state in enumerate(saved["cuda"][: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(torch.from_numpy(state), device)


def _matplotlib(library: Any) -> Any:
    now, usual = library.rcParams, library.rcParamsDefault
    changed = {name: now[name] for name in now if name != "backend" and now[name] != usual.get(name)}
    return changed or None


def _pandas(pandas: Any) -> Any:
    config = importlib.import_module("pandas._config.config")
    known: dict[str, Any] = getattr(config, _REGISTERED)
    deprecated: dict[str, Any] = getattr(config, _DEPRECATED)
    now = {name: pandas.get_option(name) for name in known if name not in deprecated}
    return {name: value for name, value in now.items() if value != known[name].defval} or None


def _set_pandas(pandas: Any, options: dict[str, Any]) -> None:
    for name, value in options.items():
        pandas.set_option(name, value)


# The library of a part; parts of the process itself have none.
_LIBRARIES = {"numpy": "numpy", "printing": "numpy", "torch": "torch", "matplotlib": "matplotlib", "pandas": "pandas"}
SEEDS = {"random": "random", "numpy": "numpy.random", "torch": "torch"}  # with the modules that have the generators
_PARTS: dict[str, tuple[Callable[[Baseline], Any], Callable[[Any], Any]]] = {
    "folder": (_folder, os.chdir),
    "environment": (_environment, _set_environment),
    "path": (_path, _set_path),
    "warnings": (_filters, _set_filters),
    "random": (lambda _: random.getstate(), random.setstate),
    "numpy": (_of("numpy.random", lambda drawn: drawn.get_state()),
              _into("numpy.random", lambda drawn, state: drawn.set_state(state))),
    "printing": (_of("numpy", lambda numpy: numpy.get_printoptions()),
                 _into("numpy", lambda numpy, new: numpy.set_printoptions(**new))),
    "torch": (_of("torch", _torch), _into("torch", _set_torch)),
    "matplotlib": (_of("matplotlib", _matplotlib),
                   _into("matplotlib", lambda plots, saved: plots.rcParams.update(saved))),
    "pandas": (_of("pandas", _pandas), _into("pandas", _set_pandas)),
}
