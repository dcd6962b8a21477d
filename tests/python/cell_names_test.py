"""Which names a cell reads before it has assigned them."""

from __future__ import annotations

import ast
import builtins

import pytest
from pounce._common.code_names import global_reads
from pounce.cell.names import reads


def found(source: str) -> set[str]:
    return {name for name in reads(ast.parse(source)) if not hasattr(builtins, name)}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("x = x + 1", {"x"}),
        ("x = 1\nprint(x)", set()),
        ("x += 1", {"x"}),
        ("del x", {"x"}),
        ("import a.b as c, d.e\nc; d", set()),
        ("for i in xs:\n    total += f(i)", {"xs", "total", "f"}),
        ("for i in xs: pass\nprint(i)", {"xs", "i"}),
        ("with opened(path) as f:\n    f.read()\nf.closed", {"opened", "path"}),
        ("if q:\n    a = 1\nelse:\n    a = 2\na", {"q"}),
        ("if q:\n    a = 1\na", {"q", "a"}),
        ("try:\n    a = 1\nexcept Odd as e:\n    print(e)\na", {"Odd", "a"}),
        ("try:\n    a = 1\nfinally:\n    b = 2\nb", set()),
        ("while go():\n    a = 1\na", {"go", "a"}),
        ("match p:\n    case [x, *r] if x > k:\n        print(r)", {"p", "k"}),
        ("[y for y in ys if y > t]", {"ys", "t"}),
        ("[(n := z) for z in zs]\nn", {"zs"}),
        ("lambda q: q + w", {"w"}),
        ("f'{u!r:{wide}}'", {"u", "wide"}),
        ("model.fit(data.x)", {"model", "data"}),
        ("table[row] = v", {"table", "row", "v"}),
        ("await fetch(url)", {"fetch", "url"}),
    ],
)
def test_names_that_a_cell_reads(source, names):
    assert found(source) == names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(a, b=c):\n    return a + b + g(h)", {"c", "g", "h"}),
        ("def f():\n    return helper()\ndef helper(): return 1", set()),
        ("def f():\n    global count\n    count += 1", {"count"}),
        ("def f():\n    x = 1\n    def inner(): return x + y\n    return inner", {"y"}),
        ("@wrap\ndef f(): pass", {"wrap"}),
        ("class A(B):\n    z = w\n    def m(self): return v", {"B", "w", "v"}),
        ("async def f(*a, **k): return a, k, q", {"q"}),
    ],
)
def test_names_that_functions_and_classes_of_a_cell_read(source, names):
    assert found(source) == names


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("get_ipython().run_line_magic('timeit', '-n 10 f(x)')", {"f", "x"}),
        ("get_ipython().run_cell_magic('time', '', 'y = g(x)\\n')", {"g", "x"}),
        ("get_ipython().system('ls {folder} $name $$HOME')", {"folder", "name"}),
        ("get_ipython().run_line_magic('cd', 'data')", set()),
    ],
)
def test_names_in_the_text_of_magics(source, names):
    assert found(source) - {"get_ipython"} == names


def test_names_that_a_function_reads_are_those_of_functions_inside_it_too():
    scope: dict = {}
    exec("def f(a):\n    def g(): return deep + a.attribute\n    return near(g)", scope)

    assert set(global_reads(scope["f"].__code__)) == {"deep", "near"}
