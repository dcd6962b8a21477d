"""Functions that raise, and what there is to see of an exception. Copied beside a user's program, for its workers."""

from __future__ import annotations

import asyncio
import builtins
import concurrent.futures
import contextlib
import copyreg
import dataclasses
import importlib
import json
import pathlib
import pickle
import re
import subprocess
import sys
import traceback
from itertools import zip_longest

# ---- one of each built-in type ----

_ARGUMENTS = {
    BaseExceptionGroup: ("two", [ValueError(1), SystemExit(2)]),
    UnicodeDecodeError: ("utf-8", b"\xff\xfe", 0, 1, "bad byte"),
    UnicodeEncodeError: ("ascii", "é", 0, 1, "not ascii"),
    UnicodeTranslateError: ("é", 0, 1, "not it"),
}
_BY_BASE = {
    OSError: (95, "not so", "here", None, "there"),
    SyntaxError: ("wrong", ("file.py", 3, 5, "x = = 1\n", 3, 6)),
    ExceptionGroup: ("two", [ValueError(1), KeyError("k")]),
}
_KEYWORDS = {
    ImportError: {"name": "absent", "path": "/absent.py"},
    NameError: {"name": "x"},
    AttributeError: {"name": "x", "obj": 5},
}
_KINDS = [kind for kind in vars(builtins).values() if isinstance(kind, type) and issubclass(kind, BaseException)]
BUILTIN = sorted({kind.__name__ for kind in _KINDS})


OF_A_CANCEL = {
    "asyncio.CancelledError": asyncio.CancelledError,
    "concurrent.CancelledError": concurrent.futures.CancelledError,
}


def raise_builtin(name: str):
    kind = OF_A_CANCEL.get(name) or getattr(builtins, name)
    arguments = _ARGUMENTS.get(kind) or _of_base(_BY_BASE, kind, ("words", 7))
    keywords = _of_base(_KEYWORDS, kind, {})
    error = kind(*arguments, **keywords)
    error.extra = ["kept"]
    error.add_note("a note")
    raise error


def _of_base(table: dict, kind: type, otherwise):
    return next((found for base, found in table.items() if issubclass(kind, base)), otherwise)


def fails_at_two(name: str, n: int) -> int:
    return raise_builtin(name) if n == 2 else n


# ---- as they happen ----


def cannot_parse():
    int("x")


def cannot_decode():
    b"ab\xff".decode()


def cannot_encode():
    "é".encode("ascii")


def has_no_key():
    {}["k"]


def has_no_module():
    importlib.import_module("no_such_module")


def has_no_name_in_module():
    from json import no_such_name  # noqa: F401


def has_no_attribute():
    None.nothing  # noqa: B018


def module_has_no_attribute():
    json.nothing  # noqa: B018


def is_misspelt():
    misspelt  # noqa: B018, F821


def has_no_syntax():
    compile("x = = 1", "given.py", "exec")


def has_wrong_scope():
    compile("def f():\n    nonlocal x", "given.py", "exec")


def is_missing():
    pathlib.Path("/no/such/file").open()


def cannot_move():
    pathlib.Path("/no/such/file").rename("/no/such/other")


def is_empty():
    next(iter([]))


def exits():
    sys.exit(3)


def returns_early():
    raise StopIteration({"value": [1, 2]})


def recurses(depth: int = 0):
    return recurses(depth + 1)


def is_not_json():
    json.loads('{"a": }')


def is_no_expression():
    re.compile("(")


def program_fails():
    subprocess.run(["false"], check=True)


def program_is_late():
    raise subprocess.TimeoutExpired(["sleep"], 3, b"out")


def is_cancelled():
    raise concurrent.futures.CancelledError("given up")


def follows_another():
    try:
        cannot_parse()
    except ValueError as error:
        error.add_note("on the cause")
        raise RuntimeError("outer") from error


def happens_while_another_is_handled():
    try:
        has_no_key()
    except KeyError:
        cannot_parse()


def hides_another():
    try:
        has_no_key()
    except KeyError:
        raise ValueError("alone") from None


def follows_three_hundred():
    error = None
    for n in range(300):
        try:
            raise ValueError(n) from error
        except ValueError as found:
            error = found
    raise error


def members():
    found = []
    for call in (cannot_parse, has_no_key, is_missing):
        try:
            call()
        except Exception as error:
            found.append(error)
    return found


def fails_together():
    first, *others = members()
    raise ExceptionGroup("all", [first, ExceptionGroup("inner", others)]) from first


def fails_together_at_the_base():
    raise BaseExceptionGroup("all", [KeyboardInterrupt("k"), *members()])


# ---- classes of users ----


class Plain(ValueError):
    pass


class OtherArguments(Exception):
    def __init__(self, name, number):
        super().__init__(f"no {name}")
        self.name, self.number = name, number


class WordsTwice(Exception):
    """A process pool says "no no x"."""

    def __init__(self, name):
        super().__init__(f"no {name}")


class KeywordOnly(Exception):
    def __init__(self, *, code):
        super().__init__("kept", code)
        self.code = code


class NoSuper(Exception):
    def __init__(self, first, second=None):
        self.first = first


class Slots(Exception):
    __slots__ = ("left", "right")

    def __init__(self, left):
        super().__init__(left)
        self.left = left


