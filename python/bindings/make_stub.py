"""Writes _core.pyi, the types of pounce._core for mypy and editors, from the module that was built.

    python make_stub.py _core.so STUB

A record has its fields and their types from its table (records.h). Of a function or an attribute the first line of its
text is its signature or its type, and what follows says what it is for. A constant has the type of its value.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

_HEAD = '''"""pounce's C++ part. Private: its callers are in this package. Made by python/bindings/make_stub.py."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
'''


def stub(core: ModuleType) -> str:
    values = {name: value for name, value in vars(core).items() if name == "__version__" or not name.startswith("_")}
    return _HEAD + "\n" + "\n".join(_of_the_module(name, value) for name, value in values.items())


def _of_the_module(name: str, value: Any) -> str:
    if hasattr(value, "_fields"):
        fields = [f"    {field}: {kind} = ..." for field, kind in value.__annotations__.items()]
        return "\n".join([f"class {name}(NamedTuple):", *(fields or ["    pass"]), ""])
    if isinstance(value, type):
        return _class(name, value)
    return _function(name, value) if callable(value) else f"{name}: {_type_of(value)}"


def _class(name: str, kind: type) -> str:
    lines = [f"class {name}:", f'    """{kind.__doc__}"""']
    if "(buffer protocol)" in (kind.__doc__ or ""):
        lines.append("    def __buffer__(self, flags: int, /) -> memoryview: ...")
    for member, value in vars(kind).items():
        if isinstance(value, property):
            first, _, about = (value.__doc__ or "").partition("\n")
            lines.append(f"    {member}: {first}" + (f"  # {about}" if about else ""))
        elif callable(value) and "->" in (value.__doc__ or ""):
            lines.append(_function(member, value, "self", "    "))
    return "\n".join([*lines, ""])


def _function(name: str, value: Any, first: str = "", indent: str = "") -> str:
    signature, _, about = value.__doc__.partition("\n")
    if first and not signature.startswith("()"):
        signature = f"({first}, {signature[1:]}"
    elif first:
        signature = f"({first}{signature[1:]}"
    end = f"\n{indent}    \"\"\"{about}\"\"\"" if about else " ..."
    return f"{indent}def {name}{signature}:{end}"


def _type_of(value: Any) -> str:
    if isinstance(value, dict):
        key, item = next(iter(value.items()))
        return f"dict[{_type_of(key)}, {_type_of(item)}]"
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return f"tuple[{_type_of(value[0])}, ...]"
    return type(value).__name__


def built(path: Path) -> ModuleType:
    """The module in this file, without the package that it is a part of."""
    spec = importlib.util.spec_from_file_location("pounce._core", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(stub(built(Path(sys.argv[1]))))
