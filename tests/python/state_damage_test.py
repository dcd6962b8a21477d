"""Files of a saved state that are not what was written, or not ours, or of other versions, or not asked for: nothing of it is unpickled."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from pounce import _core
from pounce._worker.state import blobs, manifest
from pounce._worker.state.folder import Folder
from pounce._worker.state.problems import Damaged, Foreign
from pounce._worker.state.saver import Saver
from state_folder import MANIFEST, restorer_of, saved


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


def test_nothing_is_unpickled_that_is_not_asked_for(folder, loaded_nothing):
    Saver(Folder.made(folder), {"trap": Trap(), "fine": [1]}).save()
    restorer, there = restorer_of(folder)

    assert restorer.load(["fine"]).names == ["fine"]
    assert there["fine"] == [1] and restorer.pending() == {"trap"}


# ---- versions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package, lost, kept", [("numpy", {"a"}, {"f", "l", "g", "m"}), ("python", {"f", "g"}, {"a", "l", "m"}),
                                                 ("torch", {"m"}, {"a", "f", "l", "g"})])
def test_what_another_version_made_is_named_with_both_and_the_rest_is_restored(folder, package, lost, kept):
    pytest.importorskip("torch")
    saved(folder, "import numpy, torch\na = numpy.zeros(3); l = [1]; m = {'weights': torch.zeros(3)}\ndef f(): return l\ng = [f]")
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
    monkeypatch.setattr(_core, "MANIFEST_FORMAT", 2)

    with pytest.raises(Damaged, match="format 1, and this pounce reads 2"):
        manifest.decode(data)
