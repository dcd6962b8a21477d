"""One client of this process, for calls that name none: leases stay warm between two of them."""

from __future__ import annotations

import os
import threading

from .client import Client

_clients: dict[str | None, Client] = {}
_lock = threading.Lock()
os.register_at_fork(after_in_child=_clients.clear)  # they are the parent's


def shared_client(launcher: str | None = None) -> Client:
    """The client for this launcher; a new one if the last was closed. Blocks as ``pounce.Client`` does."""
    with _lock:
        client = _clients.get(launcher)
        if client is None or client.closed:
            client = _clients[launcher] = Client(launcher=launcher)
        return client
