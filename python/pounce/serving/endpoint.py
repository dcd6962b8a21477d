"""``pounce.serve`` and ``Endpoint``: a model or a function at an address of this machine, on leased workers."""

from __future__ import annotations

import atexit
import base64
import contextlib
import os
import socket
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from .. import _core
from .._common import here
from .._common.machine import boot_id
from .._engine.changed_settings import ours
from .._engine.options import Options
from .._engine.resource_words import of_one_process
from .._worker.serving import Source
from ..client import Client
from ..errors import BadRequest, NameTaken, public
from . import endpoint_files
from .connection import Connection, same_token
from .endpoint_files import Entry
from .listener import Listener
from .routes import Routes
from .source import idle_of, name_of, source_of, workers_of
from .worker import Worker
from .workers import Workers

_open: weakref.WeakSet[Endpoint] = weakref.WeakSet()
_STOP_S = 0.2  # the answer to a request to stop leaves first


@public
class Endpoint:
    """A model or a function at an address of this machine. Made by ``pounce.serve``.

    It takes MLflow's scoring protocol: ``POST /invocations``, ``GET /ping``, ``/health`` and ``/version``. Each request
    needs the token, as ``Authorization: Bearer TOKEN``. Close it with ``close()``, or use it as a context manager; it
    ends with this process at the latest. All methods may be called from any thread.

    Examples
    --------
    >>> import json, urllib.request
    >>> def double(numbers):
    ...     return [2 * number for number in numbers]
    >>> with pounce.serve(double, name="double") as endpoint:
    ...     request = urllib.request.Request(endpoint.url + "/invocations", b"[1, 2]", endpoint.headers)
    ...     json.load(urllib.request.urlopen(request))
    [2, 4]
    """

    def __init__(self, source: Source, name: str, options: Options, least: int, most: int, idle_s: float,
                 new_client: Callable[[], Client]):
        self._source, self._token, self._pid = source, _new_token(), os.getpid()
        self._since = time.time()
        self._closed = threading.Event()
        id = os.urandom(8).hex()
        self._workers = Workers(least, most, idle_s, lambda: Worker(id, source, options, new_client))
        self._routes = Routes(self._workers, bool(source.uri), self._facts, self._stop_soon)
        self._listener = Listener(self._serve)
        try:
            self._name, self._path = self._added(name)
        except BaseException:
            self._workers.close()
            self._listener.close()
            raise
        _open.add(self)

    @property
    def name(self) -> str:
        """Its name, as ``%pounce serve`` and ``pouncectl serve`` show it."""
        return self._name

    @property
    def url(self) -> str:
        """``"http://127.0.0.1:41234"``; requests go to ``url + "/invocations"``."""
        return f"http://127.0.0.1:{self._listener.port}"

    @property
    def token(self) -> str:
        """The secret that each request has to send. It is in no log, argument or name of a file."""
        return self._token

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a request with a JSON body: the token and the content's type."""
        return {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}

    @property
    def closed(self) -> bool:
        """True after ``close()``. Does not block."""
        return self._closed.is_set()

    def start(self) -> None:
        """Requests a worker now, and not with the first request. Blocks until the model is there.

        Raises
        ------
        BadRequest
            The model cannot be loaded; the text says why, and names a package that the worker lacks.
        Unsatisfiable, Rejected, WalltimeReached, ...
            There is no worker for it.
        ClientClosed
            The endpoint was closed.

        Examples
        --------
        >>> with pounce.serve(abs) as endpoint:
        ...     endpoint.start()
        ...     endpoint  # doctest: +ELLIPSIS
        <pounce.Endpoint abs at http://127.0.0.1:...: 1 of 0 to 1 worker>
        """
        from .worker import NotServed

        try:
            self._workers.start()
        except NotServed as error:
            raise BadRequest(error.text) from None

    def wait(self) -> None:
        """Blocks until the endpoint is closed, by ``close()``, ``%pounce serve stop`` or ``pouncectl serve stop``."""
        self._closed.wait()

    def close(self) -> None:
        """Nothing more is accepted, and the leases go back. Requests that a worker has end with status 503.

        A second call does nothing. Blocks at most 0.3 s for each worker.
        """
        if self._closed.is_set() or self._pid != os.getpid():
            return
        self._closed.set()
        endpoint_files.remove(self._path)
        self._listener.close()
        self._workers.close()

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise _NotSent(self)  # and its token goes nowhere

    def __repr__(self) -> str:
        if self.closed:
            return f"<pounce.Endpoint {self._name} closed>"
        facts = self._workers.facts()
        workers = f"{facts['ready']} of {facts['least']} to {facts['most']} worker{'s' if facts['most'] > 1 else ''}"
        coming = f", {facts['starting']} to come" if facts["starting"] else ""
        why = _core.printable(f": {facts['why']}") if coming and facts["why"] else ""
        return f"<pounce.Endpoint {self._name} at {self.url}: {workers}{coming}{why}>"

    # ---- within ----

    def _added(self, name: str) -> tuple[str, str]:
        """The name and the path of its file. A name that the user did not choose is made another one if it is taken."""
        chosen = name_of(name) if name else ""
        for number in range(1, 1000):
            each = chosen or (self._source.name if number == 1 else f"{self._source.name}-{number}")
            entry = Entry(each if chosen else _plain(each), str(self._source), self._listener.port, self._token,
                          self._pid, endpoint_files.start_of(self._pid), boot_id(), here.folder(),
                          self._since)
            try:
                return entry.name, endpoint_files.add(entry)
            except NameTaken:
                if chosen:
                    raise
        raise NameTaken(f"a thousand endpoints have the name {self._source.name}", "Give another name=.")

    def _serve(self, connection: socket.socket, knows: Callable[[], None]) -> None:
        Connection(connection, self._admits, self._routes.answer, knows)

    def _admits(self, path: str, token: str) -> bool:
        return same_token(token, self._token)

    def _facts(self) -> dict[str, Any]:
        return {"name": self._name, "serves": str(self._source), "url": self.url, "pid": self._pid,
                "since": self._since, **self._workers.facts()}

    def _stop_soon(self) -> None:
        later = threading.Timer(_STOP_S, self.close)
        later.daemon = True
        later.start()

    def close_in_child(self) -> None:
        """In a forked child, which has no endpoints."""
        self._listener.close_in_child()


