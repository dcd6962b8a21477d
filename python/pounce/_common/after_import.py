"""``AfterImport``: what is to be done as soon as a module has been imported here, before anybody uses it."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class AfterImport(importlib.abc.MetaPathFinder):
    """Calls `then` when the module has been imported, once."""

    def __init__(self, module: str, then: Callable[[], None]):
        self._module, self._then = module, then
        sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """It calls nothing any more, unless the import is under way."""
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self._module:
            return None
        self.stop()
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = _followed(spec.loader.exec_module, self._then)
            spec.loader.exec_module = load  # type: ignore[method-assign,assignment]
        return spec


def _followed(load: Callable[[ModuleType], None], then: Callable[[], None]) -> Callable[[ModuleType], None]:
    def load_then(module: ModuleType) -> None:
        load(module)
        then()

    return load_then
