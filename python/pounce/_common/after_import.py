"""``AfterImport``: a callback that runs as soon as a module has been imported here, before any code uses it."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class AfterImport:
    """Calls `then` once, when the module has been imported. After a failed import it keeps waiting.

    It is a finder in ``sys.meta_path``. It does without the base class: ``importlib.abc`` imports fifteen modules.
    """

    def __init__(self, module: str, then: Callable[[], None]):
        self._module, self._then = module, then
        self._is_searching = False  # the other finders look for the module
        sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Withdraws the callback, unless the import is already under way."""
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self._module or self._is_searching:
            return None
        self._is_searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_searching = False
        if spec is not None and spec.loader is not None:
            load = self._followed(spec.loader.exec_module)
            spec.loader.exec_module = load  # type: ignore[method-assign,assignment]
        return spec

    def _followed(self, load: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
        def load_then(module: ModuleType) -> None:
            load(module)
            self.stop()
            self._then()

        return load_then
