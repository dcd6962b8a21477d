"""Each call starts from what was submitted, and functions are unpickled again only where that needs it."""

from __future__ import annotations

import sys
import types

import pytest
from pounce._common import serialize
from pounce._common.submitted_functions import LruCache, SubmittedFunctions, for_each_item


class Counted:
    """A function of a notebook as a worker gets it, and how often it was unpickled."""

    def __init__(self, cell: str):
        notebook = types.ModuleType("__main__")
        before = sys.modules["__main__"]
        sys.modules["__main__"] = notebook
        try:
            exec(cell, notebook.__dict__)
            self._pickle = serialize.dumps(notebook.__dict__["f"], submitted=True)[0]
        finally:
            sys.modules["__main__"] = before
        self._functions, self.loads = SubmittedFunctions(), 0

    def _load(self) -> bytes:
        self.loads += 1
        return self._pickle

    def __call__(self):
        return self._functions.function(b"id", self._load)()


UNCHANGEABLE = {
    "nothing": "def f(): return 1",
    "an atom": "k = 1\ndef f(): return k",
    "a module": "import math\ndef f(): return math.floor(1.5)",
    "what is imported": "from math import floor\ndef f(): return floor(1.5)",
    "a tuple": "k = (1, 'a', (2.0, None))\ndef f(): return k[0]",
    "another function": "def g(): return 1\ndef f(): return g()",
    "itself": "def f(n=3): return 1 if n < 1 else f(n - 1)",
    "each other": "def g(n): return f(n)\ndef f(n=3): return 1 if n < 1 else g(n - 1)",
}


@pytest.mark.parametrize("captures", UNCHANGEABLE)
def test_a_function_is_unpickled_once_that_captures(captures):
    f = Counted(UNCHANGEABLE[captures])

    assert [f() for _ in range(3)] == [1, 1, 1]
    assert f.loads == 1


CHANGED = {
    "a list": "k = []\ndef f():\n    k.append(1)\n    return len(k)",
    "a global": "k = 0\ndef f():\n    global k\n    k += 1\n    return k",
    "a global that was not there": "def f():\n    global k\n    k = globals().get('k', 0) + 1\n    return k",
    "a global behind its back": "def f():\n    names = globals()\n    names['k'] = names.get('k', 0) + 1\n    return names['k']",
    "a global of a function it calls": "k = 0\ndef g():\n    global k\n    k += 1\ndef f():\n    g()\n    return k",
    "a variable of its closure": "def make():\n    k = 0\n    def f():\n        nonlocal k\n        k += 1\n        return k\n    return f\nf = make()",
    "an attribute of itself": "def f():\n    f.k = getattr(f, 'k', 0) + 1\n    return f.k",
    "a default": "def f(k=[]):\n    k.append(1)\n    return len(k)",
    "a list in a tuple": "k = ([],)\ndef f():\n    k[0].append(1)\n    return len(k[0])",
    "a class": "class C: k = 0\ndef f():\n    C.k += 1\n    return C.k",
}


@pytest.mark.parametrize("changes", CHANGED)
def test_a_call_starts_from_what_was_submitted_where_the_one_before_changed(changes):
    f = Counted(CHANGED[changes])

    assert [f() for _ in range(3)] == [1, 1, 1]


def test_the_items_of_a_chunk_do_not_see_each_other():
    seen = []

    def f(n):
        seen.append(n)
        return len(seen)

    original = for_each_item(f)

    assert [original()(n) for n in range(3)] == [1, 1, 1]


def test_the_most_recently_used_stay_within_their_bytes():
    recent = LruCache[str](budget=300)
    for key in b"abc":
        recent.put(bytes([key]), chr(key), 100)

    recent.get(b"a")
    recent.put(b"d", "d", 100)

    assert [recent.get(bytes([key])) for key in b"abcd"] == ["a", None, "c", "d"] and recent.nbytes == 300


def test_one_that_is_larger_than_the_budget_is_kept_alone():
    recent = LruCache[str](budget=300)
    recent.put(b"a", "a", 100)

    recent.put(b"b", "b", 400)

    assert (recent.get(b"a"), recent.get(b"b"), recent.nbytes) == (None, "b", 400)
