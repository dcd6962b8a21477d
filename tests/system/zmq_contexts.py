"""ZeroMQ contexts of the tests. A failed test leaves sockets open; a context that is collected then waits for them, for ever."""

from __future__ import annotations

import threading

import zmq

_ALIVE: list[zmq.Context] = []  # none is ever collected; what is left at the end goes with the process


def new_context() -> zmq.Context:
    context = zmq.Context()
    context.linger = 0  # of each socket from its beginning: set at its end it may come too late (libzmq issue 2733)
    _ALIVE.append(context)
    return context


def end(context: zmq.Context, sockets: list[zmq.Socket]) -> None:
    """Monitors stop before the sockets that read them close."""
    for socket in sockets:
        if not socket.closed and socket.type == zmq.DEALER:
            socket.disable_monitor()
    for socket in sockets:
        socket.close()
    term = threading.Thread(target=context.term, daemon=True)
    term.start()
    term.join(10)
    if term.is_alive():
        print("Advice: a ZeroMQ context of the tests did not end")
