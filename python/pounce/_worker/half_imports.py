"""Imports that an interrupt struck in the middle.

Python takes the package out of ``sys.modules`` then and leaves those of its modules that were whole. The next import of the package finds
these, does not bind their names in the package as a first import does, and fails with a NameError (asyncio's own ``__init__`` does).
"""

from __future__ import annotations

import sys


def forget() -> None:
    """Modules whose package is gone: the next import begins anew. What was put there by hand, without a file behind it, stays."""
    while orphans := [name for name, module in list(sys.modules.items())
                      if "." in name and name.rpartition(".")[0] not in sys.modules and getattr(module, "__spec__", None) is not None]:
        for name in orphans:
            sys.modules.pop(name, None)
