"""Settings of Python itself: the umask, the folder, filters of warnings, the decimal context, flags at its start."""

from __future__ import annotations

import fnmatch
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any


def umask(_: Any) -> int | None:
    """Not by os.umask(), which would change the mask of files that another thread makes meanwhile."""
    with open("/proc/self/status") as status:
        return next((int(line.split()[1], 8) for line in status if line.startswith("Umask:")), None)


def set_folder(os: Any, folder: str) -> None:
    """A node that does not have the folder keeps its own."""
    if os.path.isdir(folder):
        os.chdir(folder)


def is_locale_of_start(names: str) -> bool:
    """Python sets LC_CTYPE alone when it starts."""
    return all(part.endswith("=C") or part.startswith("LC_CTYPE=") for part in names.split(";"))


# ---- warnings ----

# Of a Python that was started without -W.
FILTERS = [("default", None, "builtins:DeprecationWarning", "__main__", 0),
           *(("ignore", None, f"builtins:{kind}", None, 0) for kind in (
               "DeprecationWarning", "PendingDeprecationWarning", "ImportWarning", "ResourceWarning"))]


def filters(library: Any) -> list[Any]:
    """With the categories' names: a library that is not imported elsewhere adds its own filters when it is."""
    return [(action, message, f"{kind.__module__}:{kind.__qualname__}", module, line)
            for action, message, kind, module, line in library.filters]


def set_filters(library: Any, filters: list[Any]) -> None:
    known = ((action, message, _category(kind), module, line) for action, message, kind, module, line in filters)
    library.filters[:] = [one for one in known if one[2] is not None]
    getattr(library, "_filters_mutated", lambda: None)()


def _category(kind: Any) -> Any:
    """None: its module is not imported here. A class itself is of an older pounce's state."""
    if isinstance(kind, type):
        return kind
    module, _, name = kind.partition(":")
    return getattr(sys.modules.get(module), name, None)


# ---- the decimal context ----

_CONTEXT = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")
DECIMAL = {"prec": 28, "rounding": "ROUND_HALF_EVEN", "Emin": -999999, "Emax": 999999, "capitals": 1, "clamp": 0,
           "traps": ["DivisionByZero", "InvalidOperation", "Overflow"]}


def decimal_context(library: Any) -> dict[str, Any]:
    context = library.getcontext()
    traps = sorted(signal.__name__ for signal, is_set in context.traps.items() if is_set)
    return {name: getattr(context, name) for name in _CONTEXT} | {"traps": traps}


def set_decimal(library: Any, saved: dict[str, Any]) -> None:
    context = library.getcontext()
    for name in _CONTEXT:
        if name in saved:
            setattr(context, name, saved[name])
    for signal in context.traps if "traps" in saved else ():
        context.traps[signal] = signal.__name__ in saved["traps"]


# ---- what a kernel was started with ----

# Proxies, hubs, object stores and the folders of compilers: a notebook's server sets them for its kernels, and no
# worker is started with them.
_PASSED_ON = ("*_PROXY", "*_proxy", "HF_*", "HUGGINGFACE_*", "TRANSFORMERS_*", "WANDB_*", "MLFLOW_*",
              "AWS_*", "AZURE_STORAGE_*", "GOOGLE_APPLICATION_CREDENTIALS",
              "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "TORCH_HOME",
              "TORCH_EXTENSIONS_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_HOME", "TRITON_CACHE_DIR", "NUMBA_CACHE_DIR",
              "JAX_COMPILATION_CACHE_DIR")
_THIS_MACHINE = ("localhost", "127.0.0.1", "[::1]")


def passed_on(name: str, value: str) -> bool:
    """Whether a variable that the kernel was started with follows to workers. A proxy of this machine is not there."""
    if not any(fnmatch.fnmatchcase(name, pattern) for pattern in _PASSED_ON):
        return False
    is_proxy = name.lower().endswith("_proxy") and name.lower() != "no_proxy"
    return not (is_proxy and any(host in value for host in _THIS_MACHINE))


def start_variables() -> dict[str, str]:
    """Variables that give another Python the flags of this one: those that its own variables or its command set."""
    flags, extra = sys.flags, getattr(sys, _EXTRA)
    found = {
        "PYTHONNOUSERSITE": "1" if flags.no_user_site else "",
        "PYTHONUTF8": "1" if flags.utf8_mode else "",
        "PYTHONDEVMODE": "1" if flags.dev_mode else "",
        "PYTHONOPTIMIZE": str(flags.optimize or ""),
        "PYTHONDONTWRITEBYTECODE": "1" if flags.dont_write_bytecode else "",
        "PYTHONWARNDEFAULTENCODING": "1" if flags.warn_default_encoding else "",
        "PYTHONWARNINGS": ",".join(sys.warnoptions),
        "PYTHONPYCACHEPREFIX": sys.pycache_prefix or "",
        "PYTHONNODEBUGRANGES": "1" if "no_debug_ranges" in extra else "",
        "PYTHONTRACEMALLOC": str(extra.get("tracemalloc", "")).replace("True", "1"),
    }
    return {name: value for name, value in found.items() if value}


_EXTRA = "_xoptions"  # documented, of CPython
_FOLLOW = ("dev", "utf8", "warn_default_encoding", "pycache_prefix", "no_debug_ranges", "tracemalloc",
           "int_max_str_digits", "faulthandler", "frozen_modules")  # `faulthandler` is on, the last one shows nowhere
_FLAGS = {"ignore_environment": "-E", "no_site": "-S", "bytes_warning": "-b", "verbose": "-v"}


def flags_left_out(_: Any) -> Iterator[tuple[str, str]]:
    """Flags that no variable gives to a Python that others start."""
    extra: Mapping[str, Any] = getattr(sys, _EXTRA)
    for name, flag in _FLAGS.items():
        if getattr(sys.flags, name):
            yield _flag(flag)
    for name in extra:
        if name not in _FOLLOW:
            yield _flag(f"-X {name}")


def _flag(flag: str) -> tuple[str, str]:
    return f"the flag {flag} of Python", f"a line !python {flag} … in the cell starts a Python that has it"


def environment_at_start() -> dict[str, str]:
    """The variables that this process was started with."""
    with open("/proc/self/environ", "rb") as file:
        entries = os.fsdecode(file.read()).split("\0")
    return dict(entry.split("=", 1) for entry in entries if "=" in entry)
