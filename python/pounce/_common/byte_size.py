"""Sizes in bytes, formatted for people."""

from __future__ import annotations


def size(nbytes: int) -> str:
    for unit, bytes_of in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if nbytes >= bytes_of:
            return f"{nbytes / bytes_of:.1f} {unit}"
    return f"{nbytes} B"
