"""A stranger's program: plain pyzmq, written from docs/protocol.md; imports nothing of pounce.

One JSON request a line on standard input, one JSON answer a line on standard output. Run as mallory or bob it is the
attack; the same program run as alice is the control that shows that the attack was done right.
"""

from __future__ import annotations

import json
import sys

import crowds
import files
import hellos
import local
import processes
import raw
import relays
import sessions
from wire import say

REQUESTS = {**hellos.REQUESTS, **sessions.REQUESTS, **raw.REQUESTS, **relays.REQUESTS, **crowds.REQUESTS, **files.REQUESTS,
            **processes.REQUESTS, **local.REQUESTS}


def answer(request: dict) -> dict:
    try:
        return REQUESTS[request.pop("question")](request)
    except OSError as error:
        return {"error": type(error).__name__, "text": str(error)}


if __name__ == "__main__":
    for line in sys.stdin:
        say(answer(json.loads(line)))
