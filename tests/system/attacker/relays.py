"""Somebody in the network between alice and pounced: hands bytes on, keeps them, changes one, or says them again."""

from __future__ import annotations

import socket
import threading

from raw import address, one


class Relay:
    """One port that leads to another. What went to the server is kept; the byte at `flips` of it is changed on the way."""

    def __init__(self, endpoint: str, host: str, flips: int):
        self.server = socket.create_server((host, 0))
        self.to, self.flips, self.said = address(endpoint), flips, bytearray()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            client, _ = self.server.accept()
            server = socket.create_connection(self.to)
            threading.Thread(target=self.hand_on, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.hand_on, args=(server, client, False), daemon=True).start()

    def hand_on(self, source: socket.socket, to: socket.socket, keep: bool) -> None:
        try:
            while data := bytearray(source.recv(65536)):
                if keep:
                    start, at = len(self.said), self.flips
                    self.said += data
                    if start <= at < len(self.said):
                        data[at - start] ^= 1
                to.sendall(data)
        except OSError:
            pass
        finally:
            for end in (source, to):
                end.close()


def relay(request: dict) -> dict:
    """endpoint, host, [flips]: where it listens."""
    RELAYS.append(Relay(request["endpoint"], request["host"], request.get("flips", -1)))
    host, port = RELAYS[-1].server.getsockname()
    return {"bound": f"tcp://{host}:{port}"}


def relayed(request: dict) -> dict:
    """[words]: how much the last relay has heard, and whether that was in it."""
    said = bytes(RELAYS[-1].said)
    contained = [word for word in request.get("words", []) if word.encode() in said or bytes.fromhex(word) in said]
    return {"bytes": len(said), "contains": contained}


def replay(request: dict) -> dict:
    """endpoint: says what it has heard again, as a connection of its own."""
    outcome = {"seconds": 99.0}
    one(request["endpoint"], bytes(RELAYS[-1].said), False, outcome)
    return {"longest_s": outcome["seconds"], "heard": len(outcome.get("heard", b""))}


RELAYS: list[Relay] = []
REQUESTS = {"relay": relay, "relayed": relayed, "replay": replay}
