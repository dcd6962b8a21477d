"""One HTTP/1.1 connection on the loopback interface: the token is compared before a body is read, and everything has
its time."""

from __future__ import annotations

import contextlib
import hmac
import io
import select
import socket
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

from .._worker.serving import Answer, failed

MOST_BODY_BYTES = 64 * 1024 * 1024
HEADERS_S = 10.0  # from the connection, or the first line, to the end of the headers
BODY_S = 60.0  # for a body, and for an answer to leave
KEPT_S = 75.0  # between two requests of a connection that has shown the token
_DISCARD_S = 2.0  # for the rest of a request that is refused, so that its sender sees the answer
_BY_ERROR = {413: "REQUEST_TOO_LARGE", 411: "LENGTH_REQUIRED", 401: "UNAUTHENTICATED"}

# Whether the path may be requested with this token.
Admits = Callable[[str, str], bool]
# The method, the path, the body, its type, and whether the caller is gone.
Route = Callable[[str, str, bytes, str, Callable[[], bool]], Answer]


def same_token(given: str, expected: str) -> bool:
    """Takes as long wherever they differ."""
    return hmac.compare_digest(given.encode(), expected.encode())


class _TimedReader(io.RawIOBase):
    """Reads from a socket until a moment, however slowly bytes come."""

    def __init__(self, connection: socket.socket):
        self._connection = connection
        self._until = 0.0

    def allow(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class Connection(BaseHTTPRequestHandler):
    """Made with an open socket; returns when it has no more requests."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "pounce", ""
    wbufsize = -1  # head and body leave together

    def __init__(self, connection: socket.socket, admits: Admits, routes: Route, knows: Callable[[], None]):
        self._admits, self._routes, self._knows = admits, routes, knows
        self._is_known = False
        self._body = b""
        super().__init__(connection, ("127.0.0.1", 0), None)  # type: ignore[arg-type]

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._timed = _TimedReader(self.connection)
        self.rfile = io.BufferedReader(self._timed, 65_536)

    def handle_one_request(self) -> None:
        self._timed.allow(KEPT_S if self._is_known else HEADERS_S)
        super().handle_one_request()

    def parse_request(self) -> bool:
        self._timed.allow(HEADERS_S)
        return super().parse_request()

    def handle_expect_100(self) -> bool:
        return self._may_send() and super().handle_expect_100()

    def _answer(self) -> None:
        if not self._may_send():
            return
        length = int(self.headers.get("Content-Length") or 0)
        self._timed.allow(BODY_S)
        body = self.rfile.read(length) if length else b""
        if len(body) < length:
            self.close_connection = True
            return
        kind = self.headers.get("Content-Type") or "application/json"
        self._send(self._routes(self.command, self._bare_path(), body, kind, self._is_gone))

    # The base class calls the method of this name; each path says itself which it takes.
    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = _answer

    def _may_send(self) -> bool:
        """Refuses a request before its body is read, where it has to be."""
        scheme, _, given = self.headers.get("Authorization", "").partition(" ")
        if not self._admits(self._bare_path(), given.strip() if scheme.lower() == "bearer" else ""):
            self.send_error(401, "the token is missing or wrong: send it as Authorization: Bearer TOKEN")
            return False
        if not self._is_known:
            self._is_known = True
            self._knows()
        length = self.headers.get("Content-Length", "0")
        if self.headers.get("Transfer-Encoding") or not (length.isascii() and length.isdigit()):
            self.send_error(411, "the body needs a Content-Length")
        elif len(length) > 15 or int(length) > MOST_BODY_BYTES:
            self.send_error(413, f"the body has {length[:20]} bytes, and {MOST_BODY_BYTES} are the most")
        else:
            return True
        return False

    def _bare_path(self) -> str:
        return self.path.partition("?")[0]

    def _send(self, answer: Answer) -> None:
        self.request_version = self.protocol_version  # also where the request names none: the answer has a head
        self.connection.settimeout(BODY_S)
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        if answer.status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)
        self.wfile.flush()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """As an answer of ours, for what the base class refuses too. Ends the connection: the rest of the request may
        be on its way."""
        self.close_connection = True
        code = int(code)
        with contextlib.suppress(OSError):
            self._send(failed(code, _BY_ERROR.get(code, "BAD_REQUEST"), message or "the request is no HTTP"))
            self.connection.shutdown(socket.SHUT_WR)
            until = time.monotonic() + _DISCARD_S
            while (left := until - time.monotonic()) > 0:
                self.connection.settimeout(left)
                if not self.connection.recv(65_536):
                    break

    def _is_gone(self) -> bool:
        """Whether the peer has closed the connection while it waits for an answer."""
        try:
            look = select.poll()
            look.register(self.connection, select.POLLIN)
            return bool(look.poll(0)) and not self.connection.recv(1, socket.MSG_PEEK)
        except (OSError, ValueError):
            return True

    def log_message(self, *_: Any) -> None:
        """Nothing is logged: a log could have the token, or data."""
