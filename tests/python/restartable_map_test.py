"""A map with a name survives its kernel: what has run is read, what has not is run, and nothing comes twice."""

from __future__ import annotations

import collections
import os
import signal
import stat
import subprocess
import sys

import pounce
import pytest
from pounce._common.content_digest import content_digest
from pounce._common.map_store import Kept, MapStore, forget

MAP = """
    def embed(n, folder=os.getcwd()):
        import os, time
        with open(folder + "/ran", "a") as ran: ran.write(f"{{n}}\\n")
        time.sleep({seconds})
        return {{"id": n, "square": n * n}}
    with pounce.Client(workers={workers}) as client:
        results = list(client.map(embed, range({items}), name="articles", chunksize={chunksize}))
        report(ids=[each["id"] for each in results], squares=all(each["square"] == each["id"] ** 2 for each in results))
"""


def program(items=60, chunksize=3, workers=2, seconds=0.05) -> str:
    return MAP.format(items=items, chunksize=chunksize, workers=repr(workers), seconds=seconds)


def ran(home) -> list[int]:
    file = home.folder / "ran"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


@pytest.mark.parametrize("workers", [2, "0:3"])
def test_a_kernel_that_is_killed_at_40_percent_leaves_no_id_twice_and_repeats_a_chunk_per_worker_at_most(home, workers):
    items, chunksize = 120, 4
    kernel = home.start(program(items, chunksize, workers))
    kernel.until(lambda _: len(ran(home)) >= 0.4 * items, "40 % have run")
    kernel.process.send_signal(signal.SIGKILL)
    kernel.ended(-signal.SIGKILL)

    later = home.run(program(items, chunksize, workers))

    repeated = sum(count - 1 for count in collections.Counter(ran(home)).values())
    assert later.reports["ids"] == list(range(items)) and later.reports["squares"]
    assert repeated <= chunksize * (2 if workers == 2 else 3)
    assert set(ran(home)) == set(range(items))


def test_what_has_run_is_read_and_not_run_again(home):
    first = home.run(program(12))
    again = home.run(program(12))

    assert first.reports == again.reports and sorted(ran(home)) == list(range(12))


def test_each_chunk_is_its_owners_alone_and_whole_under_its_name(home):
    home.run(program(7))

    (folder,) = home.folder.glob(".local/state/pounce/*/maps/articles")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert {name for name in modes if name.endswith("chunk")} == {"000000000.chunk", "000000001.chunk", "000000002.chunk"}
    assert set(modes.values()) == {0o600} and stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not [name for name in modes if name.endswith(".new")]


REFUSALS = """
    def call(function, items, chunksize=2):
        with pounce.Client() as client:
            return list(client.map(function, items, name="articles", chunksize=chunksize))
    scale = {scale}
    def embed(n):
        # a comment and a line more or less change nothing
        return n * scale
    report(**error_of(lambda: report(values=call(embed, {items}, {chunksize}))) or {{}})
"""


@pytest.mark.parametrize("change, word", [
    ({"scale": "3"}, "another function"),
    ({"items": "[1, 2, 3, 7]"}, "other items"),
    ({"items": "[1, 2]"}, "more items"),
    ({"chunksize": "4"}, "chunksize=2"),
])
def test_another_map_under_the_same_name_is_refused_with_the_remedy(home, change, word):
    same = {"scale": "2", "items": "[1, 2, 3, 4]", "chunksize": "2"}
    home.run(REFUSALS.format(**same))

    refused = home.run(REFUSALS.format(**{**same, **change}))
    still = home.run(REFUSALS.format(**same))

    assert refused.reports["type"] == "NameTaken" and word in refused.reports["text"]
    assert "client.forget('articles')" in refused.reports["text"]
    assert still.reports == {"values": [2, 4, 6, 8]}


def test_forgotten_it_is_free_for_another_map(home):
    run = home.run("""
        with pounce.Client() as client:
            first = list(client.map(abs, [-1, -2], name="articles", chunksize=1))
            client.forget("articles")
            report(values=list(client.map(str, [5], name="articles", chunksize=9)), first=first)
            client.forget("articles")
            report(gone=error_of(lambda: client.forget("articles")))
    """)

    assert run.reports["values"] == ["5"] and run.reports["first"] == [1, 2] and run.reports["gone"]["type"] == "NoSuchName"