def serve(model: Any, *, name: str = "", workers: Any = "0:1", idle: Any = "10min",
          env: str | os.PathLike[str] | None = None, **options: Any) -> Endpoint:
    """Serves a model of MLflow's, or a function, at an address of this machine, on workers leased while it is used.

    Returns at once, without a lease: the first request gets a worker, which loads the model once and keeps it. Nothing
    of MLflow is imported here. The address is of the loopback interface, and each request needs the token; requests go
    to the workers as calls do, and no port is open there.

    Parameters
    ----------
    model : str or callable
        What ``mlflow.pyfunc.load_model`` takes: ``"models:/digits/3"``, ``"runs:/RUN/model"``, a folder; a worker loads
        it, with this process's tracking server, registry and secrets. Or a function: it gets the body of a request,
        read as JSON, and returns what JSON can hold; arrays and tensors become lists. It travels by value, as it is
        now. A ValueError of it is the request's fault, status 400; any other exception is status 500.
    name : str, optional
        For ``%pounce serve`` and ``pouncectl serve``; by default the model's or the function's, with a number if that
        is taken.
    workers : str or int
        From how many to how many, each with a lease of its own: ``"0:4"``. The first comes with the first request,
        a further one when requests have waited for a second without a break. A number is both.
    idle : float (seconds), timedelta or str
        A worker that answered nothing for so long goes back. Until then its lease is held, also while others wait.
    env : path, optional
        Another environment for the workers, as for ``Client``.
    **options
        Resources of each worker, as for ``Client.options``: ``gpus=1``, ``memory="16GB"``.

    Returns
    -------
    Endpoint

    Raises
    ------
    BadRequest
        An address that is none, a range or a time that is none, an option that does not exist.
    NotPicklable
        Names the part of the function that cannot travel.
    NameTaken
        Another endpoint of this user on this machine has that name.

    Examples
    --------
    >>> endpoint = pounce.serve(sorted, workers="0:2", idle="1min")
    >>> endpoint.url, endpoint.closed  # doctest: +ELLIPSIS
    ('http://127.0.0.1:...', False)
    >>> endpoint.close()
    """
    ours.look()  # requests come in other threads, which see the environment alone
    source = source_of(model)
    least, most = workers_of(workers)
    idle_s = idle_of(idle)
    asks = of_one_process(Options().changed(**options))
    if asks.resources.workers > 1:
        raise BadRequest("each worker of an endpoint has a lease of its own, on one node", "Leave out nodes=.")
    if env is not None:
        env = os.path.abspath(os.path.expanduser(os.fspath(env)))
    return Endpoint(source, name, asks, least, most, idle_s, lambda: Client(env=env, imports="no"))


class _NotSent(TypeError):
    def __init__(self, endpoint: Endpoint):
        super().__init__("an endpoint belongs to the process that made it; its url and token are texts")
        self.thing = endpoint  # messages name this and none of its parts


def _new_token() -> str:
    """256 bits, without the module secrets: a user's file of that name may be beside the notebook."""
    return base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()


def open_endpoints() -> list[Endpoint]:
    """The open endpoints of this process."""
    return [endpoint for endpoint in list(_open) if not endpoint.closed]


def _plain(name: str) -> str:
    """A function's name as an endpoint's: <lambda> is lambda."""
    kept = "".join(sign for sign in name if (sign.isascii() and sign.isalnum()) or sign in "._-")
    return kept.lstrip("._-") or "model"


@atexit.register
def _close_all() -> None:
    for endpoint in open_endpoints():
        with contextlib.suppress(Exception):
            endpoint.close()


def _in_child() -> None:
    for endpoint in list(_open):
        endpoint.close_in_child()


os.register_at_fork(after_in_child=_in_child)
