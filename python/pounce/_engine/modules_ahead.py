"""The modules that workers load before a task needs them: those that its calls name, then the notebook's others."""

from __future__ import annotations

import opcode
import sys
import types
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from .._common import local_modules
from .._common.code_names import global_names
from .._common.fingerprint import importable
from .._common.ref import Ref

_MOST = 32        # of each list
_LOOKED_AT = 8    # items of a list that is an argument
_IMPORT = opcode.opmap["IMPORT_NAME"]


class ModulesAhead:
    """The modules of one session. Any thread. They are only a hint, so no thread waits for another."""

    def __init__(self, tell: Callable[[list[str], list[str]], None]):
        self._tell = tell
        self._announced: tuple[list[str], list[str]] = ([], [])
        self._needs: dict[str, None] = {}
        self._imports: list[str] = []
        self._seen = 0  # the number of modules and names of the notebook at the last look
        self._of_code: weakref.WeakKeyDictionary[types.CodeType, tuple[str, ...]] = weakref.WeakKeyDictionary()
        self._of_refs: weakref.WeakKeyDictionary[Ref, tuple[str, ...]] = weakref.WeakKeyDictionary()

    def scattered(self, ref: Ref, value: Any) -> None:
        self._of_refs[ref] = tuple(self._of_value(value))

    def before_call(self, function: Any, args: Iterable[Any], first: bool) -> None:
        """`first`: no other call is under way."""
        if not str(getattr(function, "__module__", "")).startswith("pounce."):  # a cell announces its names itself
            self._before((*self._of_function(function), *self._of_values(args)), first)

    def before_cell(self, imported: Iterable[str], values: Iterable[Any], first: bool) -> None:
        self._before((*imported, *self._of_values(values)), first)

    def _before(self, names: Iterable[str], first: bool) -> None:
        if first:
            self._needs.clear()
            self._look()
        for name in names:
            if name not in self._needs and len(self._needs) < _MOST and (whole := loadable(name)):
                self._needs[whole] = None
        needs = sorted(self._needs, key=_cost)
        modules = (needs, [name for name in self._imports if name not in self._needs])
        if modules != self._announced:
            self._announced = modules
            self._tell(*modules)

    def _look(self) -> None:
        """Finds what the notebook has imported, by what its names stand for."""
        names = getattr(sys.modules.get("__main__"), "__dict__", {})
        seen = len(sys.modules) + len(names)
        if seen == self._seen:
            return
        self._seen = seen
        modules = {whole for value in list(names.values()) if (name := _home(value)) and (whole := loadable(name))}
        self._imports = sorted(modules, key=_cost)[:_MOST]

    def _of_values(self, values: Iterable[Any]) -> Iterable[str]:
        for value in values:
            yield from self._of_value(value)

    def _of_function(self, function: Any) -> Iterable[str]:
        function = getattr(function, "func", getattr(function, "__func__", function))  # of a partial, of a method
        home = str(getattr(function, "__module__", ""))  # of a callable object: its class's
        if not isinstance(function, types.FunctionType) or loadable(home):
            return (home,)
        code = function.__code__
        known = self._of_code.get(code)
        if known is None:
            known = self._of_code[code] = tuple(dict.fromkeys((*_imported(code), *_named(function))))
        return known

    def _of_value(self, value: Any, deep: bool = True) -> Iterable[str]:
        if type(value) is Ref:
            return self._of_refs.get(value, ())
        if isinstance(value, types.FunctionType):
            return self._of_function(value)
        if deep and isinstance(value, (list, tuple, dict)):
            items = list(value.values() if isinstance(value, dict) else value)[:_LOOKED_AT]
            return [name for item in items for name in self._of_value(item, False)]
        return (_home(value) or type(value).__module__,)


def loadable(name: str) -> str:
    """The part of a module's name that a worker may load ahead; empty: none. Only installed modules: users edit their
    own."""
    parts = name.split(".")
    public = next((i for i, part in enumerate(parts) if part.startswith("_")), len(parts))
    top, whole = parts[0], ".".join(parts[:public])
    if not whole or top == "pounce" or top in sys.stdlib_module_names:
        return ""
    known = [module for each in (top, whole) if (module := sys.modules.get(each)) is not None]
    return whole if all(local_modules.is_installed(module) for module in known) else ""


def _cost(name: str) -> tuple[int, str]:
    """Sorts by how many modules came with it, the most first. A module that is not loaded here may be the largest."""
    top = name.partition(".")[0]
    if top not in sys.modules:
        return -len(sys.modules), name
    return -sum(1 for each in list(sys.modules) if each.startswith(top + ".")), name


def _home(value: Any) -> str:
    """The module that a value is or comes from; empty: it is the program's own."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    return str(value.__module__) if importable(value) else ""


def _imported(code: types.CodeType) -> Iterable[str]:
    """The modules in its import statements."""
    if _IMPORT in code.co_code[::2]:
        import dis

        for instruction in dis.get_instructions(code):
            if instruction.opname == "IMPORT_NAME":
                yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _imported(constant)


def _named(function: types.FunctionType) -> Iterable[str]:
    """The modules of the values that it captured and of the globals that it names."""
    names = function.__globals__
    values = [names[name] for name in global_names(function.__code__) if name in names]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # still empty
            continue
    for value in values:
        yield _home(value) or type(value).__module__
