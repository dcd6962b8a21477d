"""The manifest of a saved state, as JSON: all that can be known of it without loading a pickle."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ... import _core
from .blobs import Stored
from .pickling import PYTHON
from .problems import Damaged


@dataclass(frozen=True)
class Unit:
    """Names that are saved and restored together.

    names : the names that the namespace still has; the pickle may hold more
    depends : names of functions and classes in other units
    reads : names that functions inside look up in the namespace
    packages : packages that must have the same version
    cell : number of the cell after which it last changed
    """

    names: frozenset[str]
    graph: Stored
    blobs: tuple[Stored, ...] = ()
    buffers: tuple[Stored, ...] = ()
    depends: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    cell: int = 0

    def stored(self) -> Iterator[Stored]:
        yield self.graph
        yield from self.blobs
        yield from self.buffers

    def nbytes(self) -> int:
        return sum(one.nbytes for one in self.stored())

    def same_content(self, other: Unit) -> bool:
        return dataclasses.replace(self, cell=0) == dataclasses.replace(other, cell=0)


@dataclass
class Manifest:
    """
    Attributes
    ----------
    modules : dict of str to (module, name in it)
        Names that are imports.
    unparkable : dict of str to str
        Names that are not saved, and why.
    versions : dict of str to str
        The versions of Python and of the packages that the units name.
    process : Stored or None
        State of the process itself and not of a name.
    cell : int
        Number of the last cell whose work it has.
    turn : int
        Like `cell`, but a new kernel does not restart the count.
    made : dict of str to int
        For the names in `unparkable`: the number of the cell after which each was there.
    """

    units: list[Unit] = field(default_factory=list)
    modules: dict[str, tuple[str, str]] = field(default_factory=dict)
    unparkable: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    process: Stored | None = None
    cell: int = 0
    turn: int = 0
    made: dict[str, int] = field(default_factory=dict)

    def digests(self) -> set[str]:
        stored = [one for unit in self.units for one in unit.stored()] + ([self.process] if self.process else [])
        return {piece for one in stored for piece in one.pieces}


def encode(manifest: Manifest, key: bytes = b"") -> bytes:
    """key : bytes, at most 64
    The user's own, kept elsewhere: a manifest written without it is not accepted."""
    body = {
        "format": _core.MANIFEST_FORMAT,
        "cell": manifest.cell,
        "turn": manifest.turn,
        "made": manifest.made,
        "versions": manifest.versions,
        "modules": manifest.modules,
        "unparkable": manifest.unparkable,
        "process": None if manifest.process is None else _row(manifest.process),
        "units": [_unit_row(unit) for unit in manifest.units],
    }
    return json.dumps({**body, "digest": _digest(body, key)}).encode()


def decode(data: bytes, key: bytes = b"") -> Manifest:
    """Raises Damaged."""
    try:
        body = json.loads(data)
        signature = body.pop("digest")
        if not hmac.compare_digest(signature, _digest(body, key)):
            raise ValueError
        if body["format"] != _core.MANIFEST_FORMAT:
            why = f"The saved state has format {body['format']}, and this pounce reads {_core.MANIFEST_FORMAT}."
            raise Damaged(f"{why} Restore it with the version that wrote it.")
        return Manifest(
            units=[_unit(row) for row in body["units"]],
            modules={name: (str(module), str(inside)) for name, (module, inside) in body["modules"].items()},
            unparkable={str(name): str(why) for name, why in body["unparkable"].items()},
            versions={str(name): str(version) for name, version in body["versions"].items()},
            process=None if body["process"] is None else _stored(body["process"]),
            cell=int(body["cell"]),
            turn=int(body["turn"]),
            made={str(name): int(cell) for name, cell in body["made"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        why = "The list of what was saved is cut off or was changed."
        raise Damaged(f"{why} Nothing was loaded: take an older state, or run the cells again.") from None


def _digest(body: dict[str, Any], key: bytes) -> str:
    return hashlib.blake2b(json.dumps(body, sort_keys=True).encode(), key=key, digest_size=32).hexdigest()


def _row(stored: Stored) -> list[Any]:
    return [stored.nbytes, list(stored.pieces)]


def _stored(row: Any) -> Stored:
    nbytes, pieces = row
    return Stored(int(nbytes), tuple(map(str, pieces)))


_SETS = ("names", "depends", "reads", "packages")


def _unit_row(unit: Unit) -> dict[str, Any]:
    return {**{name: sorted(getattr(unit, name)) for name in _SETS}, "graph": _row(unit.graph), "cell": unit.cell,
            "blobs": [_row(one) for one in unit.blobs], "buffers": [_row(one) for one in unit.buffers]}


def _unit(row: Any) -> Unit:
    sets = {name: frozenset(map(str, row[name])) for name in _SETS}
    return Unit(**sets, graph=_stored(row["graph"]), cell=int(row["cell"]),
                blobs=tuple(map(_stored, row["blobs"])), buffers=tuple(map(_stored, row["buffers"])))


# ---- versions ----

_OURS = ("__main__", "pounce")


def packages(kinds: Iterable[type], modules: Iterable[str]) -> frozenset[str]:
    """The packages of these types and modules that are not Python's own."""
    tops = {name.partition(".")[0] for name in [*(kind.__module__ for kind in kinds), *modules] if name}
    known = sys.stdlib_module_names.union(_OURS)
    return frozenset(top for top in tops if top not in known and not top.startswith("_"))


def version_here(package: str) -> str:
    """The package's version; empty: it has none, or is not imported here."""
    if package == PYTHON:
        return ".".join(map(str, sys.version_info[:3]))
    return str(getattr(sys.modules.get(package), "__version__", ""))


def fits(saved: str, here: str) -> bool:
    """Whether the versions match, except for the third number, which is a bug fix."""
    return saved.split(".")[:2] == here.split(".")[:2]
