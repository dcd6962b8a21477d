"""Saving bit by bit and restoring what is asked for: what is written, what is refused, and what a process's death leaves."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from pounce._worker.state import blobs, manifest, process_state
from pounce._worker.state.folder import MANIFEST, Disk, Folder
from pounce._worker.state.problems import Damaged, Foreign, NoSpace, StateError, TooLarge, TooSlow
from pounce._worker.state.large_stack import call
from pounce._worker.state.restorer import Restorer
from pounce._worker.state.saver import Saver


def namespace_of(source: str) -> dict:
    namespace = {"__name__": "__main__", "__builtins__": __builtins__}
    exec(textwrap.dedent(source), namespace)
    return namespace


def saved(folder: Path, source: str, **options) -> tuple[Saver, dict]:
    namespace = namespace_of(source)
    saver = Saver(Folder.made(folder), namespace, **options)
    assert saver.save().whole
    return saver, namespace


def restorer_of(folder: Path, **options) -> tuple[Restorer, dict]:
    namespace = namespace_of("")
    return Restorer(Folder(folder), namespace, **options), namespace


def restored(folder: Path) -> dict:
    restorer, namespace = restorer_of(folder)
    restorer.load(restorer.names())
    return {name: value for name, value in namespace.items() if not name.startswith("__")}


def files(folder: Path) -> set[str]:
    return {name for name in os.listdir(folder) if name != MANIFEST}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state"


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

    assert not first.whole and first.saved
    assert restored(folder) == {"a": [1], "b": [2], "c": [3]}
    second = saver.save(1, [])
    assert second.whole and not set(first.saved) & set(second.saved)
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


def test_deep_nests_pass_in_a_thread_of_their_own_and_the_limit_is_put_back():
    limit = sys.getrecursionlimit()

    assert call(lambda: threading.current_thread().name, 5) == "pounce-state"
    with pytest.raises(TooSlow):
        call(lambda: [None for _ in iter(int, 1)], 0.1)
    assert sys.getrecursionlimit() == limit


# ---- disks that fail, processes that die -------------------------------------------------------------------------------


class FullDisk(Disk):
    def __init__(self, writes: int, number: int):
        self.left, self.number = writes, number

    def write(self, file, data):
        self.left -= 1
        if self.left < 0:
            raise OSError(self.number, os.strerror(self.number))
        return super().write(file, data)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_leaves_the_old_state_and_nothing_else(folder, number):
    source = "a, b, c = [1], [2], [3]"
    saved(folder, source)
    before = files(folder)
    for writes in range(4):
        namespace = restored(folder)
        for name in "abc":
            namespace[name].append(writes)
        saver = Saver(Folder(folder, FullDisk(writes, number)), namespace)

        with pytest.raises(NoSpace, match="There is no space left in .* Delete files there"):
            saver.save()

        assert files(folder) == before
        assert restored(folder) == {"a": [1], "b": [2], "c": [3]}


DYING = """
import os, signal, sys
sys.path.insert(0, sys.argv[3])
from pounce._worker.state.folder import Disk, Folder
from pounce._worker.state.restorer import Restorer
from pounce._worker.state.saver import Saver

class Dying(Disk):
    left = 10 ** 9
def step(name):
    def at(self, *arguments):
        if Dying.left == 0: os._exit(9)
        Dying.left -= 1
        return getattr(Disk, name)(self, *arguments)
    return at
for name in ("create", "write", "sync", "rename", "remove"):
    setattr(Dying, name, step(name))

def state(folder):
    names = {"__name__": "__main__"}
    restorer = Restorer(Folder(folder), names)
    restorer.load(restorer.names())
    restorer.close()
    return tuple(len(names[name]) for name in "abc")

