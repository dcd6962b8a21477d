"""One worker after the other has a saved state; one that was cut off and comes back must not spoil what its successor saved."""

from __future__ import annotations

import errno
import os

import pytest
from pounce._worker.state import adoption, manifest
from pounce._worker.state.folder import Disk, Folder
from pounce._worker.state.key import key_of, made_key
from pounce._worker.state.problems import Damaged, Foreign, NoSpace, TakenOver
from pounce._worker.state.restorer import Restorer
from pounce._worker.state.saver import Saver
from pounce.cell.notebook_state import ABOUT, NotebookState


def taken(path) -> Folder:
    folder = Folder.made(path)
    folder.take()
    return folder


def loaded(path, key: bytes = b"") -> dict:
    namespace: dict = {}
    restorer = Restorer(Folder(path), namespace, key)
    restorer.load(restorer.names())
    return namespace


def test_the_second_worker_has_what_the_first_saved_and_saves_on(folder):
    Saver(taken(folder), {"x": [1]}).save(cell=3, turn=2)

    second = taken(folder)
    restorer = Restorer(second, names := {})
    restorer.load(["x"])
    names["x"].append(2)
    Saver(second, names).save(cell=4, turn=3)

    assert loaded(folder) == {"x": [1, 2]} and (restorer.turn, restorer.cell) == (2, 3)


def test_what_the_first_saves_until_the_second_takes_over_is_kept(folder):
    first, names = taken(folder), {"x": [1]}
    saver = Saver(first, names)
    saver.save(turn=1)
    second = Folder(folder)
    restorer = Restorer(second, there := {})
    names |= {"x": [2], "late": [3]}
    saver.save(turn=1)

    second.take()
    restorer = restorer.newest()
    restorer.load(["x"])
    Saver(second, there, unloaded=restorer.pending, saved=restorer.saved).save(turn=2)

    assert there["x"] == [2] and loaded(folder) == {"x": [2], "late": [3]}


def test_a_saver_reads_no_list_that_the_restorer_has_read(folder, monkeypatch):
    Saver(taken(folder), {"x": [1]}).save(turn=1)
    second = taken(folder)
    restorer = Restorer(second, names := {}).newest()
    monkeypatch.setattr(manifest, "decode", None)

    Saver(second, names, unloaded=restorer.pending, saved=restorer.saved).save(turn=2)

    monkeypatch.undo()
    assert loaded(folder) == {"x": [1]}


def test_a_worker_that_comes_back_writes_nothing_and_removes_nothing(folder):
    first, names = taken(folder), {"x": [1]}
    saver = Saver(first, names)
    saver.save(turn=1)
    Saver(taken(folder), {"x": [1], "y": [2]}).save(turn=2)

    names["x"].append("from the past")
    with pytest.raises(TakenOver):
        saver.save(turn=2)
    first.keep_only(set())

    assert loaded(folder) == {"x": [1], "y": [2]}


def test_a_save_removes_what_a_cut_off_save_left_and_no_other_file_that_is_being_written(folder):
    first = taken(folder)
    for name in (f".{'ab' * 32}.12.34", ".manifest-1.json.12.34", ".about.json.12.34"):
        (folder / name).write_bytes(b"a part")

    first.keep_only(set())

    assert sorted(name for name in os.listdir(folder) if name.startswith(".")) == [".about.json.12.34"]


def test_a_notebook_whose_disk_was_full_uses_its_folder_when_there_is_room(tmp_path, monkeypatch):
    state = NotebookState()
    with monkeypatch.context() as full:
        full.setattr(Disk, "write", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(NoSpace, match="no space left"):
            state.make_folder(str(tmp_path / "parked"))

    state.make_folder(str(tmp_path / "parked"))

    assert os.listdir(state.folder) == [ABOUT]


def test_whether_the_last_worker_has_left_is_seen(folder):
    first = taken(folder)
    under_way = first.left()
    first.leave()
    left = first.left()
    taken(folder)

    assert (under_way, left, first.left()) == (False, True, False)


def test_two_that_take_it_at_once_have_different_numbers(folder):
    assert {taken(folder).epoch for _ in range(3)} == {1, 2, 3}


def test_names_of_another_state_come_without_being_unpickled(tmp_path):
    Saver(taken(tmp_path / "old"), {"a": [1], "b": [2], "c": [3]}).save()
    Saver(taken(tmp_path / "new"), {"b": "mine", "d": [4]}).save(cell=7, turn=5)

    found = adoption.adopt(Folder(tmp_path / "new"), Folder(tmp_path / "old"), ["a", "b"], b"", 6)

    assert found == ["a", "b"] and loaded(tmp_path / "new") == {"a": [1], "b": [2], "d": [4]}
    assert loaded(tmp_path / "old") == {"a": [1], "b": [2], "c": [3]}
    assert Restorer(Folder(tmp_path / "new"), {}).turn == 6


def test_where_files_cannot_have_two_names_they_are_copied(tmp_path, monkeypatch):
    import os

    def refuse(*_, **__):
        raise OSError(1, "Operation not permitted")

    Saver(taken(tmp_path / "old"), {"a": [1]}).save()
    monkeypatch.setattr(os, "link", refuse)

    adoption.adopt(taken(tmp_path / "new"), Folder(tmp_path / "old"), [], b"", 1)

    assert loaded(tmp_path / "new") == {"a": [1]}


def test_the_key_is_made_once_and_a_list_signed_with_another_is_refused(tmp_path):
    key = made_key(str(tmp_path))
    Saver(taken(tmp_path / "state"), {"x": [1]}, key=key).save()

    assert made_key(str(tmp_path)) == key_of(str(tmp_path)) == key and len(key) == 32
    assert loaded(tmp_path / "state", key) == {"x": [1]}
    with pytest.raises(Damaged):
        loaded(tmp_path / "state", b"another")


def test_a_key_that_others_may_write_is_refused(tmp_path):
    made_key(str(tmp_path))
    (tmp_path / "key").chmod(0o620)

    with pytest.raises(Foreign):
        key_of(str(tmp_path))
