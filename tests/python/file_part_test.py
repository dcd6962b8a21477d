"""What lies in a file is known by the kernel's word, and named so that another process can tell whether it sees the same bytes."""

from __future__ import annotations

import mmap
import os
import pickle

import numpy as np
import pytest
from pounce._common import file_buffers, serialize
from pounce._common.file_buffers import InFiles
from pounce._common.file_part import FileIdentity, is_there
from pounce._common.file_regions import file_parts
from pounce.errors import FileNotHere

N = 200_000


@pytest.fixture
def file(tmp_path):
    """400 pages of numbers."""
    path = tmp_path / "numbers.npy"
    np.save(path, np.arange(N, dtype="f8"))
    return path


def sent(value):
    """(what travels: its bytes in all, what its reader gets)"""
    data, buffers, _ = serialize.dumps(value, by_file=True)
    parts = file_parts(buffers)
    others: list = []
    in_files = InFiles(data, [part or buffer for part, buffer in zip(parts, buffers, strict=True)])
    whole = pickle.dumps(in_files, 5, buffer_callback=others.append)
    size = len(whole) + sum(buffer.raw().nbytes for buffer in others)
    return size, pickle.loads(whole, buffers=[bytearray(buffer.raw()) for buffer in others])


def part(array):
    (found,) = file_parts(serialize.dumps(array, by_file=True)[1])
    return found


VIEWS = {
    "all of it": lambda array: array,
    "its end": lambda array: array[1000:],
    "every second": lambda array: array[::2],
    "backwards": lambda array: array[::-1],
    "a transposed piece": lambda array: array.reshape(400, 500)[::2, 100:400].T,
    "as bytes": lambda array: array.view("u1")[8 * 1000 : -8],
    "as dates": lambda array: array.view("M8[s]"),
}


@pytest.mark.parametrize("which", VIEWS)
@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_a_view_of_a_mapped_array_travels_as_the_name_of_its_file(file, which, mode):
    array = VIEWS[which](np.load(file, mmap_mode=mode))

    size, again = sent(array)

    assert size < 2_000
    assert again.dtype == array.dtype and np.array_equal(again, array) and again.flags.writeable == array.flags.writeable


def test_a_few_numbers_from_a_large_file_travel_as_numbers(file):
    column = np.load(file, mmap_mode="r").reshape(1000, 200)[:, 0]

    size, again = sent(column)

    assert 8_000 < size < 10_000 and np.array_equal(again, column)


def test_a_mapping_whose_writes_reach_the_file_still_does_there(file):
    array = np.load(file, mmap_mode="r+")

    _, again = sent(array[:3])
    again[1] = 77

    assert array[1] == 77 and np.load(file)[1] == 77


def test_a_private_mapping_stays_private_there(file):
    array = np.load(file, mmap_mode="c")

    _, again = sent(array)
    again[1] = 77

    assert array[1] == 1 and np.load(file)[1] == 1


