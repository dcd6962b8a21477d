"""Accepts connections on the loopback interface, each on a thread of its own, and bounds how many there are.

Any process of this machine can connect. A connection that has not shown the token makes room for a newer one.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

MOST_CONNECTIONS = 128
_BACKLOG = 128


class Listener:
    """Calls ``serve(connection, knows)`` on a thread for each connection, which is closed afterwards; ``knows()`` says
    that the peer has shown the token. Port 0: one that is free; raises OSError for another that is taken."""

    def __init__(self, serve: Callable[[socket.socket, Callable[[], None]], None], port: int = 0):
        self._serve = serve
        self._turn = threading.Lock()
        self._open: dict[socket.socket, bool] = {}  # whether it has shown the token; the oldest first
        self._is_closed = False
        self._socket = socket.create_server(("127.0.0.1", port), backlog=_BACKLOG)
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, name="pounce-serve-http", daemon=True).start()

    def close(self) -> None:
        """Nothing is accepted any more; what is being answered is answered."""
        with self._turn:
            self._is_closed = True
            strangers = [each for each, known in self._open.items() if not known]
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._socket.close()
        for each in strangers:
            _cut(each)

    def close_in_child(self) -> None:
        """In a forked child, where nothing accepts."""
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                if self._is_closed:
                    return
                threading.Event().wait(0.05)  # no descriptor is left
                continue
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if not self._has_room(connection):
                connection.close()
                continue
            try:
                threading.Thread(target=self._run, args=(connection,), name="pounce-serve-http", daemon=True).start()
            except RuntimeError:  # no thread is left
                self._forget(connection)

    def _has_room(self, connection: socket.socket) -> bool:
        with self._turn:
            if len(self._open) >= MOST_CONNECTIONS:
                stranger = next((each for each, known in self._open.items() if not known), None)
                if stranger is None:
                    return False
                del self._open[stranger]
                _cut(stranger)
            self._open[connection] = False
            return True

    def _run(self, connection: socket.socket) -> None:
        def knows() -> None:
            with self._turn:
                if connection in self._open:
                    self._open[connection] = True

        try:
            self._serve(connection, knows)
        except OSError:  # the peer is gone
            pass
        finally:
            self._forget(connection)

    def _forget(self, connection: socket.socket) -> None:
        with self._turn:
            self._open.pop(connection, None)
        connection.close()


def _cut(connection: socket.socket) -> None:
    """Its thread closes it."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
