"""The programs that can be measured: pounce, its floors, and its peers. One worker each.

All have the same few methods, except those for what a contender cannot do. Peers are imported when they are opened.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pounce import Client
from .server import TcpPeer, ZmqPeer, curve_socket
from .work import look, noop, prepare, prepared

_PING = bytes(64)


class Contender:
    name = ""
    needs: str | None = None  # a module
    slowness = 1              # it gets so many times fewer calls when many are measured

    def call(self, function: Any, *args: Any) -> Any:
        raise NotImplementedError

    def prepare(self, nbytes: int) -> None:
        """Makes an array there, for ``fetch_prepared``."""
        self.call(prepare, nbytes)

    def fetch_prepared(self) -> Any:
        return self.call(prepared)

    def close(self) -> None:
        """Releases its resources."""


class Pounce(Contender):
    name = "pounce"

    def __init__(self, **arguments: Any):
        self.client = Client(**arguments)
        self.call(noop)

    def call(self, function: Any, *args: Any) -> Any:
        return self.client.submit(function, *args).result()

    def many(self, count: int) -> None:
        for future in [self.client.submit(noop) for _ in range(count)]:
            future.result()

    def map(self, count: int) -> None:
        for _ in self.client.map(noop, range(count)):
            pass

    def deliver(self, array: Any) -> Any:
        ref = self.client.scatter(array)
        return self.call(look, ref)

    def close(self) -> None:
        self.client.close()


# ---- floors --------------------------------------------------------------------------------------------------------


class _Wire(Contender):
    """A client of a bare server of our own (server.py)."""

    kind = ""

    def __init__(self, prefix: Sequence[str] = (), address: str = "127.0.0.1") -> None:
        self._address = address
        self._process = subprocess.Popen([*prefix, sys.executable, "-m", "pounce_bench.server", self.kind, address],
                                         cwd=Path(__file__).parents[1], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(self._credential() + "\n")
        self._process.stdin.flush()
        self._peer = self._connect(json.loads(self._process.stdout.readline()))

    def call(self, function: Any, *args: Any) -> Any:
        self._peer.send((function, args))
        return self._peer.receive()

    def deliver(self, array: Any) -> Any:
        return self.call(look, array)

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)

    def _credential(self) -> str:
        """The text by which the server recognizes this client."""
        raise NotImplementedError

    def _connect(self, where: dict[str, Any]) -> Any:
        raise NotImplementedError


class Pipe(Contender):
    """One byte there and back: the least that two processes need which both sleep until the other one writes."""

    name = "two pipes"

    def __init__(self) -> None:
        echo = "import os\nwhile byte := os.read(0, 1): os.write(1, byte)"
        self._process = subprocess.Popen([sys.executable, "-c", echo], bufsize=0, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._there, self._back = self._process.stdin.fileno(), self._process.stdout.fileno()

    def call(self, function: Any, *args: Any) -> Any:
        os.write(self._there, b"x")
        return os.read(self._back, 1)

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)


class Tcp(_Wire):
    name = "TCP, pickle (not encrypted)"
    kind = "tcp"

    def _credential(self) -> str:
        self._words = secrets.token_hex(32)
        return self._words

    def _connect(self, where: dict[str, Any]) -> Any:
        connection = socket.create_connection((self._address, where["port"]))
        connection.sendall(self._words.encode())
        return TcpPeer(connection)


class RawTcp(Tcp):
    """Each side receives into memory that it reuses: the least that unencrypted data costs on this wire."""

    name = "raw TCP into reused memory"
    kind = "tcp-reused"

    def _connect(self, where: dict[str, Any]) -> Any:
        connection = socket.create_connection((self._address, where["port"]))
        connection.sendall(self._words.encode())
        return TcpPeer(connection, reuses=True)


class Curve(_Wire):
    """pyzmq with pickled calls, as a user would write it by hand."""

    name = "pyzmq by hand, CURVE"
    needs = "zmq"
    kind = "zmq"

    def _credential(self) -> str:
        import zmq

        self._socket, key = curve_socket(zmq, zmq.DEALER)
        return key

    def _connect(self, where: dict[str, Any]) -> Any:
        self.server_key, self.endpoint = where["key"].encode(), f"tcp://{self._address}:{where['port']}"
        self._socket.curve_serverkey = self.server_key
        self._socket.connect(self.endpoint)
        return ZmqPeer(self._socket, False)

    def many(self, count: int) -> None:
        ahead = 100  # if more are in flight than the queues hold, both ends wait for each other
        for number in range(count + ahead):
            if number < count:
                self._peer.send((noop, ()))
            if number >= ahead:
                self._peer.receive()

    def close(self) -> None:
        self._socket.close()
        super().close()


class Zmq(_Wire):
    """pyzmq with pickled calls, as a user would write it by hand without encryption, into reused memory."""

    name = "pyzmq by hand, not encrypted, into reused memory"
    needs = "zmq"
    kind = "zmq-plain"

    def _credential(self) -> str:
        self._words = secrets.token_hex(32)
        return self._words

    def _connect(self, where: dict[str, Any]) -> Any:
        import zmq

        self._socket = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.linger = 0
        self._socket.connect(f"tcp://{self._address}:{where['port']}")
        self._socket.send(self._words.encode())
        return ZmqPeer(self._socket, False, reuses=True)

    def close(self) -> None:
        self._socket.close()
        super().close()


class Echo(Curve):
    """64 bytes to the server and back, nothing pickled: the least that a call can cost on this wire."""

    name = "bare pyzmq, CURVE"
    kind = "echo"

    def call(self, function: Any, *args: Any) -> Any:
        self._socket.send(_PING)
        return self._socket.recv()


# ---- peers ---------------------------------------------------------------------------------------------------------


class Pool(Contender):
    name = "ProcessPoolExecutor"

    def __init__(self) -> None:
        import concurrent.futures
        import multiprocessing

        self._pool = concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        self.call(noop)

    def call(self, function: Any, *args: Any) -> Any:
        return self._pool.submit(function, *args).result()

    def many(self, count: int) -> None:
        for future in [self._pool.submit(noop) for _ in range(count)]:
            future.result()

    def map(self, count: int) -> None:
        for _ in self._pool.map(noop, range(count)):
            pass

    def deliver(self, array: Any) -> Any:
        return self.call(look, array)

    def close(self) -> None:
        self._pool.shutdown()


class Dask(Contender):
    name = "dask.distributed"
    needs = "distributed"
    slowness = 10

    def __init__(self) -> None:
        import distributed

        self._cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True,
                                                 dashboard_address=None, memory_limit=0)
        self._client = distributed.Client(self._cluster)
        self.call(noop)

    def call(self, function: Any, *args: Any) -> Any:
        return self._client.submit(function, *args, pure=False).result()

    def many(self, count: int) -> None:
        self._client.gather([self._client.submit(noop, pure=False) for _ in range(count)])

    def map(self, count: int) -> None:
        self._client.gather(self._client.map(noop, range(count), pure=False))

    def deliver(self, array: Any) -> Any:
        return self.call(look, self._client.scatter(array))

    def close(self) -> None:
        self._client.close()
        self._cluster.close()


class IPyParallel(Contender):
    name = "ipyparallel"
    needs = "ipyparallel"
    slowness = 20

    def __init__(self) -> None:
        import logging

        import ipyparallel

        self._cluster = ipyparallel.Cluster(n=1, log_level=logging.ERROR)
        self._client = self._cluster.start_and_connect_sync()
        self._view = self._client[0]
        self.call(noop)

    def call(self, function: Any, *args: Any) -> Any:
        return self._view.apply_sync(function, *args)

    def many(self, count: int) -> None:
        for future in [self._view.apply_async(noop) for _ in range(count)]:
            future.get()

    def map(self, count: int) -> None:
        self._client.load_balanced_view().map_sync(noop, range(count))

    def deliver(self, array: Any) -> Any:
        return self.call(look, array)

    def close(self) -> None:
        self._client.close()
        self._cluster.stop_cluster_sync()


class Submitit(Contender):
    """Each call is a job that submitit polls; here with its local executor."""

    name = "submitit"
    needs = "submitit"
    slowness = 1000

    def __init__(self) -> None:
        import submitit

        self._folder = tempfile.TemporaryDirectory(prefix="pounce-bench-submitit-")
        self._executor = submitit.LocalExecutor(self._folder.name)

    def call(self, function: Any, *args: Any) -> Any:
        return self._executor.submit(function, *args).result()

    def close(self) -> None:
        self._folder.cleanup()


PEERS: list[type[Contender]] = [Pool, Dask, IPyParallel, Submitit]


def opened(kinds: list[type[Contender]], stack: contextlib.ExitStack) -> tuple[list[Any], list[str]]:
    """The contenders that are installed, and the names of the others. The stack closes them."""
    installed, missing = [], []
    for kind in kinds:
        if kind.needs is not None and importlib.util.find_spec(kind.needs) is None:
            missing.append(kind.name)
            continue
        contender = kind()
        stack.callback(contender.close)
        installed.append(contender)
    return installed, missing
