"""``Setting``: how one kind of setting is read and written, and how it travels."""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

BY_SETUP = "a cell with --setup makes it on each worker"  # what to do about a setting that cannot travel


class Setting(NamedTuple):
    """Read and written with the imported `library`; of Python itself, with the module that has it.

    A row with `usual` is a dict of options that follow one by one: `write` takes any part of it. Another row is one
    value, of which `fresh` tells whether a fresh process has it. None: there is nothing to keep.
    """

    library: str
    read: Callable[[Any], Any]
    write: Callable[[Any, Any], Any]
    usual: Callable[[Any], Mapping[str, Any]] | None = None  # each option as it is in a fresh process
    fresh: Callable[[Any], bool] = lambda value: False
    left_out: Callable[[Any], Iterable[tuple[str, str]]] = lambda library: ()  # what cannot travel, and what to do
    is_quick: bool = False  # to read: a microsecond or two
    mark: Callable[[Any], Any] | None = None  # of a quick row: it changes with the row, and is read sooner
    at_once: Callable[[Mapping[str, bytes]], bool] = lambda options: False  # they act on code that names no library

    @property
    def module(self) -> Any:
        """None: it is not imported here, so there is nothing to read."""
        return sys.modules.get(self.library)

    @property
    def package(self) -> str:
        return self.library.partition(".")[0]

    def waits(self) -> bool:
        """Whether it is written only when its library is used here: importing it takes time."""
        return self.library not in sys.modules and self.package not in sys.stdlib_module_names

    def changed(self) -> Any:
        """The value; of options only those that are not as usual. None: there is none."""
        value = self.read(self.module)
        return value if self.usual is None or value is None else differing(value, self.usual(self.module)) or None


def differing(options: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are new or have another value."""
    return {name: value for name, value in options.items()
            if name not in before or not (value is before[name] or is_equal(value, before[name]))}


def is_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # an array, for example
        return False


def pickled(value: Any) -> bytes:
    """A function of the notebook uses the reader's variables, as one that is a variable itself does."""
    from .. import bundle  # a worker's calls do without

    file = io.BytesIO()
    bundle.pickler(file).dump(value)
    return file.getvalue()


def packed(options: Mapping[str, Any], problems: dict[str, str]) -> bytes:
    """Each option by itself, so that one that the reader cannot read costs no other. Those that cannot be pickled are
    left out, and added to `problems` with the reason."""
    parts = {}
    for name, value in options.items():
        try:
            parts[name] = pickled(value)
        except Exception as error:
            problems[name] = f"{type(error).__name__}: {error}"
    return pickle.dumps(parts, 5)


def unpacked(data: bytes) -> dict[str, bytes]:
    """The pickled options by name. An older pounce pickled them together."""
    options = pickle.loads(data)
    return {name: value if isinstance(value, bytes) else pickled(value) for name, value in options.items()}