for steps in range(200):
    folder = f"{sys.argv[1]}-{steps}"
    place = Folder.made(folder, Dying())
    names = {"a": [1], "b": [1], "c": [1], "gone": [1], "__name__": "__main__"}
    saver = Saver(place, names)
    saver.save()
    pid = os.fork()
    if pid == 0:
        for name in "abc": names[name].append(2)
        del names["gone"]
        Dying.left = steps
        saver.save(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    place.close()
    print(steps, code, *state(folder))
    if code == 0: break
"""


def test_a_process_that_dies_at_any_step_of_a_save_leaves_the_whole_old_state_or_the_whole_new(folder):
    site = str(Path(blobs.__file__).parents[3])
    done = subprocess.run([sys.executable, "-c", DYING, str(folder), "-", site], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    rows = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(rows) > 15  # each step was one
    assert rows[0][2:] == (1, 1, 1) and rows[-1][1:] == (0, 2, 2, 2)
    assert {row[2:] for row in rows} == {(1, 1, 1), (2, 2, 2)}
    assert [row[2] for row in rows] == sorted(row[2] for row in rows)


def test_what_a_process_left_that_died_is_removed_by_the_next_save(folder):
    saver, namespace = saved(folder, "a = [1]")
    for name in ("0" * 64, f".{MANIFEST}.77", f".{'1' * 64}.5"):
        (folder / name).write_text("left")
    namespace["a"].append(2)

    saver.save()

    assert files(folder) == manifest.decode((folder / MANIFEST).read_bytes()).digests()


# ---- files of others ---------------------------------------------------------------------------------------------------


class Trap:
    def __reduce__(self):
        return os.mkdir, ("/tmp/pounce-state-was-loaded",)


@pytest.fixture
def loaded_nothing():
    yield
    assert not os.path.exists("/tmp/pounce-state-was-loaded")


def change_graph(folder: Path, change) -> None:
    unit = next(unit for unit in manifest.decode((folder / MANIFEST).read_bytes()).units if unit.names == {"trap"})
    change(folder / unit.graph.pieces[0])


@pytest.mark.parametrize(
    "what, change",
    [
        ("cut off", lambda path: os.truncate(path, 10)),
        ("was changed", lambda path: path.write_bytes(bytes(path.stat().st_size))),
        ("gone", lambda path: path.unlink()),
    ],
)
def test_a_damaged_file_is_refused_and_no_name_is_loaded(folder, what, change, loaded_nothing):
    namespace = {"trap": Trap(), "fine": [1]}
    Saver(Folder.made(folder), namespace).save()
    change_graph(folder, change)
    restorer, there = restorer_of(folder)

    with pytest.raises(Damaged, match=what):
        restorer.load(restorer.names())

    assert "fine" not in there and "trap" not in there


@pytest.mark.parametrize(
    "change, what",
    [
        (lambda path: path.chmod(0o660), "may be written by others"),
        (lambda path: path.chmod(0o602), "may be written by others"),
        (lambda path: (path.rename(path.with_name("x")), path.symlink_to("x")), "is a link"),
        (lambda path: (path.unlink(), os.mkfifo(path)), "is no file"),
        (lambda path: os.chown(path, 65534, -1), "belongs to another user"),
    ],
)
def test_a_file_of_somebody_else_is_refused_and_nothing_is_unpickled(folder, change, what, loaded_nothing):
    if "another user" in what and os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    Saver(Folder.made(folder), {"trap": Trap(), "fine": [1]}).save()
    change_graph(folder, change)
    restorer, there = restorer_of(folder)

    with pytest.raises(Foreign, match=what):
        restorer.load(restorer.names())

    assert "fine" not in there


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720])
def test_a_folder_that_others_may_write_to_is_refused(folder, mode):
    saved(folder, "l = [1]")
    folder.chmod(mode)

    with pytest.raises(Foreign, match="may be written by others"):
        Folder(folder)


def test_a_folder_that_is_a_link_is_refused(folder, tmp_path):
    saved(folder, "l = [1]")
    (tmp_path / "link").symlink_to(folder)

    with pytest.raises(OSError):
        Folder(tmp_path / "link")


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b"\xff", b'{"digest": 1}', b"[" * 100_000, b'{"digest": "", "format": 1}'])
def test_a_manifest_that_is_none_is_refused(folder, data):
    saved(folder, "l = [1]")
    (folder / MANIFEST).write_bytes(data)

    with pytest.raises(Damaged, match="cut off or was changed"):
        restorer_of(folder)


def test_no_edit_of_a_manifest_is_believed(folder):
    saved(folder, "import numpy as np; a = np.zeros(10 ** 5); l = [1]", key=b"of the user's own")
    data = (folder / MANIFEST).read_bytes()
    rng = random.Random(1)
    for _ in range(300):
        place = rng.randrange(len(data))
        edited = data[:place] + bytes([data[place] ^ (1 << rng.randrange(7))]) + data[place + 1 :]
        (folder / MANIFEST).write_bytes(edited)
        try:
            restorer, _ = restorer_of(folder, key=b"of the user's own")
            assert restorer.names() == ["a", "l", "np"]  # a space that became another: the same JSON
        except Damaged:
            pass


def test_a_manifest_made_with_another_key_is_refused(folder):
    saved(folder, "l = [1]", key=b"mine")

    with pytest.raises(Damaged):
        restorer_of(folder, key=b"another's")


def test_a_manifest_cannot_name_a_file_elsewhere(folder, tmp_path):
    saved(folder, "l = [1]")
    found = manifest.decode((folder / MANIFEST).read_bytes())
    unit = manifest.Unit(frozenset({"l"}), blobs.Stored(3, ("../secret",)))
    (folder / MANIFEST).write_bytes(manifest.encode(manifest.Manifest([unit], versions=found.versions)))
    restorer, _ = restorer_of(folder)

    with pytest.raises(Damaged, match="none of its own"):
        restorer.load(["l"])


# ---- versions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package, lost, kept", [("numpy", {"a"}, {"f", "l", "g"}), ("python", {"f", "g"}, {"a", "l"})])
def test_what_another_version_made_is_named_with_both_and_the_rest_is_restored(folder, package, lost, kept):
    saved(folder, "import numpy\na = numpy.zeros(3); l = [1]\ndef f(): return l\ng = [f]")
    found = manifest.decode((folder / MANIFEST).read_bytes())
    found.versions[package] = "1.0.9"
    (folder / MANIFEST).write_bytes(manifest.encode(found))
    restorer, there = restorer_of(folder)

    failed = restorer.load(restorer.names()).failed

    assert failed.keys() == lost and kept <= there.keys()
    assert any(f"it was saved with {package} 1.0.9, and here is {manifest.version_here(package)}" in why for why in failed.values())


def test_a_package_that_is_not_here_is_named(folder):
    saved(folder, "import numpy\na = numpy.zeros(3)")
    found = manifest.decode((folder / MANIFEST).read_bytes())
    unit = next(unit for unit in found.units if "a" in unit.names)
    object.__setattr__(unit, "packages", frozenset({"no_such_package"}))
    (folder / MANIFEST).write_bytes(manifest.encode(found))
    restorer, _ = restorer_of(folder)

    assert "it needs no_such_package, which cannot be imported here" in restorer.load(["a"]).failed["a"]


def test_a_state_of_another_format_says_so(folder, monkeypatch):
    saved(folder, "l = [1]")
    data = (folder / MANIFEST).read_bytes()
    monkeypatch.setattr(manifest, "FORMAT", 2)

    with pytest.raises(Damaged, match="format 1, and this pounce reads 2"):
        manifest.decode(data)


# ---- what is asked for -------------------------------------------------------------------------------------------------

NOTEBOOK = """
import numpy as np
x = [1]
alias = x
big = np.zeros(10 ** 5)
unused = [2]
def f(n): return g(n) + x[0]
def g(n): return n * factor
factor = 3
class Model:
    def run(self): return f(2)
model = Model()
"""


@pytest.mark.parametrize(
    "source, needed",
    [
        ("print(1)", set()),
        ("y = x", {"x", "alias"}),
        ("x = 5", set()),
        ("x += 5", {"x", "alias"}),
        ("del unused", {"unused"}),
        ("g(1)", {"g", "factor"}),
        ("[f(i) for i in range(3)]", {"f", "g", "factor", "x", "alias"}),
        ("def h():\n    return lambda: model", {"model", "Model", "f", "g", "factor", "x", "alias"}),
        ("class A:\n    y = unused", {"unused"}),
        ("await model.run()", {"model", "Model", "f", "g", "factor", "x", "alias"}),
        ("get_ipython().run_line_magic('time', 'g(2)')", {"g", "factor"}),
        ("big.sum()", {"big"}),
        ("this is no python", set()),
    ],
)
def test_a_cell_needs_what_it_reads_and_what_that_reads(folder, source, needed):
    saved(folder, NOTEBOOK)
    restorer, _ = restorer_of(folder)

    assert restorer.needed_by(source) == needed


@pytest.mark.parametrize("source", ["globals()['x']", "eval('x')", "dir()", "exec(code)", "locals()"])
def test_a_cell_that_can_read_any_name_needs_all(folder, source):
    saved(folder, NOTEBOOK)
    restorer, _ = restorer_of(folder)

    assert restorer.needed_by(source) == set(restorer.names())


def test_nothing_is_unpickled_that_is_not_asked_for(folder, loaded_nothing):
    Saver(Folder.made(folder), {"trap": Trap(), "fine": [1]}).save()
    restorer, there = restorer_of(folder)

    assert restorer.load(["fine"]).names == ["fine"]
    assert there["fine"] == [1] and restorer.pending() == {"trap"}


def test_a_name_that_was_assigned_meanwhile_is_newer(folder):
    saved(folder, "x = [1]; alias = x")
    restorer, there = restorer_of(folder)
    there["x"] = "newer"

    restorer.load(["alias"])

    assert there["x"] == "newer" and there["alias"] == [1]


def test_names_loaded_one_after_the_other_are_what_they_were_together(folder):
    saved(folder, NOTEBOOK + "other = Model(); both = [f, Model]")
    restorer, there = restorer_of(folder)
    for name in ("other", "both", "model", "f", "x"):
        restorer.load([name])

    assert type(there["other"]) is type(there["model"]) is there["Model"] is there["both"][1]
    assert there["both"][0] is there["f"] and there["model"].run() == 7


def test_what_was_not_loaded_stays_in_the_state_when_it_is_saved_again(folder):
    saved(folder, "import numpy as np; a, b, c = [1], [2], [3]; d = a")
    restorer, there = restorer_of(folder)
    restorer.load(["b"])
    there["b"].append(4)
    there["a"] = "new"
    restorer.forget(["a", "c"])

    Saver(Folder(folder), there, unloaded=restorer.pending).save(5)

    assert restored(folder) == {"a": "new", "b": [2, 4], "d": [1], "np": np}


def test_a_unit_that_cannot_be_loaded_is_named_and_the_others_are(folder):
    saved(folder, """
        class Odd(Exception):
            def __init__(self, one, two): super().__init__(one)
        odd = [Odd(1, 2)]
        fine = [3]
    """)
    restorer, there = restorer_of(folder)

    failed = restorer.load(restorer.names()).failed

    assert failed.keys() == {"odd"} and "TypeError" in failed["odd"] and there["fine"] == [3]


# ---- the process -------------------------------------------------------------------------------------------------------

PROCESS = """
import os, sys, random, warnings
sys.path.insert(0, sys.argv[1])
from pounce._worker.state import process_state
start = process_state.Baseline()
import numpy as np, torch, pandas as pd, matplotlib
def seen():
    return [os.getcwd(), os.environ.get("MINE"), os.environ.get("HOME"), sys.path[0], sys.path[-1], matplotlib.rcParams["lines.linewidth"],
            pd.get_option("display.max_rows"), str(torch.get_default_dtype()), np.get_printoptions()["precision"],
            ("ignore", None, UserWarning, None, 0) in warnings.filters, random.random(), np.random.rand(), torch.rand(1).item()]
if sys.argv[2] == "take":
    os.chdir("/usr"); os.environ["MINE"] = "1"; del os.environ["HOME"]; sys.path.insert(0, "/front"); sys.path.append("/behind")
    os.environ["POUNCE_SECRET"] = os.environ["SLURM_JOB_ID"] = "hidden"
    matplotlib.rcParams["lines.linewidth"] = 7; pd.set_option("display.max_rows", 9); torch.set_default_dtype(torch.float64)
    np.set_printoptions(precision=3); warnings.simplefilter("ignore", UserWarning)
    random.seed(4), np.random.seed(5), torch.manual_seed(6)
    data = process_state.taken(start)
    assert b"hidden" not in data and b"SLURM" not in data
    open(sys.argv[3], "wb").write(data)
else:
    assert process_state.put_back(open(sys.argv[3], "rb").read()) == {}
    assert "POUNCE_SECRET" not in os.environ
print(seen())
"""


def test_a_fresh_process_is_where_the_old_one_was_and_draws_the_same_numbers(tmp_path):
    site = str(Path(blobs.__file__).parents[3])
    shown = []
    for what in ("take", "put back"):
        done = subprocess.run([sys.executable, "-c", PROCESS, site, what, str(tmp_path / "process")], capture_output=True, text=True,
                              env={**os.environ, "HOME": "/root"}, cwd="/tmp")
        assert done.returncode == 0, done.stderr
        shown.append(done.stdout)

    assert shown[0] == shown[1] and "'/usr', '1', None, '/front', '/behind', 7.0, 9, 'torch.float64', 3, True" in shown[0]


def test_a_process_state_is_kept_with_the_names(folder):
    saver, _ = saved(folder, "l = [1]")
    saver.save(1, process=process_state.taken(process_state.Baseline()))
    restorer, _ = restorer_of(folder)

    assert process_state.put_back(restorer.process()) == {}


def test_a_gpu_that_is_not_here_is_an_error_with_words():
    torch = pytest.importorskip("torch")
    from pounce._worker.state import tensor_pickling

    there = torch.cuda.device_count()
    with pytest.raises(StateError, match=rf"It was on cuda:{there}, and this worker has {there} GPU"):
        tensor_pickling.own_storage(b"", 0, f"cuda:{there}")
