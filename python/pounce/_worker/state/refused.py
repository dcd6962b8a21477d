"""Types whose values cannot be pickled, or that pickle without an error and come back as something else."""

from __future__ import annotations

# By the name of a class, so that no library is imported to look for it. Subclasses count too.
_REASONS: dict[str, tuple[str, ...]] = {
    "an open file stays with its process": (
        "_io.TextIOWrapper", "_io.FileIO", "_io.BufferedReader", "_io.BufferedWriter", "_io.BufferedRandom",
        "_io.BufferedRWPair", "tempfile._TemporaryFileWrapper", "tempfile.SpooledTemporaryFile", "mmap.mmap",
        "numpy.memmap"),
    "its folder is deleted with its process": ("tempfile.TemporaryDirectory",),
    "it is a window on another object's memory": ("builtins.memoryview",),
    "code that has begun to run cannot be moved": (
        "builtins.generator", "builtins.coroutine", "builtins.async_generator", "builtins.frame", "builtins.traceback",
        "_asyncio.Future", "_asyncio.Task", "asyncio.events.AbstractEventLoop", "_contextvars.ContextVar",
        "_contextvars.Context"),
    "threads and what they wait for stay with their process": (
        "_thread.lock", "_thread.RLock", "_thread._local", "threading.Thread", "threading.Condition", "threading.Event",
        "threading.Semaphore", "threading.Barrier", "queue.Queue", "_queue.SimpleQueue",
        "concurrent.futures._base.Future", "concurrent.futures._base.Executor"),
    "a child process stays with its parent": ("multiprocessing.process.BaseProcess", "subprocess.Popen"),
    "a network connection stays with its process": ("_socket.socket",),
    "a connection to a database stays with its process": ("sqlite3.Connection", "sqlite3.Cursor"),
    "a weak reference keeps nothing": ("weakref.ReferenceType",),
    "it is memory of a C library": ("_ctypes._CData",),
    "a progress bar belongs to the cell that shows it": ("tqdm.std.tqdm",),
    "it belongs to one process's work on one GPU": ("torch.Stream", "torch.Event", "torch.cuda.graphs.CUDAGraph"),
}
_WHY = {name: why for why, names in _REASONS.items() for name in names}

_known: dict[type, str] = {}


def why_refused(kind: type) -> str:
    """The reason, as a clause; empty: values of this type may be pickled."""
    known = _known.get(kind)
    if known is None:
        known = _known[kind] = next((_WHY[name] for name in names_of(kind) if name in _WHY), "")
    return known


def names_of(kind: type) -> list[str]:
    """The names of a class and its bases, itself first: ``torch.nn.parameter.Parameter``, ``torch.Tensor``, ..."""
    return [f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__]
