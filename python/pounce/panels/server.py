"""The panel as a page of its own, on the loopback interface, for the one browser that opens its link first."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable
from importlib import resources
from typing import Any

from .._worker.serving import JSON, Answer, failed
from ..serving.connection import Connection, same_token
from ..serving.listener import Listener

_FILES = {"/": ("index.html", "text/html; charset=utf-8"), "/panel.mjs": ("panel.mjs", "text/javascript"),
          "/begin.mjs": ("begin.mjs", "text/javascript"), "/panel.css": ("panel.css", "text/css")}


class PanelServer:
    """Serves until it is closed.

    The link's token is behind its ``#``, where no server, proxy or log sees it. It is good once: the page exchanges it
    for a key, which its tab keeps. The page's files have no secret and need none.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], dict[str, Any]]):
        self._answer = answer
        self._turn = threading.Lock()
        self._token, self._is_used = os.urandom(32).hex(), False
        self._key = os.urandom(32).hex()
        self._listener = Listener(self._serve)
        self.url = f"http://127.0.0.1:{self._listener.port}/#{self._token}"

    @property
    def port(self) -> int:
        return self._listener.port

    def close(self) -> None:
        self._listener.close()

    def _serve(self, connection: socket.socket, knows: Callable[[], None]) -> None:
        Connection(connection, self._admits, self._route, lambda: None)  # a browser connects again where it is cut

    def _admits(self, path: str, token: str) -> bool:
        if path in _FILES:
            return True
        return same_token(token, self._token if path == "/key" else self._key)

    def _route(self, method: str, path: str, body: bytes, kind: str, is_gone: Callable[[], bool]) -> Answer:
        if path in _FILES and method in ("GET", "HEAD"):
            name, media_type = _FILES[path]
            return Answer(200, media_type, (resources.files(__package__) / "page" / name).read_bytes())
        if path == "/key" and method == "POST":
            return self._exchanged()
        if path == "/panel" and method == "POST":
            return self._asked(body)
        return failed(404, "NOT_FOUND", f"there is no {method} {path}")

    def _exchanged(self) -> Answer:
        with self._turn:
            first, self._is_used = not self._is_used, True
        if not first:
            return failed(401, "UNAUTHENTICATED", "this link was opened before: pouncectl panel gives another")
        return Answer(200, JSON, json.dumps({"key": self._key}).encode())

    def _asked(self, body: bytes) -> Answer:
        try:
            request = json.loads(body)
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict):
            return failed(400, "BAD_REQUEST", "a request is a JSON object")
        return Answer(200, JSON, json.dumps(self._answer(request)).encode())
