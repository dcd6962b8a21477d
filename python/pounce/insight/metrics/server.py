"""Gives the last text to whom scrapes: GET /metrics over HTTP, until the process ends.

A scrape costs no question to pounced or Slurm. A connection has a few seconds in all, and when too many are open the
oldest is cut, so a slow or silent peer holds nothing up.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import socket
import threading
from dataclasses import dataclass

from ...errors import BadRequest, PounceError
from .exposition import CONTENT_TYPE

_DEADLINE_S = 5.0  # for a whole request and its answer
_MOST_CONNECTIONS = 64
_MOST_HEAD = 8192  # bytes of a request
_ABOUT = b"figures of pounce for Prometheus: GET /metrics\n"
_PLACE = re.compile(r"(?:(?P<host>[^:\[\]]*|\[[^\[\]]*\]):)?(?P<port>\d{1,5})")


@dataclass(frozen=True)
class Address:
    host: str
    port: int
    is_loopback: bool

    @property
    def url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/metrics"


def address_of(text: str) -> Address:
    """`127.0.0.1:9790`, `[::1]:9790`, `login1:9790`; `9790` is on the loopback interface."""
    match = _PLACE.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise BadRequest(f"--listen takes ADDRESS:PORT, not {text!r}",
                         "Write --listen 127.0.0.1:9790; an IPv6 address is in brackets: [::1]:9790.")
    port = int(match["port"])
    name = (match["host"] or "127.0.0.1").strip("[]")
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise BadRequest(f"--listen {text}: this machine knows no address {name!r}: {error.strerror}",
                         "Name an address of this machine: --listen 127.0.0.1:9790.") from None
    host = str(found[0][4][0])
    return Address(host, port, ipaddress.ip_address(host.partition("%")[0]).is_loopback)


class MetricsServer:
    """Serves what was published last, from a thread of its own."""

    def __init__(self, address: Address):
        self._text = b""
        self._open: dict[asyncio.Task[None], bool] = {}  # the oldest first
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        try:
            self._socket = socket.create_server((address.host, address.port), family=family, backlog=_MOST_CONNECTIONS)
        except OSError as error:
            raise PounceError(f"{address.host} port {address.port} cannot be listened at: {error.strerror}",
                              "Name another port, or an address of this machine.") from None
        self.address = Address(address.host, self._socket.getsockname()[1], address.is_loopback)
        threading.Thread(target=lambda: asyncio.run(self._serve()), name="pounce-metrics", daemon=True).start()

    def publish(self, text: bytes) -> None:
        self._text = text

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._accept, sock=self._socket, limit=_MOST_HEAD)
        async with server:
            await server.serve_forever()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._open) >= _MOST_CONNECTIONS:
            next(iter(self._open)).cancel()
        self._open[task] = True
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.TimeoutError, asyncio.CancelledError,
                                     asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                await asyncio.wait_for(self._answer(reader, writer), _DEADLINE_S)
        finally:
            self._open.pop(task, None)
            writer.transport.abort()  # what was answered has been sent

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(answer_to(head.split(b"\r\n", 1)[0], self._text))
        await writer.drain()
        writer.close()
        await writer.wait_closed()


def answer_to(line: bytes, text: bytes) -> bytes:
    """The whole answer to a request's first line."""
    words = line.split(b" ")
    if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
        return _whole("400 Bad Request", b"this is no request of HTTP/1\n")
    method, path = words[0], words[1].partition(b"?")[0]
    if method not in (b"GET", b"HEAD"):
        return _whole("405 Method Not Allowed", b"only GET\n", "Allow: GET, HEAD\r\n")
    if path == b"/metrics":
        answer = _whole("200 OK", text, kind=CONTENT_TYPE)
    else:
        answer = _whole("200 OK" if path == b"/" else "404 Not Found", _ABOUT)
    return answer if method == b"GET" else answer[:answer.index(b"\r\n\r\n") + 4]


def _whole(status: str, body: bytes, more: str = "", kind: str = "text/plain; charset=utf-8") -> bytes:
    head = (f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}"
            "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n")
    return head.encode() + body
