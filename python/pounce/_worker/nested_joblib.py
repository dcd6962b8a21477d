"""The joblib backend "pounce" on a worker: what joblib itself would do there, since a worker leases none.

joblib is not imported for it: what is told of here happens when somebody's code imports joblib.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any

_MODULE = "joblib.parallel"


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None) -> Any:
        if name != _MODULE:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        loader: Any = spec.loader if spec is not None else None
        if loader is not None:
            execute = loader.exec_module

            def execute_and_register(module: types.ModuleType) -> None:
                execute(module)
                _register(module)

            loader.exec_module = execute_and_register
        return spec


def install() -> None:
    """For this process."""
    sys.meta_path.insert(0, _Finder())


def is_installed() -> bool:
    return any(type(finder) is _Finder for finder in sys.meta_path)


def _register(joblib: Any) -> None:
    def nested(nesting_level: int | None = None, inner_max_num_threads: int | None = None, **_: Any) -> Any:
        """joblib's default; in a call of joblib's threads, and inside these nothing more. What it says of leases has no effect."""
        level = joblib.get_active_backend()[0].nesting_level if nesting_level is None else nesting_level
        name = joblib.DEFAULT_BACKEND if not level else "threading" if level == 1 else "sequential"
        limit = {"inner_max_num_threads": inner_max_num_threads} if name == joblib.DEFAULT_BACKEND else {}
        return joblib.BACKENDS[name](nesting_level=nesting_level, **limit)

    joblib.register_parallel_backend("pounce", nested)
