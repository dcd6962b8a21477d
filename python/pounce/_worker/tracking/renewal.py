"""``Renewal``: the notebook's tokens and passwords for MLflow as they are now, requested while a cell or a call runs.

They come over the connection to the notebook's kernel and into this process's environment, and nowhere else.
"""

from __future__ import annotations

import json
import os
import threading
import time

from ..._common.mlflow_work import SECRETS
from .process import WorkerProcess

_ANSWERS_S = 5.0  # how long the kernel may take to answer
_PAUSE_S = 5.0    # between two requests that brought nothing new


class Renewal:
    def __init__(self, process: WorkerProcess) -> None:
        self._process = process
        self._number = 0
        self._next = 0.0

    def is_renewed(self) -> bool:
        """Whether the notebook has others than this process had. Messages come to the main thread alone; the others
        go on with what is here."""
        if threading.current_thread() is not threading.main_thread() or not self._process.is_running():
            return False
        if time.monotonic() < self._next:
            return False
        is_new = self._take(self._answer())
        self._next = 0.0 if is_new else time.monotonic() + _PAUSE_S
        return is_new

    def _answer(self) -> dict[str, str]:
        self._number += 1
        self._process.show(SECRETS, {"number": self._number})
        until = time.monotonic() + _ANSWERS_S
        while (answer := self._process.answer(max(0.0, until - time.monotonic()))) is not None:
            said = json.loads(answer)
            if said.get("number") == self._number:  # otherwise it was for an earlier request
                values: dict[str, str] = said[SECRETS]
                return values
        return {}

    def _take(self, values: dict[str, str]) -> bool:
        new = {name: value for name, value in values.items() if os.environ.get(name) != value}
        os.environ.update(new)
        return bool(new)
