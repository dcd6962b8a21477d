"""What IPython keeps of the last cells, ``_``, ``Out`` and ``In``, on whichever worker of a notebook a cell runs.

The values are saved as ``_7``, the names of single cells. The notebook says which of them the last ones are.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..._common.names_shown import LAST

_ALL = frozenset(("Out", "_oh"))
VALUE = re.compile(r"_(\d+)")
_INPUT = re.compile(r"_i(i{0,2}|\d+)")
_MOST_BYTES = 16 * 1024 * 1024  # of a value that is saved: it may be one that nothing else keeps
_MOST_ITEMS = 1000


class LastValues:
    def __init__(self, shell: Any):
        self._small: dict[str, tuple[int, bool]] = {}  # by name: of which object, and whether it is saved
        self._hook, self._history, self._names = shell.displayhook, shell.history_manager, shell.user_ns
        for name in LAST:  # saved ones are restored only where the name is free
            self._names.pop(name, None)

    def forget(self) -> None:
        """The values were another notebook's."""
        self._names["_oh"].clear()
        for name in LAST:
            self._names.pop(name, None)
            setattr(self._hook, name, "")

    def are_ipythons(self, name: str) -> bool:
        """Whether IPython gave the name its value, and will give it the next one. The user may have taken ``_``."""
        return name in LAST and self._names.get(name) is getattr(self._hook, name)

    def hides(self, name: str, hidden: Collection[str]) -> bool:
        """Whether the name is not saved. IPython hides the values of all cells."""
        if VALUE.fullmatch(name):
            value = self._names[name]
            if self._small.get(name, (0, False))[0] != id(value):
                self._small[name] = id(value), _is_small(value)
            return not self._small[name][1]
        return (name in hidden and name not in LAST) or self.are_ipythons(name) or _INPUT.fullmatch(name) is not None

    def needed(self, read: set[str] | None, last: Mapping[str, int], saved: Collection[str]) -> set[str]:
        """The saved names that a cell needs which reads these; None: any."""
        values = {name for name in saved if VALUE.fullmatch(name)}
        if read is None or _ALL & read:
            return values.union(LAST) & set(saved)
        return (values & {f"_{number}" for number in last.values()}).union(LAST) & set(saved)

    def begin(self, last: Mapping[str, int], sent: Mapping[str, Any], inputs: Sequence[str]) -> None:
        """Before a cell: `last` are the numbers of cells on workers whose values are ``_`` and so on, and `sent` are
        values of the notebook's own cells. `inputs` are the sources of all cells, if this one reads them."""
        here = {name: self._names[f"_{number}"] for name, number in last.items() if f"_{number}" in self._names}
        for name, value in {**sent, **here}.items():
            if name not in self._names or self.are_ipythons(name):
                self._names[name] = value
                setattr(self._hook, name, value)
        shown = {int(found[1]): self._names[name] for name in list(self._names) if (found := VALUE.fullmatch(name))}
        self._names["_oh"].update(shown)
        if inputs:
            history = self._history
            history.input_hist_parsed[:] = inputs
            history._ii, history._i, history._i00 = ["", "", "", *inputs][-3:]
            self._names.update({f"_i{number}": text for number, text in enumerate(inputs) if number})


def _is_small(value: Any, depth: int = 4) -> bool:
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        return depth > 0 and len(value) <= _MOST_ITEMS and all(_is_small(part, depth - 1) for part in parts)
    if type(value).__module__.partition(".")[0] not in ("builtins", "numpy", "pandas", "torch"):
        return False
    size = getattr(value, "nbytes", None)
    return (size if isinstance(size, int) else sys.getsizeof(value)) <= _MOST_BYTES
