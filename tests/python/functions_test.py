"""A function is pickled again exactly when it may have changed."""

from __future__ import annotations

import sys
import types
import weakref

import pytest
from pounce._common import serialize
from pounce._engine.function_cache import FunctionCache


@pytest.fixture
def cache(monkeypatch):
    cache = FunctionCache()
    cache.pickles = 0

    def counted(value, dumps=serialize.dumps, **options):
        cache.pickles += 1
        return dumps(value, **options)

    monkeypatch.setattr(serialize, "dumps", counted)
    return cache


@pytest.fixture
def notebook(monkeypatch):
    """Runs cells in a module that is __main__."""
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)

    def run(cell: str):
        exec(cell, main.__dict__)
        return main

    return run


def test_a_function_that_is_the_same_is_pickled_once(cache, notebook):
    f = notebook("k = 3\ndef f(x): return x * k").f

    assert cache.pickled(f) is cache.pickled(f)
    assert cache.pickles == 1


def test_a_function_that_calls_itself_is_pickled_once_and_not_kept(cache, notebook):
    main = notebook("def f(n): return 1 if n < 2 else n * f(n - 1)")

    assert cache.pickled(main.f) is cache.pickled(main.f)
    gone = weakref.ref(main.f)
    del main.f
    assert gone() is None


def test_an_importable_function_is_pickled_once(cache):
    cache.pickled(pow)
    cache.pickled(pow)

    assert cache.pickles == 1


CHANGES = {
    "a redefinition": ("def f(x): return x * k", "def f(x): return x + k"),
    "a global": ("k = 3\ndef f(x): return x * k", "k = 4"),
    "a global's type": ("k = 1\ndef f(x): return x * k", "k = True"),
    "a global of a function it calls": ("k = 3\ndef g(x): return x * k\ndef f(x): return g(x)", "k = 4"),
    "a function it calls": ("def g(x): return x\ndef f(x): return g(x)", "def g(x): return -x"),
    "a global of an inner function": ("k = 3\ndef f(x): return [k for _ in x]", "k = 4"),
    "a default": ("def f(x, k=3): return x * k", "f.__defaults__ = (4,)"),
    "a keyword default": ("def f(x, *, k=3): return x * k", "f.__kwdefaults__ = {'k': 4}"),
    "its code": ("def f(x): return x\ndef g(x): return -x", "f.__code__ = g.__code__"),
    "a list that it uses": ("k = [3]\ndef f(x): return x * k[0]", "k[0] = 4"),
    "a class that it uses": ("class C: k = 3\ndef f(x): return x * C.k", "C.k = 4"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_function_is_pickled_again_after_a_change_of(change, cache, notebook):
    before, after = CHANGES[change]
    first = cache.pickled(notebook(before).f)

    second = cache.pickled(notebook(after).f)

    assert second.id != first.id


def test_a_closures_variable_counts(cache):
    def make():
        k = 3

        def f(x):
            return x * k

        def change():
            nonlocal k
            k = 4

        return f, change

    f, change = make()
    first = cache.pickled(f)
    change()

    assert cache.pickled(f).id != first.id


def test_methods_and_partials_travel(cache):
    import functools

    partial = functools.partial(pow, 2)

    assert serialize.loads(cache.pickled(partial).pickle)(10) == 1024
    assert serialize.loads(cache.pickled("a,b".split).pickle)(",") == ["a", "b"]


def test_a_function_that_calls_itself_travels(cache, notebook):
    f = notebook("def f(n): return 1 if n < 2 else n * f(n - 1)").f

    assert serialize.loads(cache.pickled(f).pickle)(5) == 120
