"""Settings of IPython: how it reads cells and shows values and errors, aliases, and magics and formatters that the
person made."""

from __future__ import annotations
import __future__

import re
import sys
import types
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from ..code_names import global_reads
from ..local_modules import is_local
from .setting import BY_SETUP

# As IPython names them; `%config` sets those of the formatter before the first value is shown alone.
_OF_SHELL = ("ast_node_interactivity", "autoawait", "autocall", "automagic", "colors", "display_page",
             "show_rewritten_input", "sphinxify_docstring", "system_raise_on_error", "wildcards_case_sensitive")
_OF_TEXT = ("max_seq_length", "max_width", "pprint", "verbose")
_FORMATTER_CLASS = "PlainTextFormatter."

_MAGIC, _CLASS, _ALIAS, _FORMATTER, _EXTENSION = " magic ", "magics ", " magic alias ", "formatter ", "extension "
_TEXT = "text/plain"
_IPYTHONS_ALIASES = frozenset(("ed", "hist", "rep", "SVG", "HTML", "file"))
# The kernel's; autoreload's work is done by reloads (_worker/cell/reloads.py), so that both sides have the same text.
_NOT_OURS = frozenset(("pounce", "storemagic", "IPython.extensions.storemagic", "autoreload",
                       "IPython.extensions.autoreload"))
_FEATURES = {name: getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}
_WORD = re.compile(r"\w+")


def read(library: Any) -> dict[str, Any] | None:
    shell = library.get_ipython()
    if shell is None:
        return None
    shells, flags = shell.alias_manager.default_aliases, shell.compile.flags
    return {"xmode": shell.InteractiveTB.mode, "precision": _text_formatter(shell).float_precision,
            "aliases": [alias for alias in shell.alias_manager.aliases if alias not in shells],
            "future": [name for name, flag in _FEATURES.items() if flags & flag],
            **_options(shell, _OF_SHELL), **_options(_text_formatter(shell), _OF_TEXT, _FORMATTER_CLASS),
            **_extensions(shell), **_magics(shell), **_magic_aliases(shell), **_formatters(shell)}


@cache
def usual() -> dict[str, Any]:
    from IPython.core.formatters import PlainTextFormatter
    from IPython.core.interactiveshell import InteractiveShell

    return {"xmode": "Context", "precision": "", "aliases": [], "future": [],
            **_defaults(InteractiveShell, _OF_SHELL), **_defaults(PlainTextFormatter, _OF_TEXT, _FORMATTER_CLASS)}


def _options(of: Any, names: tuple[str, ...], prefix: str = "") -> dict[str, Any]:
    """Those that this release of IPython has."""
    return {prefix + name: getattr(of, name) for name in names if of.has_trait(name)}


def _defaults(of: Any, names: tuple[str, ...], prefix: str = "") -> dict[str, Any]:
    traits = of.class_traits()
    return {prefix + name: traits[name].default_value for name in names if name in traits}


def write(library: Any, saved: dict[str, Any]) -> None:
    shell = library.get_ipython()
    for name, value in saved.items():
        if name in _SETTERS:
            _SETTERS[name](shell, value)
        elif name in _OF_SHELL:
            setattr(shell, name, value)
        elif name.startswith(_FORMATTER_CLASS):
            setattr(_text_formatter(shell), name.removeprefix(_FORMATTER_CLASS), value)
        elif name.startswith(_EXTENSION):
            shell.extension_manager.load_extension(value)
        elif name.startswith(_CLASS):
            shell.register_magics(value)
        elif name.startswith(_FORMATTER):
            kind, module, type_name, function = value
            formatter = shell.display_formatter.formatters[kind]
            _forget(formatter, module, type_name)
            formatter.for_type_by_name(module, type_name, function)
        elif _ALIAS in name:
            shell.magics_manager.register_alias(*value)
        else:
            kind, _, magic = name.partition(_MAGIC)
            shell.register_magic_function(value, kind, magic)


_SETTERS: dict[str, Callable[[Any, Any], Any]] = {
    "xmode": lambda shell, mode: shell.InteractiveTB.set_mode(mode),
    "precision": lambda shell, precision: _set_precision(shell, precision),
    "aliases": lambda shell, aliases: [shell.alias_manager.define_alias(name, line) for name, line in aliases],
    "future": lambda shell, names: _set_features(shell, names),
}


