"""A namespace made of source, saved into a folder, and what comes back."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

from pounce._worker.state.folder import Folder, manifest_name
from pounce._worker.state.restorer import Restorer
from pounce._worker.state.saver import Saver

MANIFEST = manifest_name(0)  # of a folder that nobody took


def namespace_of(source: str) -> dict:
    namespace = {"__name__": "__main__", "__builtins__": __builtins__}
    exec(textwrap.dedent(source), namespace)
    return namespace


def saved(folder: Path, source: str, **options) -> tuple[Saver, dict]:
    namespace = namespace_of(source)
    saver = Saver(Folder.made(folder), namespace, **options)
    assert saver.save().whole
    return saver, namespace


def restorer_of(folder: Path, **options) -> tuple[Restorer, dict]:
    namespace = namespace_of("")
    return Restorer(Folder(folder), namespace, **options), namespace


def restored(folder: Path) -> dict:
    restorer, namespace = restorer_of(folder)
    restorer.load(restorer.names())
    return {name: value for name, value in namespace.items() if not name.startswith("__")}


def files(folder: Path) -> set[str]:
    return {name for name in os.listdir(folder) if name != MANIFEST}
