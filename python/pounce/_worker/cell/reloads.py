"""Reloads the user's own modules on a worker of cells as the notebook has reloaded them.

A reload leaves objects that were taken out of the module as they are; IPython's autoreload also changes functions,
classes and instances that are in use. The worker repeats the notebook's reloads before the next cell.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ..._common import local_modules

_old_objects: dict[Any, Any] = {}  # for autoreload: the objects of modules that it has reloaded here


def follow() -> None:
    """Reloads all that the notebook has reloaded since the last cell. If that fails it says so, and the module stays as
    Python leaves it."""
    local_modules.install()
    for name, source in local_modules.later():
        try:
            with local_modules.following():
                _reload(sys.modules[name], source)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            print(f"pounce: {name} could not be loaded anew on this worker: {why}", flush=True)


def _reload(module: Any, source: local_modules.Source) -> None:
    if source.how == "reload":
        importlib.reload(module)
        return
    from IPython.extensions import autoreload

    if source.how == "whole" or not _patch(autoreload, module, source):
        autoreload.superreload(module, importlib.reload, _old_objects)


def _patch(autoreload: Any, module: Any, source: local_modules.Source) -> bool:
    """Changes only what differs, so that the module's variables stay. False: it must be loaded as a whole."""
    if (not hasattr(autoreload, "DeduperReloader")
            or local_modules.source_of(module.__name__, module.__file__).text != source.text):
        return False  # IPython before 9, or a file system that still shows the last edition: it reads the file
    reloader = autoreload.DeduperReloader()
    reloader.source_by_modname[module.__name__] = source.before.decode("utf-8", "replace")
    return bool(reloader.maybe_reload_module(module))
