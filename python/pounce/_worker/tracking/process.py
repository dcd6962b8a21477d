"""What the modules here need of the worker's process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class WorkerProcess:
    node: str
    visible_gpus: str   # CUDA_VISIBLE_DEVICES, as the worker was started
    state_folder: str   # pounced's; empty: its machine shares none
    is_running: Callable[[], bool]  # a task
    show: Callable[[str, dict[str, Any]], None]  # sends a message to the client that waits for that
    answer: Callable[[float], bytes | None]  # its answer, within so many seconds; main thread
