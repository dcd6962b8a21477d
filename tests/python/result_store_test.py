"""Files of tasks with a name: what is not as we wrote it is a typed error, and takes no memory first."""

from __future__ import annotations

import json
import struct
import tracemalloc

import pounce
import pytest
from pounce import _core
from pounce._common import result_store

GOOD = json.dumps({"python": result_store.PYTHON}).encode()


def put(path, parts, sizes=None, count=None):
    """A file of these parts that says these sizes of them."""
    sizes = [len(part) for part in parts] if sizes is None else sizes
    path.write_bytes(struct.pack(f"<{1 + len(sizes)}Q", len(sizes) if count is None else count, *sizes) + b"".join(parts))
    path.chmod(0o600)
    return str(path)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "a.call"


def test_what_was_written_is_read(tmp_path):
    result_store.write_call(str(tmp_path), "a", [b"pickle", bytearray(b"buffer"), b""])

    assert result_store.read(str(tmp_path / "a.call"))[1] == [b"pickle", b"buffer", b""]


@pytest.mark.parametrize("sizes", [[len(GOOD), 1 << 50], [len(GOOD), (1 << 64) - 1], [len(GOOD), 5], [len(GOOD), 7]])
def test_a_size_that_is_not_the_files_is_refused_before_memory_is_taken(file, sizes):
    with pytest.raises(pounce.ResultGone, match="not as long as it says"):
        result_store.read(put(file, [GOOD, b"pickle"], sizes))


@pytest.mark.parametrize("count", [0, 1, 3, 1 << 20, 1 << 40, (1 << 64) - 1])
def test_a_number_of_parts_that_cannot_be_is_refused(file, count):
    with pytest.raises(pounce.ResultGone):
        result_store.read(put(file, [GOOD, b"pickle"], count=count))


def test_a_header_of_many_megabytes_is_neither_read_nor_parsed(file):
    path = put(file, [b"[" * (64 << 20), b"pickle"])
    tracemalloc.start()

    with pytest.raises(pounce.ResultGone, match="header of .* has 67108864 bytes, and the longest that pounce writes 1048576"):
        result_store.read(path)

    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("header", [b"", b"{", b"[" * 100_000, b"[]", b"7", b"{}", b"\xff"])
def test_a_header_that_is_not_ours_is_a_typed_error(file, header):
    with pytest.raises(pounce.ResultGone, match="not a file of pounce"):
        result_store.read(put(file, [header, b"pickle"]))


def test_a_file_that_was_cut_short_is_refused(file):
    path = put(file, [GOOD, b"pickle"])
    for length in range(len(file.read_bytes())):
        with open(path, "r+b") as cut:
            cut.truncate(length)
        with pytest.raises(pounce.ResultGone):
            result_store.read(path)
        put(file, [GOOD, b"pickle"])


def test_a_result_without_memory_for_it_here_says_so(file, monkeypatch):
    path = put(file, [GOOD, b"pickle"])
    monkeypatch.setattr(result_store, "_filled", lambda *_: (_ for _ in ()).throw(MemoryError))

    with pytest.raises(pounce.OutOfMemory, match="no memory for them here"):
        result_store.read(path)


def test_the_longest_error_that_a_worker_tells_is_read_again(tmp_path):
    """Its summary and its traceback are bounded where they are made (_worker/interpreter.py)."""
    error = _core.Error("task_raised", "\U0001f431" * 2_000, context={"type": "Cat", "traceback": "\U0001f431" * 16_100})
    digest = result_store.write_outcome(str(tmp_path), "a", {"ok": False, "error": error._asdict()}, [b""])

    facts, _ = result_store.read(str(tmp_path / f"{digest}.outcome"), digest)

    assert facts["error"]["context"]["traceback"] == error.context["traceback"]
