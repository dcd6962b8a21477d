"""What a save writes, how it is interrupted, and what it says cannot be saved."""

from __future__ import annotations

import json
import sys
import threading
import time

import numpy as np
import pytest
from pounce import _core
from pounce._worker.state import blobs, manifest
from pounce._worker.state.folder import Folder
from pounce._worker.state.large_stack import call
from pounce._worker.state.problems import TooLarge, TooMany, TooSlow
from pounce._worker.state.saver import Saver
from state_folder import MANIFEST, files, restored, restorer_of, saved

# ---- what is written ---------------------------------------------------------------------------------------------------


def test_the_second_save_of_an_unchanged_namespace_writes_nothing(folder):
    saver, _ = saved(folder, "import numpy as np; a = np.zeros(10 ** 6); l = [1]; x = 3")
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}

    report = saver.save()

    assert report.whole and report.saved == [] and report.nbytes == 0
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_of_a_large_array_only_the_changed_piece_is_written(folder, monkeypatch):
    monkeypatch.setattr(blobs, "PIECE_BYTES", 1 << 16)
    saver, namespace = saved(folder, "import numpy as np; a = np.arange(10 ** 6)")
    namespace["a"][0] = 7

    report = saver.save(1, ["a"])

    assert report.saved == ["a"] and report.nbytes <= 1 << 16
    assert restored(folder)["a"][0] == 7


def test_what_is_no_longer_named_is_removed_after_the_new_manifest(folder):
    saver, namespace = saved(folder, "import numpy as np; a = np.arange(10 ** 5); b = [1]")
    del namespace["a"]

    saver.save()

    assert restored(folder) == {"b": [1], "np": np}
    assert files(folder) == manifest.decode((folder / MANIFEST).read_bytes()).digests()


def test_equal_bytes_are_kept_once_and_stay_two_arrays(folder):
    saved(folder, "import numpy as np; a = np.arange(10 ** 5); b = a.copy()")

    assert sum((folder / name).stat().st_size for name in files(folder)) < 10**6
    there = restored(folder)
    there["a"][0] = 5
    assert there["b"][0] == 0


def test_a_state_saved_after_it_was_restored_does_not_grow(folder):
    saved(folder, "import numpy as np; a = np.arange(10 ** 5); v = a[5:]; l = [a]; s = {'x', 'y'}")
    sizes = []
    for _ in range(3):
        restorer, namespace = restorer_of(folder)
        restorer.load(restorer.names())
        Saver(Folder(folder), namespace, unloaded=restorer.pending).save()
        sizes.append(sum(path.stat().st_size for path in folder.iterdir()))

    assert max(sizes) - min(sizes) < 100
    assert restored(folder)["v"].base is not None


def test_the_files_are_their_owners_alone(folder):
    saved(folder, "l = [1]")

    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_the_manifest_tells_which_cell_changed_what_without_a_pickle(folder):
    saver, namespace = saved(folder, "l = [1]; m = [2]")
    namespace["m"].append(3)
    saver.save(7, ["m"])

    units = json.loads((folder / MANIFEST).read_text())["units"]

    assert {unit["names"][0]: unit["cell"] for unit in units} == {"l": 0, "m": 7}


def test_a_name_that_a_function_assigned_is_found_without_being_told(folder):
    saver, namespace = saved(folder, "x = [1]\ndef f():\n    global x\n    x = [5]")
    namespace["f"]()

    saver.save(1, [])

    assert restored(folder)["x"] == [5]


def test_an_object_whose_pickle_changes_each_time_is_no_reason_to_fail(folder):
    saver, _ = saved(folder, "class C:\n    n = 0\n    def __getstate__(self): C.n += 1; return {'n': C.n}\nc = C()")

    assert saver.save(1).whole
    assert len(files(folder)) <= 3


def test_objects_whose_pickles_change_each_time_are_written_once_by_a_look_at_everything_however_often_it_is_interrupted(folder):
    saver, namespace = saved(folder, """
        class C:
            n = 0
            def __getstate__(self): C.n += 1; return {'n': C.n}
        b, c, d = C(), C(), C()
    """)
    written, touched = [], None
    for number in range(12, 1000, 7):
        asked = iter([False] * number)
        report = saver.save(1, touched, lambda asked=asked: next(asked, True))
        saver.close()
        written += report.saved
        touched = ()  # what is left of the look
        if report.whole:
            break

    assert report.whole and number > 12
    assert len(written) == len(set(written))
    assert saver.save(1, ()).nbytes == 0
    assert files(folder) == manifest.decode((folder / MANIFEST).read_bytes()).digests()


def test_a_name_that_became_an_import_is_one(folder):
    saver, namespace = saved(folder, "x = [1]; y = [2]")
    namespace["x"] = np

    saver.save()

    assert restored(folder) == {"x": np, "y": [2]}
    assert [unit.names for unit in manifest.decode((folder / MANIFEST).read_bytes()).units] == [{"y"}]


