"""Copies names of one saved state into another, on the disk alone: nothing is unpickled."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from . import manifest
from .crossing import state_in
from .folder import Folder
from .manifest import Manifest
from .needs import closure


def adopt(target: Folder, source: Folder, names: Collection[str], key: bytes, turn: int) -> list[str]:
    """Adopts `names` with the names that they need, all if it is empty, and returns the adopted ones. A name that the
    target has is replaced. `turn`: the target's from now on.

    No worker may use the target now. The source stays as it is, and the two share the files. After Damaged, Foreign and
    NoSpace the target is unchanged.
    """
    theirs, mine = state_in(source, key), state_in(target, key)
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
