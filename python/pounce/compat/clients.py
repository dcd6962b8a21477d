"""One client of pounce for all who name none: leases stay warm between an executor and the next."""

from __future__ import annotations

import threading

from .. import Client

_clients: dict[str | None, Client] = {}
_lock = threading.Lock()


def shared_client(launcher: str | None = None) -> Client:
    """The one for this launcher; made anew where somebody has closed it. Blocks as ``pounce.Client`` does."""
    with _lock:
        client = _clients.get(launcher)
        if client is None or client.closed:
            client = _clients[launcher] = Client(launcher=launcher)
        return client