class Reduces(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")
        self.a, self.b = a, b

    def __reduce__(self):
        return Reduces, (self.a, self.b)


class Registered(Exception):
    def __init__(self, a, b):
        super().__init__(a + b)
        self.a, self.b = a, b


copyreg.pickle(Registered, lambda error: (Registered, (error.a, error.b)))


class Strange(StopIteration):
    def __init__(self, where):
        self.where = where


class StrangeFile(OSError):
    def __init__(self, path, *, code):
        super().__init__(5, "strange", path)
        self.code = code


class StrangeText(UnicodeDecodeError):
    def __init__(self, text):
        super().__init__("utf-8", text, 0, 1, "strange")


class Two(KeyError, AttributeError):
    pass


class Mixed(ValueError, OSError):
    pass


class Group(ExceptionGroup):
    def __new__(cls, errors, code):
        return super().__new__(cls, "of ours", errors)

    def __init__(self, errors, code):
        self.code = code

    def derive(self, excs):
        return Group(excs, self.code)


class Words(Exception):
    def __str__(self):
        return f"in words: {self.args[0]}"


@dataclasses.dataclass
class Data(Exception):
    a: int
    b: str = "b"


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    a: int


def raise_own(name: str):
    raise OWN[name]()


def _circle():
    one, other = ValueError("one"), KeyError("other")
    one.other, other.one, one.itself = other, one, one
    return one


OWN = {
    "Plain": lambda: Plain("x", 1),
    "OtherArguments": lambda: OtherArguments("x", 2),
    "WordsTwice": lambda: WordsTwice("x"),
    "KeywordOnly": lambda: KeywordOnly(code=4),
    "NoSuper": lambda: NoSuper("x"),
    "Slots": lambda: Slots([1]),
    "Reduces": lambda: Reduces(1, 2),
    "Registered": lambda: Registered(1, 2),
    "Strange": lambda: Strange("x"),
    "StrangeFile": lambda: StrangeFile("/x", code=1),
    "StrangeText": lambda: StrangeText(b"\xff"),
    "Two": lambda: Two("k"),
    "Mixed": lambda: Mixed(3, "mixed"),
    "Group": lambda: Group([ValueError(1)], 7),
    "Words": lambda: Words("x"),
    "Data": lambda: Data(a=1),
    "Frozen": lambda: Frozen(a=1),
    "circle": _circle,
}
HAPPENED = [
    cannot_parse, cannot_decode, cannot_encode, has_no_key, has_no_module, has_no_name_in_module, has_no_attribute,
    module_has_no_attribute, is_misspelt, has_no_syntax, has_wrong_scope, is_missing, cannot_move, is_empty, exits,
    returns_early, recurses, is_not_json, is_no_expression, program_fails, program_is_late, is_cancelled,
    follows_another, happens_while_another_is_handled, hides_another, follows_three_hundred, fails_together,
    fails_together_at_the_base,
]
CASES = {**{name: (raise_builtin, name) for name in BUILTIN}, **{each.__name__: (each,) for each in HAPPENED},
         **{name: (raise_own, name) for name in OWN}}


# ---- what there is to see ----


def raised(call, *args):
    try:
        call(*args)
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def seen(error, depth: int = 0):
    """Of an exception, as plain data: all that a program could look at."""
    if error is None:
        return None
    if depth == 20:
        return _shown(error)
    attributes = {}
    for name in dir(error):
        with contextlib.suppress(AttributeError, TypeError):
            if not name.startswith("_") and not callable(getattr(error, name)):
                attributes[name] = _shown(getattr(error, name))
    return {
        "type": f"{type(error).__module__}.{type(error).__qualname__}",
        "args": _shown(error.args),
        "str": _shown(str(error)),
        "repr": _shown(error),
        "attributes": attributes,
        "notes": [note for note in getattr(error, "__notes__", ()) if not note.startswith("raised on")],
        "hides": error.__suppress_context__,
        "cause": seen(error.__cause__, depth + 1),
        "context": seen(error.__context__, depth + 1),
        "lines": own_lines(traceback.format_tb(error.__traceback__)),
        "members": [seen(one, depth + 1) for one in error.exceptions] if isinstance(error, BaseExceptionGroup) else [],
    }


def own_lines(lines):
    """Those of this file: the others are of whoever called."""
    return [line for line in lines if "exception_cases.py" in line and "in raised" not in line]


def _shown(value):
    return re.sub(r"0x[0-9a-f]+", "0x", value if isinstance(value, str) else repr(value))


def differences(a, b, at: str = ""):
    if isinstance(a, dict) and isinstance(b, dict):
        return [one for name in a.keys() | b.keys() for one in differences(a.get(name), b.get(name), f"{at}.{name}")]
    if isinstance(a, list) and isinstance(b, list):
        return [one for n, (x, y) in enumerate(zip_longest(a, b)) for one in differences(x, y, f"{at}[{n}]")]
    return [] if a == b else [f"{at}: {a!r:.200} is {b!r:.200}"]


def survives_pickle(error) -> bool:
    """Else a process pool breaks over it."""
    try:
        return _shown(pickle.loads(pickle.dumps(error))) == _shown(error)
    except Exception:
        return False