# ---- stopping ----------------------------------------------------------------------------------------------------------


def test_a_save_that_is_interrupted_goes_on_later_and_the_old_state_is_there_meanwhile(folder):
    saver, namespace = saved(folder, "a, b, c = [1], [2], [3]")
    for name in "abc":
        namespace[name].append(4)
    asked = iter([False] * 5 + [True])

    first = saver.save(1, interrupted=lambda: next(asked, True))

    assert not first.whole
    assert restored(folder) == {"a": [1], "b": [2], "c": [3]}
    assert saver.save(1, []).whole
    assert restored(folder) == {"a": [1, 4], "b": [2, 4], "c": [3, 4]}


def test_at_no_moment_of_two_interrupted_saves_is_there_a_mix_of_two_cells(folder):
    for stop in range(12):
        path = folder.with_name(f"s{stop}")
        saver, namespace = saved(path, "a, b = [0], [0]")
        for cell in (1, 2):
            namespace["a"].append(cell)
            namespace["b"].append(cell)
            asked = iter([False] * stop)
            saver.save(cell, interrupted=lambda asked=asked: next(asked, True))
        there = restored(path)
        assert there["a"] == there["b"]


# ---- what cannot be saved ----------------------------------------------------------------------------------------------


def test_an_object_that_cannot_be_pickled_is_named_with_its_path_and_the_rest_is_saved(folder):
    saver, _ = saved(folder, """
        class Bad:
            def __reduce__(self): raise OSError('no')
        far = {'deep': [1, Bad()]}
        fine = [2]
    """)

    assert saver.save().unparkable == {"far": "far['deep'][1] is a Bad: no"}
    assert restored(folder)["fine"] == [2]


@pytest.mark.parametrize("doing", ["time.sleep(30)", "[None for _ in iter(int, 1)]"])
def test_an_object_that_takes_for_ever_is_named_and_left(folder, doing):
    start = time.monotonic()
    saver, _ = saved(folder, f"""
        import time
        class Slow:
            def __reduce__(self): {doing}; return list, ()
        slow = [Slow()]
        fine = [2]
    """, unit_s=0.2)

    assert time.monotonic() - start < 20
    assert saver.save(1, []).unparkable == {"slow": "slow takes longer than 0.2 s to pickle"}
    assert restored(folder)["fine"] == [2]


@pytest.mark.parametrize("lie", ["return 5", "return list", "return list, 3", "return list, (), None, 7", "return 'no_such_name'", "raise SystemExit"])
def test_an_object_that_lies_about_how_it_is_made_is_named_and_the_rest_is_saved(folder, lie):
    saver, _ = saved(folder, f"""
        class Liar:
            def __reduce__(self): {lie}
        liar = Liar()
        fine = [2]
    """)

    assert "liar is a Liar: " in saver.save().unparkable["liar"]
    assert restored(folder)["fine"] == [2]


def test_what_needed_something_that_can_be_saved_now_is_saved_again(folder):
    saver, namespace = saved(folder, "import threading\nclass C:\n    lock = threading.Lock()\nc = C(); c.x = [1]")
    assert saver.save().unparkable.keys() == {"C", "c"}
    del namespace["C"].lock

    assert saver.save(1, ["C"]).unparkable == {}
    assert restored(folder)["c"].x == [1]


def test_a_state_that_is_too_large_is_refused_before_anything_is_written(folder):
    saver, namespace = saved(folder, "l = [1]", most_bytes=10**6)
    before = files(folder)
    namespace["a"] = np.zeros(10**6)

    with pytest.raises(TooLarge, match=r"take 8,\d+,\d+ bytes, and at most 1,000,000 may be saved"):
        saver.save()

    assert files(folder) == before
    assert restored(folder) == {"l": [1]}
    del namespace["a"]
    assert saver.save().whole


def test_a_list_that_nobody_would_read_is_not_written_and_what_was_saved_before_is_whole(folder, monkeypatch):
    monkeypatch.setattr(_core, "MOST_MANIFEST_BYTES", 3000)
    saver, namespace = saved(folder, "l = [1]")
    before = files(folder)
    namespace.update({f"l{number}": [number] for number in range(20)})

    with pytest.raises(TooMany, match=r"The list of 21 objects and 0 arrays takes \d,\d+ bytes, and at most 3,000 may be saved\. Delete"):
        saver.save()

    assert files(folder) == before
    assert restored(folder) == {"l": [1]}
    for number in range(20):
        del namespace[f"l{number}"]
    assert saver.save().whole


def test_deep_nests_pass_in_a_thread_of_their_own_and_the_limit_is_put_back():
    limit = sys.getrecursionlimit()

    assert call(lambda: threading.current_thread().name, 5) == "pounce-state"
    with pytest.raises(TooSlow):
        call(lambda: [None for _ in iter(int, 1)], 0.1)
    assert sys.getrecursionlimit() == limit
