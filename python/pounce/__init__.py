"""pounce: run one function on a worker leased from Slurm for as long as there is work, and give it back.

    import pounce

    with pounce.Client() as client:
        future = client.options(gpus=1).submit(train, loader, epochs=3)
        model = future.result()

Names are looked up when they are first used (PEP 562): ``python -m pounce.worker`` is on the way to a task's first line and
imports nothing that it does not need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Client": "client",
    "Future": "future",
    "Ref": "ref",
    "Queue": "queue",
    "Executor": "executor",
}

if TYPE_CHECKING:
    from .client import Client
    from .errors import *
    from .future import Future
    from .queue import Queue
    from .ref import Ref


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is not None:
        value = getattr(importlib.import_module(f".{home}", __name__), name)
    elif name.startswith("_"):
        raise AttributeError(f"module 'pounce' has no attribute {name!r}")
    else:
        try:
            value = getattr(importlib.import_module(".errors", __name__), name)
        except AttributeError:
            raise AttributeError(f"module 'pounce' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *importlib.import_module(".errors", __name__).__all__})


__all__ = ["Client", "Future", "Queue", "Ref", "__version__"]
