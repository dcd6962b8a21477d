"""The capture that the attacks on the wire are looked for in."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

from bridge import Capture


@contextlib.contextmanager
def chatter() -> Iterator[None]:
    """Somebody else talks on the interface all the time."""
    over = threading.Event()

    def talk() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
            while not over.wait(0.001):
                peer.sendto(bytes(100), ("127.0.0.1", 9))

    talker = threading.Thread(target=talk)
    talker.start()
    try:
        yield
    finally:
        over.set()
        talker.join()


# It waited for a moment of silence, which never came while other scenarios ran.
def test_a_capture_ends_while_others_talk_and_has_what_was_said_before():
    with chatter(), Capture("lo") as capture, socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as one, server.accept()[0] as other:
            one.sendall(b"said before the end")
            other.recv(32)
        sent = capture.stop()

    assert sent.contains(b"said before the end")
