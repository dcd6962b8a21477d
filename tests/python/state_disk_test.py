"""Disks that fail and processes that die in the middle of a save: the last whole state is there."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pounce._worker.state import blobs, manifest
from pounce._worker.state.folder import Disk, Folder
from pounce._worker.state.problems import NoSpace
from pounce._worker.state.saver import Saver
from state_folder import MANIFEST, files, restored, saved


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
    for name in ("0" * 64, f".{MANIFEST}.77.78", f".{'1' * 64}.5.6"):
        (folder / name).write_text("left")
    namespace["a"].append(2)

    saver.save()

    assert files(folder) == manifest.decode((folder / MANIFEST).read_bytes()).digests()
