"""``PassedOn``: a result that other calls take. An object of it is kept as it came, where nobody can change it.

The engine makes it of the bytes that arrive, and the worker that sent them keeps them, too: nothing is pickled again, and
what goes to other workers goes from there.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from typing import Any

from .. import _core, errors
from .._common import local_modules, serialize


class PassedOn:
    """Of one call, as long as it runs or another waits for it. Any thread."""

    __slots__ = ("_core", "hold")

    def __init__(self, core: _core.Client):
        self._core = core
        self.hold: _core.Hold | None = None  # None: it has not ended, or its result is pickled for each that takes it

    def expect(self, task: str) -> None:
        """It has been sent under this id."""
        with contextlib.suppress(errors.ClientClosed):
            self._core.keep_result(task)

    def loads(self, ended: _core.Ended) -> Any:
        """The value of a call that ended well."""
        with contextlib.suppress(errors.ClientClosed):
            self.hold = self._core.take_kept(ended.task)
        value, modules = serialize.loads_naming(ended.pickle, ended.buffers)
        if not are_same_everywhere(modules):
            self.hold = None
        return value


def are_same_everywhere(modules: Iterable[str]) -> bool:
    """What a pickle takes from these is the same in every process: what is not, a worker gets as the notebook has it."""
    return all(module == "pounce._common.arrays" or _is_same_everywhere(module.partition(".")[0]) for module in modules)


def _is_same_everywhere(top: str) -> bool:
    if top in ("pounce", "cloudpickle", "__main__"):
        return False
    module = sys.modules.get(top)
    if module is None or local_modules.is_local(module):
        return False
    return top in sys.stdlib_module_names or local_modules.is_installed(module)