def test_a_kernel_that_is_at_it_keeps_another_one_out(home):
    first = home.start(program(300, seconds=0.5)).until(lambda _: len(ran(home)) > 2, "it runs")

    second = home.run("""
        with pounce.Client() as client:
            report(**error_of(lambda: client.map(abs, [1], name="articles", chunksize=1)))
    """)

    first.process.kill()
    assert second.reports["type"] == "NameTaken" and "another kernel is at the map articles" in second.reports["text"]


def test_a_cell_that_was_stopped_may_be_run_again_in_the_same_kernel(home):
    run = home.run("""
        def embed(n): return n
        with pounce.Client() as client:
            stopped = client.map(embed, range(100), name="articles", chunksize=2)
            first = next(stopped)
            report(first=first, all=list(client.map(embed, range(100), name="articles", chunksize=2)) == list(range(100)))
            report(**error_of(lambda: list(stopped)))
    """)

    assert run.reports["first"] == 0 and run.reports["all"]
    assert run.reports["type"] == "NameTaken" and "begun again" in run.reports["text"]


def test_an_item_that_fails_is_raised_in_its_place_and_its_chunk_runs_again_in_the_next_call(home):
    program = """
        def check(n, mark=os.getcwd() + "/mended"):
            import pathlib
            if n == 3 and not pathlib.Path(mark).exists(): raise ValueError("broken")
            return n
        with pounce.Client() as client:
            got = []
            report(**error_of(lambda: got.extend(client.map(check, range(6), name="articles", chunksize=2))) or {})
            report(got=got)
    """
    failed = home.run(program)
    (home.folder / "mended").touch()
    mended = home.run(program)

    assert failed.reports["type"] == "ValueError" and failed.reports["text"] == "broken"
    assert mended.reports["got"] == list(range(6))


def test_where_the_worker_does_not_see_the_folder_the_kernel_keeps_the_results(home):
    run = home.run("""
        from pounce._map import restartable_map
        def embed(n): return n
        import pathlib
        with pounce.Client() as client:
            before = restartable_map._kept_rows
            restartable_map._kept_rows = lambda function, folder, owner: lambda number, digest, rows: (
                *restartable_map.run_chunk(function, rows), False)  # as a worker that sees no such folder
            list(client.map(embed, range(4), name="articles", chunksize=2))
            report(files=sorted(path.name for path in pathlib.Path(os.environ["HOME"]).glob(".local/state/pounce/*/maps/articles/*.chunk")))
            restartable_map._kept_rows = before
            report(again=list(client.map(embed, range(4), name="articles", chunksize=2)))
    """)

    assert run.reports == {"files": ["000000000.chunk", "000000001.chunk"], "again": [0, 1, 2, 3]}


def test_a_function_or_an_item_that_does_not_pickle_is_named(home):
    run = home.run("""
        import threading
        lock = threading.Lock()
        def embed(n): return lock and n
        with pounce.Client() as client:
            report(function=error_of(lambda: client.map(embed, [1], name="a", chunksize=1)))
            report(item=error_of(lambda: client.map(abs, [lock], name="b", chunksize=1)))
            report(chunksize=error_of(lambda: client.map(abs, [1], name="c")))
    """)

    assert run.reports["function"]["type"] == run.reports["item"]["type"] == "NotPicklable"
    assert "embed: global lock" in run.reports["function"]["text"] and "items of chunk 0" in run.reports["item"]["text"]
    assert "chunksize=100" in run.reports["chunksize"]["text"]


@pytest.mark.parametrize("name", ["", ', name="articles"'])
def test_what_the_input_raises_comes_after_the_results_before_it(home, name):
    run = home.run(f"""
        def source():
            yield from range(5)
            raise OSError("the file ends here")
        with pounce.Client() as client:
            got = []
            report(**error_of(lambda: [got.append(value) for value in client.map(abs, source(), chunksize=2{name})]))
            report(got=got, gathered=error_of(lambda: client.gather(client.map(str, source(), chunksize=2)))["type"])
            report(after=client.submit(pow, 2, 2).result(30))
    """)

    assert run.reports["type"] == "OSError" and run.reports["got"] == list(range(5))
    assert run.reports["gathered"] == "OSError" and run.reports["after"] == 4


# ---- the store ---------------------------------------------------------------------------------------------------------

