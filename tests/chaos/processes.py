"""The processes of a cluster's nodes and login nodes, known by their network namespace."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    pid: int
    parent: int
    name: str
    words: list[str]
    place: str  # a node or login node


def processes(namespaces: dict[str, str]) -> list[Process]:
    """Those in the namespaces, each of which has its place's name; one that ends meanwhile is left out."""
    places = {os.stat(f"/run/netns/{namespace}").st_ino: place for namespace, place in namespaces.items()}
    found = (process_at(entry, places) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return sorted(process for process in found if process)


def process_at(entry: Path, places: dict[int, str]) -> Process | None:
    try:
        place = places.get((entry / "ns" / "net").stat().st_ino)
        if place is None:
            return None
        stat = (entry / "stat").read_text()
        words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    name, _, rest = stat.partition("(")[2].rpartition(")")
    state, parent = rest.split()[:2]
    return None if state in "ZX" else Process(int(entry.name), int(parent), name, words, place)
