"""The most memory that a process has had at a time, counted anew for each task."""

from __future__ import annotations

import os

from pounce._worker import peak_memory
from pounce._worker.peak_memory import PeakMemory

MIB = 2**20


def test_it_counts_from_when_it_began():
    peak = PeakMemory()
    bytearray(200 * MIB)

    peak.begin()
    before = peak.bytes()
    bytearray(100 * MIB)

    assert 90 * MIB < peak.bytes() - before < 130 * MIB


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
