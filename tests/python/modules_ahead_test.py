"""A worker loads what the waiting calls name before they come, in its main thread, and lets a task that is there go first."""

from __future__ import annotations

import functools
import importlib
import sys
import threading
import time

import numpy as np
import pytest
from pounce._common.ref import Ref
from pounce._engine.modules_ahead import ModulesAhead, loadable
from pounce._worker import modules_ahead, read_ahead
from pounce._worker.import_clock import ImportClock

# ---- what the client tells ----


@pytest.fixture
def told():
    """What was told last; told.ahead is its ModulesAhead."""

    class Told(list):
        pass

    made = Told()
    made.ahead = ModulesAhead(lambda needs, imports: made.append((needs, imports)))
    return made


def imports_inside(path):
    import matplotlib.pyplot as plt
    from scipy import stats

    return plt, stats, path


def names_a_global(x):
    return np.sum(x)


CALLS = {
    "an import statement": (imports_inside, ("x",), {"matplotlib.pyplot", "scipy"}),
    "a global": (names_a_global, (1,), {"numpy"}),
    "an argument's type": (lambda x: x.sum(), (np.ones(3),), {"numpy"}),
    "a list's items": (lambda x: x, ([np.ones(3)],), {"numpy"}),
    "a function that is an argument": (lambda f: f(1), (names_a_global,), {"numpy"}),
    "a partial": (functools.partial(names_a_global, 1), (), {"numpy"}),
    "a function of a module": (np.linalg.norm, (), {"numpy.linalg"}),
    "nothing": (lambda x: time.time() + x, (3,), set()),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_names_its_modules(told, call):
    function, args, names = CALLS[call]

    told.ahead.before_call(function, args, first=True)

    assert {name for name in (told[-1][0] if told else [])} - {"pytest"} == names


def test_what_was_scattered_is_named_by_the_call_that_uses_it(told):
    ref = Ref("0" * 32, 8, None)
    told.ahead.scattered(ref, np.ones(3))

    told.ahead.before_call(lambda x: x.sum(), (ref,), first=True)

    assert told[-1][0] == ["numpy"]


def test_the_largest_package_comes_first_and_calls_that_have_ended_count_no_more(told):
    importlib.import_module("scipy.stats")
    told.ahead.before_call(names_a_global, (), first=True)
    told.ahead.before_call(imports_inside, ("x",), first=False)
    both = told[-1][0]
    told.ahead.before_call(names_a_global, (), first=True)

    assert set(both) == {"numpy", "scipy", "matplotlib.pyplot"} and both.index("scipy") < both.index("numpy")
    assert told[-1][0] == ["numpy"]


def test_the_notebooks_other_modules_are_told_apart(told, monkeypatch):
    main = sys.modules["__main__"]
    monkeypatch.setattr(main, "np", np, raising=False)
    monkeypatch.setattr(main, "norm", importlib.import_module("scipy.stats").norm.__class__, raising=False)

    told.ahead.before_call(names_a_global, (), first=True)

    needs, imports = told[-1]
    assert needs == ["numpy"] and "numpy" not in imports and "scipy.stats" in imports


def test_nothing_is_told_twice(told):
    for _ in range(3):
        told.ahead.before_call(names_a_global, (), first=True)

    assert len(told) == 1


@pytest.mark.parametrize("name, part", [
    ("numpy.linalg", "numpy.linalg"), ("scipy.stats._continuous_distns", "scipy.stats"), ("_pytest.nodes", ""), ("json", ""),
    ("pounce.client", ""), ("builtins", ""), ("__main__", ""), ("nowhere.at.all", "nowhere.at.all"),
])
def test_installed_modules_are_loadable_by_their_public_part(name, part):
    assert loadable(name) == part


def test_a_module_of_the_users_own_is_never_loaded_ahead(tmp_path, monkeypatch):
    (tmp_path / "helpers_of_mine.py").write_text("x = 1")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("helpers_of_mine")

    assert loadable("helpers_of_mine") == ""


# ---- what the worker does ----

class Core:
    """Of a worker: what clients asked for, and from which loaded module on a task waits."""

    def __init__(self, needs=(), imports=()):
        self.asked, self.loaded = {"needs": list(needs), "imports": list(imports)}, []
        self.wanted_after = 99

    @property
    def modules_asked(self):
        return bool(self.asked)

    def modules(self):
        asked, self.asked = self.asked, {}
        return asked

    def wanted(self):
        return len(self.loaded) >= self.wanted_after

    def tell_loading(self, module):
        if module:
            self.loaded.append(module)


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Installed ones, which note that they were imported, and in which thread."""
    for name in ("ahead_a", "ahead_b", "ahead_c"):
        (tmp_path / f"{name}.py").write_text("import threading\nthread = threading.current_thread()\n")
    (tmp_path / "ahead_broken.py").write_text("raise SystemExit(3)")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(modules_ahead.local_modules, "_roots", (f"{tmp_path}/",))
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("ahead_")]:
        del sys.modules[name]


def test_what_calls_need_is_loaded_at_once_and_in_order_in_the_main_thread(packages):
    core = Core(["ahead_b", "ahead_a"], ["ahead_c"])

    pause = modules_ahead.ModulesAhead(core).step()

    assert core.loaded == ["ahead_b", "ahead_a"] and sys.modules["ahead_a"].thread is threading.main_thread()
    assert 0 < pause <= 0.5


def test_what_decides_by_its_import_whether_it_is_in_a_notebook_is_left_to_the_cell(monkeypatch):
    """A bar of `tqdm.auto` was a text where the worker had loaded it before the cell, and with it the shell, came: one time in sixteen."""
    for name in ("tqdm.auto", "tqdm.autonotebook", "tqdm.version"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    core = Core(["tqdm.auto", "tqdm.autonotebook", "tqdm.version"])

    modules_ahead.ModulesAhead(core).step()

    assert core.loaded == ["tqdm.version"]


def test_a_task_that_is_there_goes_before_the_next_module(packages):
    core = Core(["ahead_a", "ahead_b"])
    core.wanted_after = 1
    ahead = modules_ahead.ModulesAhead(core)

    ahead.step()

    assert core.loaded == ["ahead_a"]


def test_other_modules_wait_until_nothing_was_asked_for_a_moment(packages, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(modules_ahead.time, "monotonic", lambda: now[0])
    core = Core([], ["ahead_a", "ahead_b"])
    ahead = modules_ahead.ModulesAhead(core)

    pauses = [ahead.step()]
    now[0] += 0.4
    ahead.task_ended()
    pauses.append(ahead.step())
    now[0] += 0.5
    pauses.append(ahead.step())

    assert core.loaded == ["ahead_a"] and pauses == [0.5, 0.5, 0.0]


def test_where_memory_is_short_only_what_calls_need_is_loaded(packages, monkeypatch):
    monkeypatch.setattr(modules_ahead, "_QUIET_S", 0.0)
    monkeypatch.setattr(modules_ahead.memory_room, "bytes_left", lambda: 1e9)
    core = Core(["ahead_a"], ["ahead_b"])

    pause = modules_ahead.ModulesAhead(core).step()

    assert core.loaded == ["ahead_a"] and pause is None


def test_what_cannot_be_loaded_is_passed_over(packages):
    core = Core(["ahead_broken", "ahead_nowhere", "ahead_a"])

    modules_ahead.ModulesAhead(core).step()

    assert "ahead_a" in core.loaded and "ahead_broken" not in sys.modules


def test_a_module_that_is_the_users_own_there_is_not_loaded(packages, tmp_path, monkeypatch):
    monkeypatch.setattr(modules_ahead.local_modules, "_roots", ("/usr/nowhere/",))
    core = Core(["ahead_a"])

    modules_ahead.ModulesAhead(core).step()

    assert core.loaded == []


def test_a_task_waited_from_when_it_came_until_the_module_was_there(monkeypatch):
    ahead = modules_ahead.ModulesAhead(Core())
    ahead._spans = [(10.0, 12.0), (12.0, 13.0)]

    assert [ahead.waited(received) for received in (9.0, 11.0, 12.5, 14.0)] == [3.0, 2.0, 0.5, 0.0]


def test_imports_are_timed_once_each_and_leave_no_trace_in_tracebacks(packages):
    (packages / "ahead_outer.py").write_text("import ahead_inner")
    takes = "import time\nend = time.monotonic() + 0.05\nwhile time.monotonic() < end: pass\n"
    (packages / "ahead_inner.py").write_text(takes + "import ahead_missing")
    clock = ImportClock()
    bootstrap, name = sys.modules["_frozen_importlib"], "_find_and_load"
    real = getattr(bootstrap, name)
    clock.start()
    start = time.monotonic()
    try:
        with pytest.raises(ModuleNotFoundError) as caught:
            import ahead_outer  # noqa: F401
        took = time.monotonic() - start
    finally:
        setattr(bootstrap, name, real)

    assert 0.05 <= clock.seconds <= took
    assert [entry.path.name for entry in caught.traceback] == ["modules_ahead_test.py", "ahead_outer.py", "ahead_inner.py"]


def test_libraries_are_read_ahead_before_the_rest(tmp_path):
    (tmp_path / "inside").mkdir()
    for name in ("a.py", "inside/b.cpython-311.pyc", "inside/big.so.3", "notes.txt"):
        (tmp_path / name).write_text("x")

    found = [path.rpartition("/")[2] for path, _ in read_ahead.files_of([str(tmp_path)])]

    assert found == ["big.so.3", "b.cpython-311.pyc", "a.py"]


def test_a_package_on_a_disk_of_this_machine_is_not_read_ahead(monkeypatch):
    started = []
    monkeypatch.setattr(read_ahead.threading, "Thread", lambda **words: started.append(words))
    monkeypatch.delitem(sys.modules, "setuptools", raising=False)

    read_ahead.begin(["numpy", "setuptools"])

    assert started == []


# ---- together ----

def test_a_new_worker_has_loaded_what_a_call_names_when_the_call_runs(home):
    run = home.run("""
        def before_import(data):
            there = "scipy.special" in sys.modules, "pandas" in sys.modules
            import scipy.special
            return there
        data = b"x" * (64 << 20)  # while it travels there is time for the import
        ahead = []
        while len(ahead) < 8 and (True, False) not in ahead:  # on a busy machine the call may be quicker
            with pounce.Client() as client:
                future = client.submit(before_import, data)
                ahead.append(future.result())
                report(timings=future.timings())
        report(ahead=ahead)
        with pounce.Client(imports="no") as client:
            future = client.submit(before_import, data)
            report(off=future.result(), in_the_run=future.timings())
    """)

    assert [True, False] in run.reports["ahead"] and run.reports["off"] == [False, False]
    assert not any(pandas for _, pandas in run.reports["ahead"])  # the call does not name it
    waited, imported = run.reports["timings"], run.reports["in_the_run"]
    assert 0 <= waited["import"] <= waited["send"] + waited["run"]  # nothing, where they were loaded before it came
    assert 0 < imported["import"] <= imported["send"] + imported["run"]


def test_a_worker_without_work_loads_the_notebooks_other_modules(home):
    run = home.run("""
        from scipy import special
        def there(): return "scipy.special" in sys.modules
        with pounce.Client() as client:
            first, deadline = client.submit(there).result(), time.monotonic() + 60
            while not client.submit(there).result() and time.monotonic() < deadline:
                time.sleep(1)
            report(first=first, later=client.submit(there).result())
    """)

    assert run.reports == {"first": False, "later": True}
