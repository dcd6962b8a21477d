"""Copies names of one saved state into another, on the disk alone: nothing is unpickled."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from . import manifest
from .folder import Folder
from .manifest import Manifest
from .needs import closure


def adopt(target: Folder, source: Folder, names: Collection[str], key: bytes, turn: int) -> list[str]:
    """
    Parameters
    ----------
    target, source : Folder
        No worker may use the target now. The source stays as it is; the two share the files.
    names : collection of str
        Adopted with the names that they need; empty: all. A name that the target has is replaced.
    turn : int
        The target's turn from now on.

    Returns
    -------
    list of str
        The adopted names.

    Raises
    ------
    Damaged, Foreign, NoSpace
        The target is unchanged.
    """
    theirs, mine = _manifest_of(source, key), _manifest_of(target, key)
    units = {name: unit for unit in theirs.units for name in unit.names}
    taken = closure(names or units.keys() | theirs.modules.keys(), units, theirs.modules)
    adopted = [unit for unit in theirs.units if unit.names & taken]
    process = mine.process or theirs.process
    kept = [dataclasses.replace(unit, names=unit.names - taken) for unit in mine.units if unit.names - taken]
    new = Manifest(
        units=[*kept, *adopted],
        modules={**mine.modules, **{name: where for name, where in theirs.modules.items() if name in taken}},
        versions={**theirs.versions, **mine.versions}, unparkable=mine.unparkable, made=mine.made, process=process,
        cell=mine.cell, turn=turn)
    target.take()
    for blob in new.digests() - mine.digests():
        target.share(blob, source)
    target.write_manifest(memoryview(manifest.encode(new, key)))
    target.keep_only(new.digests())
    target.leave()
    return sorted(taken)


def _manifest_of(folder: Folder, key: bytes) -> Manifest:
    data = folder.manifest()
    return Manifest() if data is None else manifest.decode(data, key)
