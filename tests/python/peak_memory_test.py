"""The most memory that a process has had at a time, counted anew for each task."""

from __future__ import annotations

import mmap
import os

import pytest
from pounce._worker import peak_memory
from pounce._worker.peak_memory import PeakMemory

MIB = 2**20


def take_and_give_back(size):
    """Of the system, whatever the heap has free: that is taken from it first."""
    with mmap.mmap(-1, size) as memory:
        memory[::mmap.PAGESIZE] = b"x" * (size // mmap.PAGESIZE)


def test_it_counts_from_when_it_began():
    peak = PeakMemory()
    take_and_give_back(200 * MIB)

    peak.begin(1.0)
    before = peak.bytes(1.0)
    take_and_give_back(100 * MIB)

    assert 90 * MIB < peak.bytes(1.001) - before < 130 * MIB


def test_tasks_that_end_within_a_fifth_of_a_millisecond_share_a_look(monkeypatch):
    looks = iter(range(1, 100))
    monkeypatch.setattr(peak_memory._core, "most_memory", lambda: next(looks))
    peak = PeakMemory()
    peak.begin(1.0)

    assert [peak.bytes(1.0 + at / 10_000) for at in (0, 1, 3, 4, 6)] == [1, 1, 2, 2, 3]
    peak.begin(2.0)
    assert [peak.bytes(2.0), peak.bytes(2.0001)] == [4, 4]


@pytest.fixture
def counts(monkeypatch):
    written = []
    monkeypatch.setattr(peak_memory.os, "write", lambda _, what: written.append(what))
    return written


def test_tasks_that_begin_within_ten_milliseconds_share_a_count(counts):
    peak = PeakMemory()

    for number in range(5):
        peak.begin(1.0 + 0.003 * number)

    assert len(counts) == 2  # for four of them, and for the one after 12 ms


def test_a_task_that_begins_later_has_a_count_of_its_own(counts):
    peak = PeakMemory()

    for number in range(3):
        peak.begin(1.0 + 0.011 * number)

    assert len(counts) == 3


def test_a_kernel_that_cannot_count_anew_makes_it_unknown(monkeypatch):
    def refused(*_):
        raise PermissionError

    monkeypatch.setattr(peak_memory.os, "open", refused)
    peak = PeakMemory()

    peak.begin(1.0)

    assert peak.bytes(1.0) == 0


def test_a_process_that_it_starts_does_not_have_its_file():
    peak = PeakMemory()

    assert not os.get_inheritable(peak._file)
