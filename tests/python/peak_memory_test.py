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

    peak.begin()
    before = peak.bytes()
    take_and_give_back(100 * MIB)

    assert 90 * MIB < peak.bytes() - before < 130 * MIB


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(peak_memory.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def counts(monkeypatch):
    written = []
    monkeypatch.setattr(peak_memory.os, "write", lambda _, what: written.append(what))
    return written


def test_tasks_that_begin_within_ten_milliseconds_share_a_count(clock, counts):
    peak = PeakMemory()

    for _ in range(5):
        peak.begin()
        clock[0] += 0.003

    assert len(counts) == 2  # for four of them, and for the one after 12 ms


def test_a_task_that_begins_later_has_a_count_of_its_own(clock, counts):
    peak = PeakMemory()

    for _ in range(3):
        peak.begin()
        clock[0] += 0.011

    assert len(counts) == 3


def test_a_kernel_that_cannot_count_anew_makes_it_unknown(monkeypatch):
    def refused(*_):
        raise PermissionError

    monkeypatch.setattr(peak_memory.os, "open", refused)
    peak = PeakMemory()

    peak.begin()

    assert peak.bytes() == 0


def test_a_process_that_it_starts_does_not_have_its_file():
    peak = PeakMemory()

    assert not os.get_inheritable(peak._file)
