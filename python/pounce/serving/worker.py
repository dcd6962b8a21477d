"""One worker of an endpoint: a client of its own, with one lease, which goes back at once when the client is closed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from .. import errors
from .._engine.changed_settings import ours
from .._engine.options import Options
from .._worker import serving
from .._worker.serving import Answer, Source
from ..calls import View, view_with
from ..client import Client
from ..future import engine_of
from ..lease import Lease

# The worker is gone, and what it had begun may be done by another. Not those that a person has ended.
LOST = (errors.WorkerCrashed, errors.OutOfMemory, errors.NodeFailed, errors.WalltimeReached, errors.Preempted,
        errors.LeaseEnded, errors.LostError, errors.DeviceFailed)


class NotServed(Exception):
    """The model cannot be loaded. The text is one sentence."""

    def __init__(self, text: str, kind: str):
        super().__init__(text)
        self.text, self.kind = text, kind


class Worker:
    """Made without a lease. One thread at a time calls it; ``end`` may be called by any."""

    def __init__(self, id: str, source: Source, options: Options, new_client: Callable[[], Client]):
        self.version = ""  # of MLflow there
        self.used_at = time.monotonic()
        self._id, self._source, self._options, self._new_client = id, source, options, new_client
        self._turn = threading.Lock()
        self._client: Client | None = None
        self._view: View | None = None
        self._ended = False

    def begin(self) -> None:
        """Blocks until a worker has loaded the model. Raises NotServed, and what a call raises that gets no worker."""
        client = self._client
        if client is None:
            client = self._new_client()
        with self._turn:
            if self._ended:
                client.close()
                raise errors.ClientClosed("the endpoint was closed")
            self._client, self._view = client, view_with(client, self._options, "")
        self._load()

    def answer(self, body: bytes, kind: str) -> Answer:
        """Blocks. Raises what `LOST` names, and as `begin`."""
        reply: Answer | None = self._call(serving.answer, self._id, body, kind)
        while reply is None:  # the worker's Python is a new one
            self._load()
            reply = self._call(serving.answer, self._id, body, kind)
        return reply

    def leases(self) -> list[Lease]:
        client = self._client
        try:
            return [] if client is None else client.leases()
        except errors.ClientClosed:
            return []

    def is_there(self) -> bool:
        return any(lease.state != "ended" for lease in self.leases())

    def end(self) -> None:
        """Its lease goes back, and what runs there ends as cancelled."""
        with self._turn:
            self._ended, client = True, self._client
        if client is not None:
            client.close()

    def _load(self) -> None:
        loaded = self._call(serving.load, self._id, self._source, retries=1)
        if loaded.problem:
            raise NotServed(loaded.problem, loaded.type)
        self.version = loaded.version or self.version

    def _call(self, function: Callable[..., Any], *args: Any, **words: Any) -> Any:
        """Waits for the end of a call without what ``Future.result`` does for a person: status lines and questions."""
        assert self._view is not None
        ours.look_at_environment()  # a token in it may be a new one
        future = self._view.submit(function, *args, **words)
        session, task = engine_of(future)
        session.wait_silently(task)
        return future.result(0)
