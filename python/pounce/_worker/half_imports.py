"""Imports that an interrupt stopped in the middle.

Python then removes the package from ``sys.modules`` but leaves those of its modules that were loaded. The next import
of the package finds these, does not bind their names in the package as a first import does, and fails with a NameError
(asyncio's own ``__init__`` does).
"""

from __future__ import annotations

import sys


def forget() -> None:
    """Removes modules whose package is gone, so that the next import begins anew. Modules made by hand, which have no
    file, stay."""
    while orphans := [name for name, module in list(sys.modules.items())
                      if "." in name and name.rpartition(".")[0] not in sys.modules
                      and getattr(module, "__spec__", None) is not None]:
        for name in orphans:
            sys.modules.pop(name, None)
