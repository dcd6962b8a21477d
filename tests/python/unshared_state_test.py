"""What a worker does with saved state that it can keep on its own node only."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile

import pytest
from pounce._common.cell_protocol import NamespaceRequest
from pounce._worker import interpreter
from pounce._worker.cell import own_folders, unshared_state
from pounce._worker.cell.own_folders import OwnFolders
from pounce._worker.cell.unshared_state import UnsharedState
from pounce._worker.state import crossing
from pounce._worker.state.folder import Folder
from pounce._worker.state.key import key_of
from pounce._worker.state.saver import Saver

ELSEWHERE = "/where/this/worker/sees/nothing/0123456789abcdef"


class Lease:
    """What the lease has heard."""

    def __init__(self):
        self.heard = []
        self.tell_state = self.heard.append


@pytest.fixture
def lease(monkeypatch):
    made = Lease()
    monkeypatch.setattr(interpreter, "core", made)
    return made


@pytest.fixture
def node(monkeypatch, tmp_path):
    """Its folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def state(node):
    """A worker's UnsharedState, and the folder that it keeps a notebook's state in."""
    made = UnsharedState()
    folder = Folder(made.folder(NamespaceRequest("nb", ELSEWHERE)))
    folder.take()
    yield made, folder
    folder.close()
    made.end()


def saved(folder: Folder, names: dict, turn: int = 1) -> None:
    assert Saver(folder, names, key=key_of(os.path.dirname(folder.path))).save(turn=turn).whole


def test_a_notebooks_folder_that_is_seen_is_used(node, tmp_path):
    assert UnsharedState().folder(NamespaceRequest("nb", str(tmp_path))) == "" and not list(node.glob("pounce-state-*"))


def test_the_lease_hears_saved_when_the_kernel_has_it(state, lease):
    made, folder = state
    saved(folder, {"x": 1})

    made.tell_saved(folder, "saved")
    before = list(lease.heard)
    made.brought("nb", made.offer("nb").version)

    assert before == ["saving"] and lease.heard == ["saving", "saved"]


def test_what_was_saved_since_has_to_be_brought_too(state, lease):
    made, folder = state
    saved(folder, {"x": 1})
    version = made.offer("nb").version
    saved(folder, {"x": 2}, turn=2)

    made.tell_saved(folder, "saved")
    made.brought("nb", version)

    assert lease.heard == ["saving"]


def test_a_save_that_changed_nothing_stays_saved(state, lease):
    made, folder = state
    saved(folder, {"x": 1})
    made.brought("nb", made.offer("nb").version)

    made.tell_saved(folder, "saved")

    assert lease.heard == ["saved"]


def test_a_kernel_that_says_nothing_does_not_keep_the_worker_for_ever(state, lease, monkeypatch):
    made, folder = state
    saved(folder, {"x": 1})
    made.tell_saved(folder, "saved")
    left = made.idle()

    monkeypatch.setattr(unshared_state, "PATIENCE_S", 0.0)

    assert 0 < left <= 60 and made.idle() is None and lease.heard == ["saving", "unsaved"]


def test_what_the_kernel_has_takes_no_room_on_the_node(state, lease):
    made, folder = state
    saved(folder, {"x": os.urandom(10_000)})

    made.brought("nb", made.offer("nb").version)

    assert not folder.blobs()


def test_a_new_worker_asks_what_there_is_and_then_for_what_the_cell_reads(state, folder):
    made, _ = state
    home = Folder.made(folder)
    Saver(home, {"read": os.urandom(10_000), "unread": os.urandom(10_000)}).save(turn=4)
    there = crossing.state_in(home, b"")
    request = NamespaceRequest("nb", made.folder(NamespaceRequest("nb", ELSEWHERE)), after=4)

    first = made.lacks(request, None, lambda: {"read"})
    request.supply = crossing.unsigned(there)
    second = made.lacks(request, None, lambda: {"read"})
    made.receive("nb", crossing.parts_of(home, second))

    (unit,) = [unit for unit in there.units if "read" in unit.names]
    assert first == [crossing.MANIFEST]
    assert second == sorted({piece for one in unit.stored() for piece in one.pieces})
    assert made.lacks(request, None, lambda: {"read"}) == [] and made.lacks(request, None, lambda: None) != []


def test_what_the_kernel_could_not_bring_is_newer_than_what_it_gives(state):
    made, folder = state
    saved(folder, {"x": 1}, turn=1)
    older = crossing.unsigned(crossing.state_in(folder, key_of(os.path.dirname(folder.path))))
    saved(folder, {"x": 2}, turn=2)
    request = NamespaceRequest("nb", folder.path, after=2, supply=older)

    lacks = made.lacks(request, None, lambda: {"x"})

    assert lacks == [] and crossing.state_in(folder, key_of(os.path.dirname(folder.path))).turn == 2


def test_a_namespace_that_is_here_lacks_only_what_it_has_not_loaded(state, folder):
    made, own = state
    saved(own, {"x": os.urandom(10_000), "y": os.urandom(10_000)})
    request = NamespaceRequest("nb", own.path, after=1)
    own.drop(own.blobs())

    assert made.lacks(request, set(), lambda: None) == []
    assert len(made.lacks(request, {"x"}, lambda: {"x", "y"})) >= 1


def test_a_process_that_ends_leaves_nothing(node):
    folders = OwnFolders()
    path = folders.folder("nb")
    mode = os.stat(os.path.dirname(path)).st_mode & 0o777

    folders.remove()

    assert mode == 0o700 and not list(node.iterdir())


def test_what_a_killed_process_left_goes_with_the_next_and_what_lives_stays(node):
    program = "from pounce._worker.cell.own_folders import OwnFolders\none = OwnFolders()\nprint(one.folder('nb'), flush=True)\ninput()"
    process = functools.partial(subprocess.Popen, [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True, env={**os.environ, "TMPDIR": str(node)})
    living, killed = process(), process()
    stays, goes = living.stdout.readline().strip(), killed.stdout.readline().strip()
    killed.kill()
    killed.communicate()

    OwnFolders().folder("nb")

    assert os.path.isdir(stays) and not os.path.exists(goes)
    living.communicate("\n")


def test_a_folder_that_is_just_being_made_is_not_taken_for_one_that_was_left(node, monkeypatch):
    locks, others = own_folders.fcntl.flock, []

    def another_starts_first(file, how):
        if how == own_folders.fcntl.LOCK_EX and not others:
            others.append(OwnFolders())
            others[0].folder("other")
        locks(file, how)

    monkeypatch.setattr(own_folders.fcntl, "flock", another_starts_first)
    one = OwnFolders()

    path = one.folder("nb")

    assert os.path.isdir(path)
    for each in (one, *others):
        each.remove()