def _set_precision(shell: Any, precision: str) -> None:
    """IPython sets numpy's too, which has a row of its own."""
    numpy = sys.modules.get("numpy")
    printing = numpy.get_printoptions() if numpy is not None else {}
    _text_formatter(shell).float_precision = precision
    if numpy is not None:
        numpy.set_printoptions(**printing)


def _set_features(shell: Any, names: list[str]) -> None:
    every = sum(_FEATURES.values())
    shell.compile.flags = shell.compile.flags & ~every | sum(_FEATURES[name] for name in names if name in _FEATURES)


def _text_formatter(shell: Any) -> Any:
    return shell.display_formatter.formatters[_TEXT]


def _forget(formatter: Any, module: str, name: str) -> None:
    """One that is registered for the type itself would be found first."""
    for kind in list(formatter.type_printers):
        if (kind.__module__, kind.__name__) == (module, name):
            del formatter.type_printers[kind]


# ---- what the person made ----

def _is_persons(thing: Any) -> bool:
    """A function or class of the notebook, or of a module of the person's own."""
    module = thing.__module__
    return module == "__main__" or (module in sys.modules and is_local(sys.modules[module]))


def _extensions(shell: Any) -> dict[str, Any]:
    return {_EXTENSION + name: name for name in shell.extension_manager.loaded if name not in _NOT_OURS}


def _magics(shell: Any) -> dict[str, Any]:
    """Functions by their names, and classes that are no part of IPython."""
    found: dict[str, Any] = {}
    for kind, magics in shell.magics_manager.magics.items():
        for name, magic in magics.items():
            if type(magic) is types.FunctionType and _is_persons(magic):
                found[f"{kind}{_MAGIC}{name}"] = magic
            elif type(magic) is types.MethodType and type(magic.__self__).__module__ == "__main__":
                found[_CLASS + type(magic.__self__).__name__] = type(magic.__self__)
    return found


def _magic_aliases(shell: Any) -> dict[str, tuple[Any, ...]]:
    """Made by %alias_magic: (name, the magic's name, its kind, its parameters)."""
    return {f"{kind}{_ALIAS}{name}": (name, magic.magic_name, magic.magic_kind, magic.magic_params)
            for kind, magics in shell.magics_manager.magics.items() for name, magic in magics.items()
            if type(magic).__name__ == "MagicAlias" and name not in _IPYTHONS_ALIASES}


def _formatters(shell: Any) -> dict[str, Any]:
    """By the names of the types, which need not be imported elsewhere."""
    found = {}
    for kind, formatter in shell.display_formatter.formatters.items():
        printers = {(type_.__module__, type_.__name__): function for type_, function in formatter.type_printers.items()}
        for (module, name), function in {**formatter.deferred_printers, **printers}.items():
            if type(function) is types.FunctionType and _is_persons(function):
                found[f"{_FORMATTER}{kind} {module}.{name}"] = kind, module, name, function
    return found


def left_out(library: Any) -> Iterator[tuple[str, str]]:
    """What the person made of other kinds."""
    shell = library.get_ipython()
    if shell is None:
        return
    for function in (*shell.input_transformers_cleanup, *shell.input_transformers_post):
        if getattr(function, "__module__", "") == "__main__":
            yield f"the input transformer {getattr(function, '__name__', function)}", BY_SETUP
    if shell.call_pdb:
        yield "%pdb", "%debug in a %%pounce cell after the error"
    for transformer in shell.ast_transformers:
        if type(transformer).__module__ == "__main__":
            yield f"the syntax transformer {type(transformer).__name__}", BY_SETUP


def names_read(source: str) -> set[str]:
    """Macros in this code, variables that the person's magics in it read, and those that formatters may read after
    it."""
    library = sys.modules.get("IPython")
    shell = library.get_ipython() if library is not None else None
    if shell is None:
        return set()
    words = set(_WORD.findall(source))
    words.update(magic for name, magic, *_ in _magic_aliases(shell).values() if name in words)
    macros = {word for word in words if type(shell.user_ns.get(word)).__name__ == "Macro"}
    used = [function for name, function in _magics(shell).items() if name.rpartition(" ")[2] in words]
    used += [value[-1] for value in _formatters(shell).values()]
    codes = (function.__code__ for one in used for function in _functions(one))
    return macros.union(*(global_reads(code) for code in codes))


def _functions(thing: Any) -> list[Any]:
    """Those of the notebook itself: a module's functions read that module."""
    parts = vars(thing).values() if isinstance(thing, type) else [thing]
    return [part for part in parts if type(part) is types.FunctionType and part.__module__ == "__main__"]
