"""pounce: run one function on a worker leased from Slurm for as long as there is work, and give it back.

    import pounce

    with pounce.Client() as client:
        future = client.options(gpus=1).submit(train, loader, epochs=3)
        model = future.result()

Names are looked up when they are first used (PEP 562): the start of ``python -m pounce._worker`` delays a task's first
line, so it imports nothing that it does not need.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "Client": "client",
    "Future": "future",
    "DetachedFuture": "future",
    "File": "_common.file",
    "Ref": "_common.ref",
    "DeviceArray": "_common.device_array",
    "Queue": "_tables.queue",
    "Executor": "executor",
    "Choice": "_engine.choices",
    "Wait": "_engine.wait",
    "Eta": "_engine.wait",
    "Lease": "lease",
    "Class": "_tables.classes",
    "Classes": "_tables.classes",
    "classes": "client",
    "Limit": "_engine.wait",
    "Sweep": "sweeps",
    "BatchRun": "batch_runs",
    "batch": "batch_runs",
    "export_sbatch": "batch_runs",
    "time_left": "on_worker",
    "checkpoint": "on_worker",
    "restored": "on_worker",
    "steps": "on_worker",
    "report": "on_worker",
    "rank": "on_worker",
    "listener": "on_worker",
    "Rank": "_common.rank",
    "gang": "client",
    "Gang": "gangs",
    "Sharded": "gangs",
    "Broadcast": "gangs",
    "empty": "_common.sharable_array",
    "serve": "serving.endpoint",
    "Endpoint": "serving.endpoint",
    "RemoteFunction": "remote_function",
    "remote": "remote_function",
    "Rerun": "reruns",
    "rerun": "reruns",
    "panel": "panels.notebook",
    "timings": "cell.timings.records",
    "attach": "kept.attached",
}

if TYPE_CHECKING:
    from ._common.device_array import DeviceArray
    from ._common.file import File
    from ._common.rank import Rank
    from ._common.ref import Ref
    from ._common.sharable_array import empty
    from ._engine.choices import Choice
    from ._engine.wait import Eta, Limit, Wait
    from ._tables.classes import Class, Classes
    from ._tables.queue import Queue
    from .batch_runs import BatchRun, batch, export_sbatch
    from .cell.timings.records import timings
    from .client import Client, classes, gang
    from .errors import *  # noqa: F403
    from .executor import Executor
    from .future import DetachedFuture, Future
    from .gangs import Broadcast, Gang, Sharded
    from .kept.attached import attach
    from .lease import Lease
    from .on_worker import checkpoint, listener, rank, report, restored, steps, time_left
    from .panels.notebook import panel
    from .remote_function import RemoteFunction, remote
    from .reruns import Rerun, rerun
    from .serving import Endpoint, serve
    from .sweeps import Sweep


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


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext pounce``. Not needed after ``import pounce`` in a notebook."""
    from .cell.magic import load

    load(shell)


def _load_into_shell() -> None:
    """In an IPython shell, importing pounce loads %%pounce."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        load_ipython_extension(shell)


_load_into_shell()

__all__ = [
    "BatchRun",
    "Broadcast",
    "Choice",
    "Class",
    "Classes",
    "Client",
    "DetachedFuture",
    "DeviceArray",
    "Endpoint",
    "Eta",
    "Executor",
    "File",
    "Future",
    "Gang",
    "Lease",
    "Limit",
    "Queue",
    "Rank",
    "Ref",
    "RemoteFunction",
    "Rerun",
    "Sharded",
    "Sweep",
    "Wait",
    "__version__",
    "attach",
    "batch",
    "checkpoint",
    "classes",
    "empty",
    "export_sbatch",
    "gang",
    "listener",
    "panel",
    "rank",
    "remote",
    "report",
    "rerun",
    "restored",
    "serve",
    "steps",
    "time_left",
    "timings",
]
