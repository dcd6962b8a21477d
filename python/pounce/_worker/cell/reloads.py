"""Modules of the user's own on a worker of cells: loaded again as the notebook has loaded them again.

A reload leaves what was taken out of the module as it is; IPython's autoreload also changes functions, classes and instances
that are in use. What the notebook has done is done here, before the next cell.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ..._common import local_modules

_old_objects: dict[Any, Any] = {}  # autoreload's, of modules that it has reloaded here


def follow() -> None:
    """All that the notebook has loaded again since the last cell. A module that cannot be is said, and stays as Python leaves it."""
    local_modules.install()
    for name, source in local_modules.later():
        try:
            with local_modules.following():
                _reload(sys.modules[name], source)
        except Exception as error:
            print(f"pounce: {name} could not be loaded anew on this worker: {type(error).__name__}: {error}", flush=True)


def _reload(module: Any, source: local_modules.Source) -> None:
    if source.how == "reload":
        importlib.reload(module)
        return
    from IPython.extensions import autoreload

    if source.how == "whole" or not _patch(autoreload, module, source):
        autoreload.superreload(module, importlib.reload, _old_objects)


def _patch(autoreload: Any, module: Any, source: local_modules.Source) -> bool:
    """Only what differs, so that the module's variables stay. False: it must be loaded as a whole."""
    if not hasattr(autoreload, "DeduperReloader") or local_modules.source_of(module.__name__, module.__file__).text != source.text:
        return False  # IPython before 9, or a file system that shows the last edition still: it reads the file
    reloader = autoreload.DeduperReloader()
    reloader.source_by_modname[module.__name__] = source.before.decode("utf-8", "replace")
    return bool(reloader.maybe_reload_module(module))
