"""Which memory of a process belongs to a file: numpy's memmap, Arrow's memory_map, torch's mmap=True and other maps.

Linux tells, not the library: /proc names the file mapped at each address, and says for each page of a private mapping
whether it is still the file's or was written to.
"""

from __future__ import annotations

import bisect
import ctypes
import mmap
import os
import re
import sys
from typing import Any, NamedTuple

from .file_part import FilePart, Mapping, part_of

_LOOKUP_BYTES = 1024 * 1024  # memory of an unknown owner is looked up in /proc from this size on
_LEAST_BYTES = 64 * 1024     # less is sent as quickly as it is named
_NO_FILES = ("/dev/", "/proc/", "/sys/", "/memfd:", "/run/", "/SYSV")  # local to this machine or process
_PAGE = mmap.PAGESIZE
_SWAPPED_OR_PRESENT, _OF_FILE = 0xC0, 0x20  # bits of the highest byte of an entry of pagemap
_LINE = re.compile(rb"([0-9a-f]+)-([0-9a-f]+) (r)([w-])[x-]([sp]) ([0-9a-f]+) \S+ [1-9]\d* +(/.*)")


class _Region(NamedTuple):
    start: int
    end: int
    mode: str
    offset: int
    path: str


def file_parts(buffers: list[Any]) -> list[FilePart | None]:
    """For each PickleBuffer the file that it lies in; None: it is plain memory, or too small to be named."""
    regions: list[_Region] | None = None
    parts: list[FilePart | None] = []
    for buffer in buffers:
        part = None
        if _may_be_mapped(buffer):
            regions = _regions() if regions is None else regions
            part = _part(buffer.raw(), regions)
        parts.append(part if part is None or _has_to(buffer, part) or part.length >= _LEAST_BYTES else None)
    return parts


def have_to_travel_as_files(buffers: list[Any]) -> bool:
    """Whether one of them is more than its bytes: a ``pounce.File``, or a mapping whose writes reach the file."""
    if not any(isinstance(_owner(buffer), mmap.mmap) for buffer in buffers):
        return False
    parts = file_parts(buffers)
    return any(part is not None and _has_to(buffer, part) for buffer, part in zip(buffers, parts, strict=True))


def mapping_of(array: Any) -> mmap.mmap | None:
    """The mapping that an array's memory belongs to, if Python made it."""
    root = _root(array)
    return root if isinstance(root, mmap.mmap) else None


def _has_to(buffer: Any, part: FilePart) -> bool:
    return part.mode == "r+" or isinstance(_owner(buffer), Mapping)


def _may_be_mapped(buffer: Any) -> bool:
    owner = _owner(buffer)
    if isinstance(owner, mmap.mmap):
        return True
    if owner is None or isinstance(owner, (bytes, bytearray)):
        return False
    return bool(buffer.raw().nbytes >= _LOOKUP_BYTES)


def _owner(buffer: Any) -> Any:
    """The object that the memory belongs to; None: an array that allocated it."""
    return _root(memoryview(buffer).obj)


def _root(thing: Any) -> Any:
    while True:
        base = thing.obj if isinstance(thing, memoryview) else getattr(thing, "base", thing)
        if base is None:
            return thing if not hasattr(thing, "flags") or not thing.flags.owndata else None
        if base is thing:
            return thing
        thing = base


def _regions() -> list[_Region]:
    regions: list[_Region] = []
    with open("/proc/self/maps", "rb") as file:
        lines = file.read().split(b"\n")
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        path = os.fsdecode(match[7].replace(b"\\012", b"\n"))
        if path.startswith(_NO_FILES) or path.endswith(" (deleted)"):
            continue
        mode = "r" if match[4] == b"-" else "r+" if match[5] == b"s" else "c"
        if match[5] == b"p" and mode == "r":
            mode = "p"  # it may have been written to before it was made read-only
        regions.append(_Region(int(match[1], 16), int(match[2], 16), mode, int(match[6], 16), path))
    return regions


def _part(view: memoryview, regions: list[_Region]) -> FilePart | None:
    if not view.nbytes:
        return None
    start = _address(view)
    index = bisect.bisect_right(regions, start, key=lambda region: region.start) - 1
    if index < 0 or regions[index].end <= start:
        return None
    first = last = regions[index]
    while last.end < start + view.nbytes:  # one mapping may be several regions
        index += 1
        if index == len(regions):
            return None
        following = regions[index]
        if following != (last.end, following.end, first.mode, last.offset + last.end - last.start, first.path):
            return None
        last = following
    mode = {"p": "r"}.get(first.mode, first.mode)
    if first.mode in "cp" and _was_written(start, view.nbytes):
        return None
    if mode == "r+" and view.readonly:
        mode = "r"
    part = part_of(first.path, first.offset + start - first.start, mode, view)
    if part is not None and first.mode == "r+" and part.place.is_on_network:
        _write_back(start, view.nbytes)  # the other machine asks the file's server
        part = part_of(part.path, part.offset, mode, view)
    return part


class _Buffer(ctypes.Structure):
    """The beginning of CPython's Py_buffer."""

    _fields_ = (("address", ctypes.c_void_p), ("owner", ctypes.c_void_p), ("rest", ctypes.c_byte * 128))


def _address(view: memoryview) -> int:
    """The address of the bytes, also of read-only ones, which ctypes' from_buffer refuses."""
    buffer = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(buffer), 0)
    try:
        return int(buffer.address or 0)
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))


def _was_written(start: int, nbytes: int) -> bool:
    """Whether a private mapping has pages of its own. True also if Linux does not tell."""
    first, last = start // _PAGE, -(-(start + nbytes) // _PAGE)
    try:
        with open("/proc/self/pagemap", "rb", buffering=0) as file:
            entries = os.pread(file.fileno(), (last - first) * 8, first * 8)
    except OSError:
        return True
    top = entries[7::8] if sys.byteorder == "little" else entries[::8]
    return len(top) < last - first or any(byte & _SWAPPED_OR_PRESENT and not byte & _OF_FILE for byte in set(top))


def _write_back(start: int, nbytes: int) -> None:
    first = start // _PAGE * _PAGE
    msync = ctypes.CDLL(None, use_errno=True).msync
    msync(ctypes.c_void_p(first), ctypes.c_size_t(start + nbytes - first), 4)  # MS_SYNC
