"""``PassedOn``: a result that other calls take. It is kept as an object, as it came, where no code can change it.

The engine makes the object of the bytes that arrive, and the worker that sent them keeps them too. So nothing is
pickled again, and other workers get the bytes from that worker.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from typing import Any

from .. import _core, errors
from .._common import local_modules, serialize


class PassedOn:
    """The result of one call, as long as it runs or another call waits for it. Any thread."""

    __slots__ = ("_core", "handle")

    def __init__(self, core: _core.Client):
        self._core = core
        self.handle: _core.ObjectHandle | None = None  # None: it has not ended, or its result is pickled for each taker

    def expect(self, task: str) -> None:
        """The call has been sent under this id."""
        with contextlib.suppress(errors.ClientClosed):
            self._core.keep_result(task)

    def loads(self, ended: _core.Ended) -> Any:
        with contextlib.suppress(errors.ClientClosed):
            self.handle = self._core.take_kept(ended.task)
        value, modules = serialize.loads_naming(ended.pickle, ended.buffers)
        if not are_same_everywhere(modules):
            self.handle = None
        return value


def are_same_everywhere(modules: Iterable[str]) -> bool:
    """Whether these modules are the same in every process. A worker gets all others as the notebook has them."""
    return all(module == "pounce._common.arrays" or _is_same_everywhere(module.partition(".")[0]) for module in modules)


def _is_same_everywhere(top: str) -> bool:
    if top in ("pounce", "cloudpickle", "__main__"):
        return False
    module = sys.modules.get(top)
    if module is None or local_modules.is_local(module):
        return False
    return top in sys.stdlib_module_names or local_modules.is_installed(module)
