"""``python hasty_interpreter.py -m pounce._worker``: an interpreter in name. Asked to leave if it is idle it goes, and what it said just before, of a task
that is over by now, reaches the supervisor behind the question.
"""

from __future__ import annotations

import json
import os
import socket
import struct


def say(to: socket.socket, kind: str, **fields) -> None:
    record = json.dumps({"v": 2, "type": kind, **fields}).encode()
    to.sendall(struct.pack(">I", len(record)) + record)


def hear(of: socket.socket) -> dict:
    (size,) = struct.unpack(">I", of.recv(4, socket.MSG_WAITALL))
    return json.loads(of.recv(size, socket.MSG_WAITALL))


supervisor = socket.socket(fileno=int(os.environ["POUNCE_SUPERVISOR_FD"].split(",")[0]))
say(supervisor, "ready", endpoint="tcp://127.0.0.1:1", key="0" * 40)
while not hear(supervisor).get("only_if_idle"):
    pass
say(supervisor, "activity", running=1)