@pytest.mark.parametrize("place", [0, N // 2, N - 1])
def test_a_private_mapping_that_was_written_to_travels_as_data(file, place):
    array = np.load(file, mmap_mode="c")
    array[place] = 77

    size, again = sent(array)

    assert size > 8 * N and again[place] == 77


def test_the_untouched_part_of_a_private_mapping_travels_by_name(file):
    array = np.load(file, mmap_mode="c")
    array[0] = 77

    size, again = sent(array[N // 2 :])

    assert size < 2_000 and again[0] == N // 2


def test_memory_that_is_no_file_is_none(tmp_path):
    shared = np.frombuffer(mmap.mmap(-1, 8 * N), "f8")
    in_memory = os.open("/dev/shm/pounce-test-file-part", os.O_RDWR | os.O_CREAT | os.O_EXCL)
    os.unlink("/dev/shm/pounce-test-file-part")
    os.truncate(in_memory, 8 * N)
    gone = np.memmap(tmp_path / "gone", dtype="f8", mode="w+", shape=(N,))
    os.unlink(tmp_path / "gone")

    parts = [part(array) for array in (np.zeros(N), shared, np.frombuffer(mmap.mmap(in_memory, 8 * N), "f8"), gone)]
    os.close(in_memory)

    assert parts == [None, None, None, None]


def test_arrow_tables_of_a_mapped_file_travel_by_its_name(tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"x": np.arange(N), "y": np.arange(N) * 0.5})
    with pa.OSFile(str(tmp_path / "table"), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    mapped = pa.ipc.open_file(pa.memory_map(str(tmp_path / "table"))).read_all()

    size, again = sent(mapped)

    assert size < 4_000 and again.equals(table)


def test_tensors_of_a_mapped_state_travel_by_its_file_and_share_what_they_shared(tmp_path):
    torch = pytest.importorskip("torch")
    weights = torch.arange(2.0 * N)
    torch.save({"a": weights, "b": weights[:N]}, tmp_path / "state.pt")
    state = torch.load(tmp_path / "state.pt", mmap=True)

    size, again = sent(state)
    again["a"][0] = 77

    assert size < 4_000 and torch.equal(again["a"][1:], weights[1:]) and again["b"][0] == 77
    assert torch.load(tmp_path / "state.pt")["a"][0] == 0


# ---- whether it is the same file ----

def truncated(path):
    os.truncate(path, os.path.getsize(path) - 8)


def rewritten(path):
    found = os.stat(path)
    with open(path, "r+b") as out:
        out.seek(200)
        out.write(b"something else")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))  # even where its times lie


def replaced(path):
    found = os.stat(path)
    new = path.with_suffix(".new")
    new.write_bytes(path.read_bytes())
    os.utime(new, ns=(found.st_atime_ns, found.st_mtime_ns))
    os.replace(new, path)


def a_pipe(path):
    os.unlink(path)
    os.mkfifo(path)


CHANGES = {
    "touched": os.utime,
    "truncated": truncated,
    "rewritten": rewritten,
    "replaced": replaced,
    "gone": os.unlink,
    "a folder": lambda path: (os.unlink(path), os.mkdir(path)),
    "a pipe": a_pipe,
    "not ours to read": lambda path: os.symlink("/nowhere", path.with_suffix(".link")) or os.replace(path.with_suffix(".link"), path),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_is_not_what_it_was_is_not_read(file, change):
    data, buffers, _ = serialize.dumps(np.load(file, mmap_mode="r"), by_file=True)
    parts = file_parts(buffers)

    CHANGES[change](file)

    with pytest.raises(FileNotHere, match=str(file)) as caught:
        file_buffers.value_of(data, parts)
    assert caught.value.context == {"path": str(file)} and is_there(parts[0])


@pytest.mark.parametrize("change", ["replaced", "truncated", "gone"])
def test_a_file_that_is_open_for_writing_may_have_changed_but_not_be_another(file, change):
    array = np.load(file, mmap_mode="r+")
    data, buffers, _ = serialize.dumps(array, by_file=True)
    parts = file_parts(buffers)
    array[0] = 77
    array.flush()

    assert file_buffers.value_of(data, parts)[0] == 77
    CHANGES[change](file)
    with pytest.raises(FileNotHere):
        file_buffers.value_of(data, parts)


HERE = FileIdentity(inode=10, device=5, filesystem="nfs4", machine="a")


@pytest.mark.parametrize("there, same", [
    (HERE, True),
    (HERE._replace(inode=11), False),
    (HERE._replace(machine="b", device=9), True),             # a network file system has other numbers on each machine
    (HERE._replace(machine="b", device=9, inode=11), False),
    (HERE._replace(machine="b", filesystem="ext4"), None),
    (HERE._replace(device=6, filesystem="lustre"), None),
])
def test_inodes_are_compared_where_they_mean_the_same(there, same):
    assert HERE.is_same_file(there) is same


def test_a_copy_on_a_disk_of_the_other_machine_is_read_and_never_written(file):
    reading, writing = (part(np.load(file, mmap_mode=mode)) for mode in ("r", "r+"))
    elsewhere = {"place": reading.place._replace(machine="another", inode=1)}

    assert is_there(reading._replace(**elsewhere)) == ""
    assert is_there(writing._replace(**elsewhere)) != ""
