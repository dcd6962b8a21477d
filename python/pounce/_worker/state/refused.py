"""Types whose values cannot be pickled, or that pickle without an error and come back as something else."""

from __future__ import annotations

_FILE = "an open file stays with its process"
_THREADS = "threads and what they wait for stay with their process"
_LATER = "code that has begun to run cannot be moved"
_DATABASE = "a connection to a database stays with its process"
_GPU = "it belongs to one process's work on one GPU"

# By the name of a class, so that no library is imported to look for it. Subclasses count too.
_WHY = {
    "_io.TextIOWrapper": _FILE,
    "_io.FileIO": _FILE,
    "_io.BufferedReader": _FILE,
    "_io.BufferedWriter": _FILE,
    "_io.BufferedRandom": _FILE,
    "_io.BufferedRWPair": _FILE,
    "tempfile._TemporaryFileWrapper": _FILE,
    "tempfile.SpooledTemporaryFile": _FILE,
    "mmap.mmap": _FILE,
    "numpy.memmap": _FILE,
    "tempfile.TemporaryDirectory": "its folder is deleted with its process",
    "builtins.memoryview": "it is a window on another object's memory",
    "builtins.generator": _LATER,
    "builtins.coroutine": _LATER,
    "builtins.async_generator": _LATER,
    "builtins.frame": _LATER,
    "builtins.traceback": _LATER,
    "_asyncio.Future": _LATER,
    "_asyncio.Task": _LATER,
    "asyncio.events.AbstractEventLoop": _LATER,
    "_contextvars.ContextVar": _LATER,
    "_contextvars.Context": _LATER,
    "_thread.lock": _THREADS,
    "_thread.RLock": _THREADS,
    "_thread._local": _THREADS,
    "threading.Thread": _THREADS,
    "threading.Condition": _THREADS,
    "threading.Event": _THREADS,
    "threading.Semaphore": _THREADS,
    "threading.Barrier": _THREADS,
    "queue.Queue": _THREADS,
    "_queue.SimpleQueue": _THREADS,
    "concurrent.futures._base.Future": _THREADS,
    "concurrent.futures._base.Executor": _THREADS,
    "multiprocessing.process.BaseProcess": "a child process stays with its parent",
    "subprocess.Popen": "a child process stays with its parent",
    "_socket.socket": "a network connection stays with its process",
    "sqlite3.Connection": _DATABASE,
    "sqlite3.Cursor": _DATABASE,
    "weakref.ReferenceType": "a weak reference keeps nothing",
    "_ctypes._CData": "it is memory of a C library",
    "tqdm.std.tqdm": "a progress bar belongs to the cell that shows it",
    "torch.Stream": _GPU,
    "torch.Event": _GPU,
    "torch.cuda.graphs.CUDAGraph": _GPU,
}

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
