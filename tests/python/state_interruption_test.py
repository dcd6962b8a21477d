"""A save stops wherever it is when somebody waits, and a later one goes on: nothing is lost, left behind or written twice."""

from __future__ import annotations

import gc
import hashlib
import os
import threading
import time

import numpy as np
import pytest
from pounce._worker.state import blobs, manifest, memory, piece_writer
from pounce._worker.state.folder import Disk, Folder
from pounce._worker.state.saver import Saver
from state_folder import MANIFEST, files, namespace_of, restored, saved

SOURCE = """
import numpy as np
a = np.arange(3000)
v = a[7:]
data = b'x' * 3000
text = 'a\\u00e4\\ud800' * 1000
open_end = bytearray(b'y' * 3000)
nest = [{'i': i, 'l': [i]} for i in range(20)]
class C:
    def __init__(self, x): self.x = x
c = [C(i) for i in range(5)]
n = 5
"""
CHANGE = "a[5] = 1; data += b'z'; text += 'z'; open_end += b'z'; nest[3]['i'] = 'new'; c[1].x = 7; n = 6; new = [a]"


@pytest.fixture
def small_steps(monkeypatch):
    monkeypatch.setattr(blobs, "PIECE_BYTES", 8192)
    monkeypatch.setattr(piece_writer, "LOOK_BYTES", 2048)
    monkeypatch.setattr(piece_writer, "_ALONE_BYTES", 0)
    for module in ("memory", "pickling", "array_pickling"):
        monkeypatch.setattr(f"pounce._worker.state.{module}.INLINE_BYTES", 2048, raising=False)


class Asked:
    """True from the question of this number on."""

    def __init__(self, number: int):
        self.left, self._lock = number, threading.Lock()

    def __call__(self) -> bool:
        with self._lock:
            self.left -= 1
            return self.left < 0


class CountingDisk(Disk):
    def __init__(self):
        self.made: list[str] = []

    def rename(self, old, new, folder):
        self.made.append(new)
        super().rename(old, new, folder)


class StuckDisk(CountingDisk):
    """One of its steps waits until it may go on."""

    def __init__(self, step: str):
        super().__init__()
        self.at_it, self.go_on = threading.Event(), threading.Event()
        self.on = False
        whole = getattr(super(), step)

        def stuck(*arguments):
            if self.on and (step != "write" or len(arguments[1]) >= 4096):  # a graph is shorter
                self.at_it.set()
                assert self.go_on.wait(60)
            return whole(*arguments)

        setattr(self, step, stuck)


def content(namespace: dict) -> dict:
    kept = {name: value for name, value in namespace.items() if name in ("data", "text", "open_end", "nest", "n")}
    return {**kept, "a": namespace["a"].tolist(), "v": namespace["v"].tolist(), "c": [one.x for one in namespace["c"]]}


@pytest.fixture
def left_threads():
    """Gives the threads that saves of this test have left. Threads of tests that ran before in the process do not count."""
    before = set(threading.enumerate())

    def left() -> list[threading.Thread]:
        made = [thread for thread in threading.enumerate() if thread not in before and thread.name.startswith("pounce-state")]
        for thread in made:
            thread.join(10)
        return [thread for thread in made if thread.is_alive()]

    return left


# ---- at every point ----------------------------------------------------------------------------------------------------


def test_a_save_that_is_interrupted_at_any_question_and_then_goes_on_is_a_save(tmp_path, small_steps):
    shown = []
    for number in [*range(0, 100, 3), *range(100, 10_000)]:
        folder = tmp_path / f"s{number}"
        disk = CountingDisk()
        namespace = namespace_of(SOURCE)
        saver = Saver(Folder.made(folder, disk), namespace)
        saver.save()
        before = (folder / MANIFEST).read_bytes()
        exec(CHANGE, namespace)
        disk.made.clear()

        first = saver.save(1, interrupted=Asked(number))
        if first.whole:
            break
        saver.close()  # a manifest may be under way
        if (folder / MANIFEST).read_bytes() == before:
            assert restored(folder)["n"] == 5
        second = saver.save(1, [])

        assert second.whole and not set(first.saved) & set(second.saved)
        there = restored(folder)
        assert content(there) == content(namespace) and there["v"].base is there["a"] and there["new"][0] is there["a"]
        assert files(folder) == manifest.decode((folder / MANIFEST).read_bytes()).digests()
        assert all(hashlib.sha256((folder / name).read_bytes()).hexdigest() == name for name in files(folder))
        assert len(disk.made) == len(set(disk.made))  # nothing was written twice
        shown.append((bool(first.saved), first.nbytes > 0))

    assert number > 60  # it asks between small steps
    assert len(set(shown)) > 1  # before and after something was written


def test_a_save_that_is_interrupted_again_and_again_comes_to_its_end(folder, small_steps):
    disk = CountingDisk()
    namespace = namespace_of("import numpy as np; a = np.arange(20_000)")
    saver = Saver(Folder.made(folder, disk), namespace)
    for saves in range(1, 1000):
        if saver.save(1, interrupted=Asked(130)).whole:
            break

    assert 1 < saves < 100
    assert len(disk.made) == len(set(disk.made)) == 20_000 * 8 // 8192 + 3  # pieces, the rest, the graph, the manifest
    assert np.array_equal(restored(folder)["a"], namespace["a"])


