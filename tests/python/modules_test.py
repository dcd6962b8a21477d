"""Modules beside the notebook: edited between calls, found where the user told Python to look."""

from __future__ import annotations

EDIT = """
        import pathlib
        def edit(name, text):
            path = pathlib.Path(name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            os.utime(path, ns=(edit.time, edit.time)); edit.time += 1_000_000_000
        edit.time = time.time_ns() - 10**12
"""


def test_an_edited_module_is_the_new_one_on_the_worker_however_it_is_used(home):
    run = home.run(EDIT + """
        edit("helper.py", "def f(): return 'old'\\nclass C:\\n    kind = 'old'\\n")
        edit("user.py", "from helper import f\\ndef g(): return f()\\n")
        import helper, user
        def in_a_cell(): return helper.f(), user.g(), helper.C.kind
        def imports(): import helper; return helper.f()
        with pounce.Client() as client:
            def all_ways():
                return [*client.submit(in_a_cell).result(60), *(client.submit(f).result(60) for f in (helper.f, user.g, imports))]
            report(before=all_ways(), pid=client.submit(os.getpid).result(60))
            edit("helper.py", "def f(): return 'new'\\nclass C:\\n    kind = 'new'\\n")
            report(after=all_ways(), here=helper.f())
            edit("helper.py", "def f(): return 'old'\\nclass C:\\n    kind = 'old'\\n")
            report(again=all_ways(), same=client.submit(os.getpid).result(60))
    """)

    assert run.reports["before"] == ["old"] * 6 and run.reports["after"] == ["new"] * 6 and run.reports["again"] == ["old"] * 6
    assert run.reports["here"] == "old", "the notebook's own modules are the notebook's business"
    assert run.reports["pid"] == run.reports["same"]


def test_an_edit_right_after_a_result_is_never_missed_however_seldom_files_are_looked_at(home):
    run = home.run(EDIT + """
        import pounce._common.local_modules
        pounce._common.local_modules._SHARE = 10**9  # a look now is the last one that time allows
        edit("helper.py", "def f(): return 0\\n")
        import helper
        results = []
        with pounce.Client() as client:
            for number in range(5):
                edit("helper.py", f"def f(): return {number}\\n")
                results.append(client.submit(helper.f).result(60))
            report(results=results)
    """)

    assert run.reports["results"] == [0, 1, 2, 3, 4]


def test_modules_of_a_package_keep_their_state_until_one_is_edited(home):
    run = home.run(EDIT + """
        edit("pack/__init__.py", "from .inner import count\\n")
        edit("pack/inner.py", "calls = []\\ndef count(): calls.append(1); return len(calls)\\n")
        import pack
        with pounce.Client() as client:
            report(kept=[client.submit(pack.count).result(60) for _ in range(3)])
            edit("pack/inner.py", "calls = [0] * 100\\ndef count(): calls.append(1); return len(calls)\\n")
            report(fresh=[client.submit(pack.count).result(60) for _ in range(3)])
    """)

    assert run.reports == {"kept": [1, 2, 3], "fresh": [101, 102, 103]}


def test_a_traceback_shows_the_edited_lines(home):
    run = home.run(EDIT + """
        import traceback
        edit("helper.py", "def f(): return 1\\n")
        import helper
        with pounce.Client() as client:
            client.submit(helper.f).result(60)
            edit("helper.py", "# one line more\\ndef f():\\n    raise KeyError('edited')  # this line\\n")
            try:
                client.submit(helper.f).result(60)
            except KeyError as error:
                report(lines=[(frame.lineno, frame.line) for frame in traceback.extract_tb(error.__traceback__)][-1])
    """)

    assert run.reports["lines"] == [3, "raise KeyError('edited')  # this line"]


def test_what_was_added_to_the_path_of_the_notebook_is_found_there_too(home):
    run = home.run(EDIT + """
        edit("elsewhere/mine.py", "def f(): return __file__\\n")
        sys.path.append("elsewhere")
        import mine
        with pounce.Client() as client:
            report(found=client.submit(mine.f).result(60))
    """)

    assert run.reports["found"] == str(home.folder / "elsewhere" / "mine.py")


def test_a_module_without_edits_costs_nothing_and_one_with_edits_travels_once(home):
    run = home.run(EDIT + """
        edit("helper.py", "def f(): return 1\\n")
        import helper
        from pounce._engine.function_cache import FunctionCache
        cache = FunctionCache()
        plain = cache.pickled(helper.f)
        edit("helper.py", "def f(): return 2\\n" + "#" * 10_000)
        first, second = cache.pickled(helper.f), cache.pickled(helper.f)
        report(plain=len(plain.pickle) < 100, edited=len(first.pickle) > 10_000, once=first is second, other=first.id != plain.id)
    """)

    assert run.reports == {"plain": True, "edited": True, "once": True, "other": True}
