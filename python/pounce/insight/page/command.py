"""``pouncectl usage page``: the page as a file, or served until Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ...command_line import EXIT_OK, end_of_serving
from ...errors import BadRequest, PounceError
from ..accounting import Accounting
from ..collector import Collector
from ..projects import project_rule
from ..spans import Calendar, local_zone, span_of_days, span_since
from ..store import Store, create, default_place, open_store, told
from ..words import Option, number_of, parsed, users_of
from .contents import TOP, page_of
from .document import html
from .server import PageServer, Who, operators_of, token_of
from .sums import read

OPTIONS = (
    Option("--since", "SPAN", "the span of time until now: 30d by default"),
    Option("--from", "DAY", "from the beginning of that local day on, with --to DAY"),
    Option("--to", "DAY", "to the end of that local day; today by default"),
    Option("--user", "NAMES", "the jobs of these users alone"),
    Option("--top", "N", f"so many bars in a picture, {TOP} by default; tables have all"),
    Option("--projects", "RULE", "what a project is, as for pouncectl usage"),
    Option("--store", "FILE", "another store than the usual one; none: read the span from Slurm now"),
    Option("--serve", "", "serve it to browsers, on this machine alone, until Ctrl-C"),
    Option("--token-file", "FILE", "where the token is kept that a browser, or the site's proxy, has to show"),
    Option("--user-header", "NAME", "the proxy's header with the user; users see their own, operators all"),
    Option("--operators", "NAMES", "who sees all behind the proxy: users, and @group for the members of a group"),
)
_DEFAULT_FILE = "pounce-usage.html"


def run(words: list[str]) -> int:
    given, rest = parsed("usage page", words, OPTIONS, places=1)
    for word in ("--token-file", "--user-header", "--operators"):
        if word in given and "--serve" not in given:
            raise BadRequest(f"{word} is for --serve", "Write pouncectl usage page --serve, or leave it out.")
    if "--operators" in given and "--user-header" not in given:
        raise BadRequest("--operators needs --user-header", "Name the header in which the proxy says who it is.")
    top = number_of("--top", given["--top"]) if "--top" in given else TOP
    made = _maker(given, top)
    if "--serve" in given:
        return _serve(given, rest[0] if rest else "", made)
    path = Path(rest[0] if rest else _DEFAULT_FILE)
    if path.suffix.lower() not in (".html", ".htm"):
        raise BadRequest(f"{str(path)!r} is no name of a page", "Let it end in .html.")
    _write(path, made(users_of(given)))
    print(f"{path}: open it in a browser; it loads nothing from elsewhere")
    return EXIT_OK


def _maker(given: dict[str, str], top: int) -> Callable[[frozenset[str]], str]:
    """Makes the page of some users, or of all, as of now."""
    def made(users: frozenset[str]) -> str:
        now_s = int(time.time())
        with _opened(given, now_s) as store, told(store.place):
            from_s, to_s = _span(given, store.calendar(), now_s)
            project = project_rule(given.get("--projects") or store.setting("projects"))
            return html(page_of(read(store, project, from_s, to_s, users), now_s, top))

    return made


def _span(given: dict[str, str], calendar: Calendar, now_s: int) -> tuple[int, int]:
    if "--from" not in given and "--to" not in given:
        return span_since(given.get("--since", "30d"), now_s)
    if "--since" in given or "--from" not in given:
        raise BadRequest("a span is --since, or --from and --to", "Write --from 2026-11-01 --to 2026-11-30.")
    return span_of_days(given["--from"], given.get("--to", ""), calendar, now_s)


@contextmanager
def _opened(given: dict[str, str], now_s: int) -> Iterator[Store]:
    """The store; where there is none, one of the span, which Slurm is queried for and which goes again."""
    named = given.get("--store")
    place = None if named == "none" else Path(named) if named else default_place()
    if place is not None:
        with contextlib.closing(open_store(place)) as store:
            yield store
        return
    with tempfile.TemporaryDirectory(prefix="pounce-usage-") as folder, Accounting() as accounting:
        store = create(Path(folder) / "usage.sqlite", local_zone())
        with contextlib.closing(store):
            Collector(store, accounting).run(_span(given, store.calendar(), now_s)[0])
            yield store


def _write(path: Path, text: str) -> None:
    """Whole or not at all. A new file is its owner's alone, for it names people; one that was there keeps its mode."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
        os.replace(draft, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise PounceError(f"{path} cannot be written: {error.strerror}", "Name another file.") from None


# ---- served --------------------------------------------------------------------------------------------------------


def _serve(given: dict[str, str], address: str, made: Callable[[frozenset[str]], str]) -> int:
    if given.get("--store") == "none" or (not given.get("--store") and default_place() is None):
        raise BadRequest("--serve needs a store, which answers at once", "Run `pouncectl usage collect` first.")
    port = _port_of(address)
    made_for = users_of(given)
    made(made_for)  # what is wrong with the options or the store is said here
    place = Path(given["--token-file"]) if "--token-file" in given else _token_place()
    header = given.get("--user-header", "")
    over = end_of_serving()
    server = PageServer(made, token_of(place), Who(header, operators_of(given.get("--operators", "")), made_for), port)
    if header:
        print(f"http://127.0.0.1:{server.port}/ for the site's proxy, until Ctrl-C: it sends the user in {header}, and "
              f"\"Authorization: Bearer\" with the token in {place}", flush=True)
    else:
        print(f"{server.url}\nopen this link, until Ctrl-C; who has it sees the page. From another machine first: "
              f"ssh -L {server.port}:127.0.0.1:{server.port} this machine", flush=True)
    over.wait()
    server.close()
    return EXIT_OK


def _port_of(address: str) -> int:
    """Of "8123", "127.0.0.1:8123" or "localhost:8123"; 0, any that is free, of "". Raises BadRequest for an address
    that other machines reach."""
    host, _, text = address.rpartition(":")
    if not address:
        return 0
    if host not in ("", "127.0.0.1", "localhost") or not text.isdecimal() or not 0 < int(text) < 65536:
        raise BadRequest(f"the page is not served at {address!r}: it listens on this machine alone",
                         "Give a port, or 127.0.0.1:PORT, and let the site's web server pass requests on to it.")
    return int(text)


def _token_place() -> Path:
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return state / "pounce" / "usage" / "page.token"