def test_what_was_changed_between_two_parts_of_a_save_is_saved_as_it_is_then(folder, small_steps):
    for number in range(0, 200, 5):
        path = folder.with_name(f"s{number}")
        saver, namespace = saved(path, "import numpy as np; a = np.arange(20_000); b = [1]")
        namespace["a"][:] = 1
        saver.save(1, interrupted=Asked(number))
        namespace["a"][:] = 2

        assert saver.save(2, ["a"]).whole
        assert set(restored(path)["a"].tolist()) == {2}


# ---- nothing is left ---------------------------------------------------------------------------------------------------


def test_an_interrupted_save_leaves_no_thread_no_temporary_file_and_no_hold_on_memory(folder, small_steps, left_threads):
    namespace = namespace_of(SOURCE)
    saver = Saver(Folder.made(folder), namespace)
    gc.disable()
    try:
        for number in range(0, 120, 3):
            saver.save(1, interrupted=Asked(number))
            namespace["open_end"].append(1)  # BufferError: somebody still looks at it
            saver.close()
            assert [name for name in os.listdir(folder) if name.startswith(".")] == []
        assert left_threads() == []
    finally:
        gc.enable()


def test_a_disk_that_is_full_leaves_no_thread_and_no_temporary_file(folder, small_steps, left_threads):
    from state_disk_test import FullDisk

    namespace = namespace_of(SOURCE)
    Folder.made(folder).close()
    with pytest.raises(Exception, match="no space left"):
        Saver(Folder(folder, FullDisk(3, 28)), namespace).save()

    assert left_threads() == [] and os.listdir(folder) == []


# ---- a slow disk -------------------------------------------------------------------------------------------------------


def test_nobody_waits_for_a_slow_fsync_and_what_it_made_durable_counts(folder):
    disk = StuckDisk("sync")
    disk.on = True
    namespace = namespace_of("import numpy as np; a = np.arange(100_000)")
    saver = Saver(Folder.made(folder, disk), namespace)

    assert not saver.save(interrupted=disk.at_it.is_set).whole

    namespace["b"] = [5]
    assert disk.made == []
    disk.on = False
    disk.go_on.set()
    assert saver.save(1, []).whole
    assert len(disk.made) == len(set(disk.made))
    assert restored(folder)["a"].sum() == namespace["a"].sum()


def test_nobody_waits_for_a_slow_write_and_a_half_written_file_gets_no_name(folder, monkeypatch, left_threads):
    monkeypatch.setattr(piece_writer, "LOOK_BYTES", 4096)
    disk = StuckDisk("write")
    disk.on = True
    namespace = namespace_of("import numpy as np; a = np.arange(100_000)")
    saver = Saver(Folder.made(folder, disk), namespace)

    assert not saver.save(interrupted=disk.at_it.is_set).whole

    disk.on = False
    namespace["a"][:] = 7  # while write(2) is still under way
    assert saver.save(1, ["a"]).whole
    disk.go_on.set()
    assert left_threads() == []
    assert files(folder) == manifest.decode((folder / MANIFEST).read_bytes()).digests()
    assert set(restored(folder)["a"].tolist()) == {7}


def test_nobody_waits_for_a_manifest_on_a_slow_disk_and_the_next_save_knows_it(folder):
    disk = StuckDisk("rename")
    namespace = namespace_of("a = [1]")
    saver = Saver(Folder.made(folder, disk), namespace)
    saver.save()
    namespace["a"] = [2]
    rename = disk.rename

    def only_the_manifest(old, new, place):
        (rename if new == MANIFEST else CountingDisk.rename.__get__(disk))(old, new, place)

    disk.rename, disk.on = only_the_manifest, True
    assert not saver.save(1, interrupted=disk.at_it.is_set).whole
    disk.go_on.set()
    disk.made.clear()

    assert saver.save(1, []).whole
    assert disk.made in ([], [MANIFEST])  # whether it was written before this save or in it
    assert restored(folder)["a"] == [2]


# ---- objects that do not ask -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("doing", ["while True: pass", "import time\n        while True: time.sleep(0.001)"])
def test_nobody_waits_for_an_object_whose_own_pickling_does_not_end(folder, doing, left_threads):
    namespace = namespace_of(f"""
class Slow:
    def __reduce__(self):
        begun.append(1)
        {doing}
begun = []
slow = Slow()
""")
    saver = Saver(Folder.made(folder), namespace, hides={"begun"}.__contains__)

    assert not saver.save(interrupted=lambda: bool(namespace["begun"])).whole
    assert left_threads() == []


def test_a_million_regions_are_joined_in_steps():
    asked = []
    memory.Memory((memory.Region("cpu", 10 * number, 5, None, 0) for number in range(10_000)), lambda: asked.append(1))

    assert len(asked) >= 20


# ---- measured ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [
    "import numpy as np; x = np.arange(20_000_000)",
    "x = [{'i': i} for i in range(100_000)]",
    "x = list(range(1_000_000))",
    "x = bytes(100_000_000)",
    "x = 'ab' * 20_000_000",
    "import numpy as np; x = [np.zeros(9) for _ in range(5_000)]",
], ids=["array", "objects", "numbers", "bytes", "text", "arrays"])
def test_somebody_waits_a_moment_only_whatever_is_saved(folder, source):
    namespace = namespace_of(source)
    saver = Saver(Folder.made(folder), namespace)
    worst = 0.0
    for part in range(1, 10):
        until = time.monotonic() + 0.02 * part
        report = saver.save(interrupted=lambda until=until: time.monotonic() > until)
        if not report.whole:
            worst = max(worst, time.monotonic() - until)

    assert worst < 3.0  # 50 ms where nobody else computes