FACTS = {"function": "f", "chunksize": 2}


def test_a_worker_that_another_kernel_has_overtaken_begins_no_chunk(tmp_path):
    first = MapStore(str(tmp_path / "maps"), "articles", FACTS)
    first.release()
    second = MapStore(str(tmp_path / "maps"), "articles", FACTS)

    with pytest.raises(pounce.NameTaken, match="another kernel goes on"):
        first.kept.is_here()
    assert second.kept.is_here()
    second.release()


def test_a_folder_that_is_not_there_is_not_here(tmp_path):
    assert not Kept(str(tmp_path / "maps" / "articles"), "me").is_here()


@pytest.mark.parametrize("which", ["maps", "maps/articles"])
def test_a_folder_that_others_can_open_is_refused(tmp_path, which):
    MapStore(str(tmp_path / "maps"), "articles", FACTS).release()
    os.chmod(tmp_path / which, 0o755)

    with pytest.raises(pounce.ResultGone, match="not this user's alone"):
        MapStore(str(tmp_path / "maps"), "articles", FACTS)


def test_a_folder_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "maps").mkdir(mode=0o700)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "maps" / "articles").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(pounce.ResultGone, match="not this user's alone"):
        MapStore(str(tmp_path / "maps"), "articles", FACTS)


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(path.read_bytes()[:-1]), lambda path: path.chmod(0o644),
                                    lambda path: path.write_bytes(bytes([path.read_bytes()[0]]) + b"x" + path.read_bytes()[2:])])
def test_a_damaged_chunk_is_not_unpickled(tmp_path, damage):
    store = MapStore(str(tmp_path / "maps"), "articles", FACTS)
    store.kept.write(0, "digest", [1, 2])
    damage(tmp_path / "maps" / "articles" / "000000000.chunk")

    with pytest.raises(pounce.ResultGone):
        store.kept.read(0)
    store.release()


def test_a_chunk_whose_writing_failed_is_not_there(tmp_path):
    store = MapStore(str(tmp_path / "maps"), "articles", FACTS)
    with pytest.raises(TypeError):
        store.kept.write(0, "digest", [(each for each in ())])
    store.release()

    again = MapStore(str(tmp_path / "maps"), "articles", FACTS)
    assert again.done == set()
    again.release()


def test_only_a_map_is_forgotten(tmp_path):
    (tmp_path / "maps" / "articles").mkdir(parents=True, mode=0o700)

    assert not forget(str(tmp_path / "maps"), "articles")
    assert (tmp_path / "maps" / "articles").is_dir()


# ---- what is the same function -----------------------------------------------------------------------------------------

DIGEST = """
import functools, sys, collections
from dataclasses import dataclass
from pounce._common.content_digest import content_digest
{padding}
words = {{"alpha", "beta", "gamma", "delta"}}
limit = {limit}
@dataclass
class Point:
    x: int
    def norm(self): return abs(self.x) {norm}
def helper(n): return n if n in words else limit
def walk(n): return walk(n - 1) if n else [helper(i) for i in range(n)] + [Point(n).norm()]
print(content_digest(walk), content_digest([Point(1), words, {{"a": 1.5}}]), content_digest(functools.partial(walk, 3)))
"""


def digests(seed: int, limit=1, norm="", padding="") -> str:
    source = DIGEST.format(limit=limit, norm=norm, padding=padding)
    return subprocess.run([sys.executable, "-c", source], env={**os.environ, "PYTHONHASHSEED": str(seed)}, check=True,
                          capture_output=True, text=True).stdout


def test_the_same_function_and_items_have_the_same_digest_in_another_process():
    assert digests(1) == digests(2, padding="\n\n# lines before it\n")


@pytest.mark.parametrize("change", [{"limit": 2}, {"norm": "+ 1"}])
def test_what_a_function_uses_counts(change):
    assert digests(1).split()[0] != digests(1, **change).split()[0]


def test_arrays_count_by_their_content():
    np = pytest.importorskip("numpy")

    assert content_digest(np.arange(3)) == content_digest(np.arange(3)) != content_digest(np.arange(3) + 1)


def test_values_of_other_kinds_are_others():
    kept = [content_digest(each) for each in (1, 1.0, True, "1", b"1", (1,), [1], {1}, {1: 1}, None)]

    assert len(set(kept)) == len(kept)
