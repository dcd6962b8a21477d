"""pounce's C++ part (python/bindings). Private: its callers are in this package."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__version__: str
PROTOCOL: int
# (wire name, Python class, default remedy) of each error code.
ERROR_CODES: tuple[tuple[str, str, str], ...]

def digest(bytes: bytes | memoryview) -> bytes: ...

class Memory:
    """Writable bytes of a result (buffer protocol)."""
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Hold:
    """Keeps an object's data with the client until it dies."""

class Client:
    """The client's engine. Every method may be called from any thread; none holds the GIL while it waits."""
    def __init__(
        self,
        *,
        host: str,
        directory: str,
        interpreter: Sequence[str],
        environment: Mapping[str, str],
        pounce: str,
        python: str,
        cloudpickle: str,
        carries: str,
        interpreter_named: bool = ...,
    ) -> None: ...
    def set_daemon(self, endpoint: str) -> None: ...
    def daemon_failed(self, code: str, text: str, remedy: str, context: Mapping[str, str]) -> None: ...
    # function id, its pickle, [pickled arguments, *small buffers], object ids, Options.as_tuple(), retries, submitted_ns, id of a
    # task that was submitted before
    def submit(
        self,
        function: bytes,
        function_pickle: bytes,
        payload: list[Any],
        objects: list[str],
        resources: tuple[Any, ...],
        retries: int,
        submitted_ns: int,
        again: str = "",
        /,
    ) -> bytes: ...
    def tell(self, task: bytes, message: bytes, /) -> None: ...
    def cancel(self, task: bytes, grace_ms: int, /) -> None: ...
    # One that never started: other resources, as of submit()
    def move(self, task: bytes, resources: tuple[Any, ...], /) -> bool: ...  # False: it has been sent to a worker, or has ended
    def state(self, task: bytes, /) -> str | None: ...
    # lease, state, reason, job, node, devices, start_estimate_s, end_time_s, class, slurm_reason, ahead, limit (or None),
    # eta (or None): start, low, high, basis
    def lease_status(self, task: bytes, /) -> tuple[Any, ...] | None: ...
    def leases(self) -> list[tuple[Any, ...]]: ...
    # which request it belongs to: the same number for the same resources
    def want(self, task: bytes, /) -> int | None: ...
    def hold(self, pickle: bytes, buffers: list[Any], send_now: bool, /) -> tuple[str, int, Hold]: ...
    # Questions to pounced; `asked` and the result number the connection that has it, 0 for none
    def ask_queue(self, request: int, asked: int, /) -> int: ...
    def ask_classes(self, request: int, asked: int, /) -> int: ...
    def ask_status(self, request: int, asked: int, /) -> int: ...
    def ask_choices(self, request: int, asked: int, task: bytes, resources: tuple[Any, ...], /) -> int: ...
    def ask_names(self, request: int, asked: int, name: str, /) -> int: ...
    def end_name(self, request: int, asked: int, name: str, forget: bool, /) -> int: ...
    def carry_name(self, request: int, asked: int, name: str, ok: bool, digest: str, trouble: str, /) -> int: ...
    def name_task(self, request: int, asked: int, name: str, task: str, resources: tuple[Any, ...], retries: int, /) -> int: ...
    # (news, what a signal handler raised); deadline in steady-clock nanoseconds, -1 for none
    def wait(self, task: bytes, deadline_ns: int, queue: deque[tuple[Any, ...]], /) -> tuple[int, BaseException | None]: ...
    def drain(self, queue: deque[tuple[Any, ...]], /) -> int: ...
    def wait_for_news(self) -> bool: ...
    def close(self) -> None: ...

class Job:
    function: bytes
    function_pickle: bytes
    command: bool
    pickle: Any
    buffers: Sequence[Any]
    def object(self, index: int, /) -> tuple[Any, Sequence[Any]]: ...
    def cancel_asked(self) -> bool: ...

class Worker:
    """The interpreter's side of a worker."""
    def __init__(
        self,
        *,
        supervisor: int,
        output: int,
        errors: int,
        log: int,
        page: int,
        facing: str,
        node: str,
        devices: str,
        python: str,
        interface: str = ...,
        ports: str = ...,
    ) -> None: ...
    # Any thread. JSON of a Jupyter message and its buffers; blocks while the client is far behind.
    def show(self, message: bytes, buffers: Sequence[bytes], /) -> None: ...
    def set_cloudpickle(self, version: str, /) -> None: ...
    def serve(self, execute: Callable[[Job], Any], describe: Callable[[Job, BaseException], Any], /) -> None: ...
    def close(self) -> None: ...
