"""The page over HTTP, on the loopback interface: for a browser with the link, or for the site's proxy.

Any process of this machine can connect, so each request shows a token, also the proxy's: else anybody here could send
the proxy's header and be whom they like. The token is in a file that only its owner reads, and stays over restarts.
"""

from __future__ import annotations

import grp
import os
import pwd
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..._worker.serving import Answer, failed
from ...errors import BadRequest, PounceError
from ...serving.connection import Connection, same_token
from ...serving.listener import Listener
from .document import content_policy, style

_KEPT_S = 60.0  # a page is made at most once in this time
_MOST_KEPT = 64  # pages of users
_HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Who:
    """Whose jobs a request may see. Without a header who has the token sees `all_of`; with one, which the proxy sets,
    `operators` see that, and others their own jobs."""

    header: str = ""
    operators: frozenset[str] = frozenset()
    all_of: frozenset[str] = frozenset()  # empty: everybody's

    def sees(self, values: list[str]) -> frozenset[str] | None:
        """`values` are those of the header in a request; None: the request says no one user."""
        if not self.header:
            return self.all_of
        names = [value.strip() for value in values]
        if len(names) != 1 or not names[0] or "," in names[0]:
            return None
        return self.all_of if names[0] in self.operators else frozenset(names)


class PageServer:
    """Serves until it is closed. `made` makes the page of some users, of all where there are none."""

    def __init__(self, made: Callable[[frozenset[str]], str], token: str, who: Who, port: int = 0):
        self._made, self._token, self._who = made, token, who
        self._turn = threading.Lock()
        self._pages: dict[frozenset[str], tuple[float, bytes]] = {}
        self.headers = (
            ("Content-Security-Policy", content_policy(style()) + "; frame-ancestors 'none'"),
            ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cache-Control", "no-store"))
        try:
            self._listener = Listener(self._serve, port)
        except OSError as error:
            raise BadRequest(f"port {port} cannot be listened on: {error.strerror}", "Name another port, or none.") \
                from None
        self.port = self._listener.port
        self.url = f"http://127.0.0.1:{self.port}/{token}"

    def close(self) -> None:
        self._listener.close()

    def _serve(self, connection: socket.socket, knows: Callable[[], None]) -> None:
        _PageConnection(connection, self, knows)

    def admits(self, path: str, token: str) -> bool:
        """The token is in the link, or where a proxy is meant, in its Authorization alone."""
        return same_token(token, self._token) or (not self._who.header and same_token(path.strip("/"), self._token))

    def answer(self, method: str, path: str, header: Callable[[str], list[str]]) -> Answer:
        if method not in ("GET", "HEAD"):
            return failed(405, "METHOD_NOT_ALLOWED", "the page is only read")
        if path.strip("/") not in ("", self._token):
            return failed(404, "NOT_FOUND", "there is one page, at /")
        users = self._who.sees(header(self._who.header) if self._who.header else [])
        if users is None:
            return failed(403, "PERMISSION_DENIED", f"the proxy says no one user in {self._who.header}")
        try:
            return Answer(200, _HTML, self._page(users))
        except BadRequest as error:
            return failed(404, "NOT_FOUND", str(error))
        except PounceError as error:
            return failed(503, "UNAVAILABLE", str(error))

    def _page(self, users: frozenset[str]) -> bytes:
        with self._turn:  # one at a time: each reads the store
            moment, page = self._pages.get(users, (0.0, b""))
            if not page or time.monotonic() - moment > _KEPT_S:
                page = self._made(users).encode()
                self._pages.pop(users, None)
                self._pages[users] = time.monotonic(), page
                while len(self._pages) > _MOST_KEPT:
                    del self._pages[next(iter(self._pages))]
            return page


class _PageConnection(Connection):
    """Adds the page's headers to each answer, and knows the request's."""

    def __init__(self, connection: socket.socket, server: PageServer, knows: Callable[[], None]):
        self._page_headers = server.headers
        super().__init__(connection, server.admits, lambda method, path, *_: server.answer(method, path, self._values),
                         knows)

    def _values(self, name: str) -> list[str]:
        return self.headers.get_all(name) or []

    def end_headers(self) -> None:
        for name, value in self._page_headers:
            self.send_header(name, value)
        super().end_headers()


def operators_of(text: str) -> frozenset[str]:
    """"root,@ops" -> those users and the members of those groups; without any, root and who runs this."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        return frozenset({"root", pwd.getpwuid(os.geteuid()).pw_name})
    found: set[str] = set()
    for name in names:
        if not name.startswith("@"):
            found.add(name)
            continue
        try:
            group = grp.getgrnam(name[1:])
        except KeyError:
            raise BadRequest(f"there is no group {name[1:]!r}", "Name a group that operators are in.") from None
        found.update(group.gr_mem)
        found.update(user.pw_name for user in pwd.getpwall() if user.pw_gid == group.gr_gid)
    return frozenset(found)


def token_of(place: Path) -> str:
    """The token in that file, which is made if it is not there. Raises where others could read or change it."""
    try:
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(place, flags, 0o600), "w", encoding="ascii") as file:
                print(os.urandom(32).hex(), file=file)
        with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), encoding="ascii") as file:
            facts = os.fstat(file.fileno())
            token = file.read(1000).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise PounceError(f"the token's file {place} cannot be used: {error}", "Name another with --token-file.") \
            from None
    if facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
        raise BadRequest(f"others could read {place}, and with it the page", f"chmod 600 {place}, or remove it: "
                         "the next start makes a new token.")
    if len(token) < 32 or not token.isalnum():
        raise BadRequest(f"{place} has no token of 32 letters and digits or more", "Remove it: the next start "
                         "makes one.")
    return token
