"""Settings of a process that no variable holds: a table with a row for each kind, of Python and of libraries.

They follow the notebook to its workers (``cell/notebook_settings.py``), and a namespace from one worker to the next
(``_worker/state/process_state.py``).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from . import here, logging_settings


class Setting(NamedTuple):
    """Read and written with the imported `library`; of Python itself, with the module that has it.

    A row with `usual` is a dict of options that follow one by one: `write` takes any part of it. Another row is one
    value. None: there is nothing to keep.
    """

    library: str
    read: Callable[[Any], Any]
    write: Callable[[Any, Any], Any]
    usual: Callable[[Any], Mapping[str, Any]] | None = None  # each option as it is in a fresh process
    left_out: Callable[[Any], Iterable[str]] = lambda library: ()  # names what cannot travel

    @property
    def module(self) -> Any:
        """None: it is not imported here, so there is nothing to read."""
        return sys.modules.get(self.library)

    @property
    def package(self) -> str:
        return self.library.partition(".")[0]

    def waits(self) -> bool:
        """Whether it is written only when its library is used here: importing it takes time."""
        return self.package not in sys.modules and self.package not in sys.stdlib_module_names

    def changed(self) -> Any:
        """The value; of options only those that are not as usual. None: there is none."""
        value = self.read(self.module)
        return value if self.usual is None or value is None else differing(value, self.usual(self.module)) or None


def differing(options: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are new or have another value."""
    return {name: value for name, value in options.items() if name not in before or not _is_equal(value, before[name])}


def _is_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # an array, for example
        return False


# ---- Python ----

def _umask(_: Any) -> int | None:
    """Not by os.umask(), which would change the mask of files that another thread makes meanwhile."""
    with open("/proc/self/status") as status:
        return next((int(line.split()[1], 8) for line in status if line.startswith("Umask:")), None)


def _set_folder(os: Any, folder: str) -> None:
    """A node that does not have the folder keeps its own."""
    if os.path.isdir(folder):
        os.chdir(folder)


def _filters(library: Any) -> list[Any]:
    """With the categories' names: a library that is not imported elsewhere adds its own filters when it is."""
    return [(action, message, f"{kind.__module__}:{kind.__qualname__}", module, line)
            for action, message, kind, module, line in library.filters]


def _set_filters(library: Any, filters: list[Any]) -> None:
    known = ((action, message, _category(kind), module, line) for action, message, kind, module, line in filters)
    library.filters[:] = [one for one in known if one[2] is not None]
    getattr(library, "_filters_mutated", lambda: None)()


def _category(kind: Any) -> Any:
    """None: its module is not imported here. A class itself is of an older pounce's state."""
    if isinstance(kind, type):
        return kind
    module, _, name = kind.partition(":")
    return getattr(sys.modules.get(module), name, None)


_CONTEXT = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def _decimal(library: Any) -> dict[str, Any]:
    context = library.getcontext()
    traps = sorted(signal.__name__ for signal, is_set in context.traps.items() if is_set)
    return {name: getattr(context, name) for name in _CONTEXT} | {"traps": traps}


_DECIMAL = {"prec": 28, "rounding": "ROUND_HALF_EVEN", "Emin": -999999, "Emax": 999999, "capitals": 1, "clamp": 0,
            "traps": ["DivisionByZero", "InvalidOperation", "Overflow"]}


def _set_decimal(library: Any, saved: dict[str, Any]) -> None:
    context = library.getcontext()
    for name in _CONTEXT:
        if name in saved:
            setattr(context, name, saved[name])
    for signal in context.traps if "traps" in saved else ():
        context.traps[signal] = signal.__name__ in saved["traps"]


# ---- numpy, pandas and their like ----

_PRINTING = {"edgeitems": 3, "threshold": 1000, "floatmode": "maxprec", "precision": 8, "suppress": False,
             "linewidth": 75, "nanstr": "nan", "infstr": "inf", "sign": "-", "formatter": None, "legacy": False,
             "override_repr": None}
_NUMPY_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
_SKLEARN = {"assume_finite": False, "working_memory": 1024, "print_changed_only": True, "display": "diagram",
            "pairwise_dist_chunk_size": 256, "enable_cython_pairwise_dist": True, "array_api_dispatch": False,
            "transform_output": "default", "enable_metadata_routing": False, "skip_parameter_validation": False,
            "sparse_interface": "spmatrix"}

# Neither pandas' defaults nor torch's options of printing are public.
_REGISTERED, _DEPRECATED, _PRINT_OPTIONS = "_registered_options", "_deprecated_options", "_tensor_str"


def _pandas_config(pandas: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    config = importlib.import_module("pandas._config.config")
    return getattr(config, _REGISTERED), getattr(config, _DEPRECATED)


def _pandas(pandas: Any) -> dict[str, Any]:
    known, deprecated = _pandas_config(pandas)
    return {name: pandas.get_option(name) for name in known if name not in deprecated}


def _usual_pandas(pandas: Any) -> dict[str, Any]:
    return {name: option.defval for name, option in _pandas_config(pandas)[0].items()}


def _set_pandas(pandas: Any, options: dict[str, Any]) -> None:
    for name, value in options.items():
        pandas.set_option(name, value)


def _matplotlib(library: Any) -> dict[str, Any]:
    return {name: value for name, value in library.rcParams.items() if name != "backend"}


# ---- torch ----

def _torch(torch: Any) -> dict[str, Any]:
    """The states of its generators."""
    cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
    return {"cpu": torch.get_rng_state().numpy(),
            "cuda": [state.numpy() for state in torch.cuda.get_rng_state_all()] if cuda else []}


def _set_torch(torch: Any, saved: dict[str, Any]) -> None:
    torch.set_rng_state(torch.from_numpy(saved["cpu"]))
    for device, state in enumerate(saved["cuda"][: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(torch.from_numpy(state), device)
    _set_torch_options(torch, saved)  # an older pounce saved some with it


def _torch_options(torch: Any) -> dict[str, Any]:
    printing = vars(getattr(torch, _PRINT_OPTIONS).PRINT_OPTS)
    return {"dtype": torch.get_default_dtype(), "grad": torch.is_grad_enabled(),
            "deterministic": torch.are_deterministic_algorithms_enabled(),
            "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
            "matmul": torch.get_float32_matmul_precision(), "benchmark": torch.backends.cudnn.benchmark,
            **{f"print {name}": value for name, value in printing.items()}}


def _usual_torch(torch: Any) -> dict[str, Any]:
    return {"dtype": torch.float32, "grad": True, "deterministic": False, "warn_only": False, "matmul": "highest",
            "benchmark": False, "print precision": 4, "print threshold": 1000, "print edgeitems": 3,
            "print linewidth": 80, "print sci_mode": None}


def _set_torch_options(torch: Any, saved: dict[str, Any]) -> None:
    if "dtype" in saved:
        torch.set_default_dtype(saved["dtype"])
    if "grad" in saved:
        torch.set_grad_enabled(saved["grad"])
    if "matmul" in saved:
        torch.set_float32_matmul_precision(saved["matmul"])
    if "benchmark" in saved:
        torch.backends.cudnn.benchmark = saved["benchmark"]
    if "deterministic" in saved or "warn_only" in saved:
        now = _torch_options(torch) | saved
        torch.use_deterministic_algorithms(now["deterministic"], warn_only=now["warn_only"])
    for name, value in saved.items():
        if name.startswith("print "):
            setattr(getattr(torch, _PRINT_OPTIONS).PRINT_OPTS, name[len("print "):], value)


# ---- IPython ----

def _ipython(library: Any) -> dict[str, Any] | None:
    shell = library.get_ipython()
    if shell is None:
        return None
    usual = shell.alias_manager.default_aliases
    return {"xmode": shell.InteractiveTB.mode, "precision": _text_formatter(shell).float_precision,
            "aliases": [alias for alias in shell.alias_manager.aliases if alias not in usual]}


def _set_ipython(library: Any, saved: dict[str, Any]) -> None:
    shell = library.get_ipython()
    if "xmode" in saved:
        shell.InteractiveTB.set_mode(saved["xmode"])
    if "precision" in saved:
        _text_formatter(shell).float_precision = saved["precision"]
    for name, line in saved.get("aliases", ()):
        shell.alias_manager.define_alias(name, line)


def _text_formatter(shell: Any) -> Any:
    return shell.display_formatter.formatters["text/plain"]


GENERATORS = ("random", "numpy", "torch")  # rows of random numbers, which follow in a way of their own

SETTINGS: dict[str, Setting] = {
    "folder": Setting("os", lambda _: here.folder(), _set_folder),
    "umask": Setting("os", _umask, lambda os, mask: os.umask(mask)),
    "locale": Setting("locale", lambda locale: locale.setlocale(locale.LC_ALL),
                      lambda locale, names: locale.setlocale(locale.LC_ALL, names)),
    "warnings": Setting("warnings", _filters, _set_filters),
    "recursion": Setting("sys", lambda sys: sys.getrecursionlimit(), lambda sys, limit: sys.setrecursionlimit(limit)),
    "digits": Setting("sys", lambda sys: sys.get_int_max_str_digits(),
                      lambda sys, digits: sys.set_int_max_str_digits(digits)),
    "timeout": Setting("socket", lambda socket: [socket.getdefaulttimeout()],
                       lambda socket, seconds: socket.setdefaulttimeout(*seconds)),
    "decimal": Setting("decimal", _decimal, _set_decimal, lambda _: _DECIMAL),
    "logging": Setting("logging", logging_settings.read, logging_settings.write,
                       left_out=logging_settings.left_out),
    "random": Setting("random", lambda random: random.getstate(), lambda random, state: random.setstate(state)),
    "numpy": Setting("numpy.random", lambda random: random.get_state(), lambda random, state: random.set_state(state)),
    "printing": Setting("numpy", lambda numpy: numpy.get_printoptions(),
                        lambda numpy, options: numpy.set_printoptions(**options), lambda _: _PRINTING),
    "numpy errors": Setting("numpy", lambda numpy: numpy.geterr(), lambda numpy, kinds: numpy.seterr(**kinds),
                            lambda _: _NUMPY_ERRORS),
    "torch": Setting("torch", _torch, _set_torch),
    "torch options": Setting("torch", _torch_options, _set_torch_options, _usual_torch),
    "matplotlib": Setting("matplotlib", _matplotlib, lambda library, changed: library.rcParams.update(changed),
                          lambda library: library.rcParamsDefault),
    "pandas": Setting("pandas", _pandas, _set_pandas, _usual_pandas),
    "polars": Setting("polars", lambda polars: polars.Config.save(), lambda polars, text: polars.Config.load(text)),
    "sklearn": Setting("sklearn", lambda sklearn: sklearn.get_config(),
                       lambda sklearn, options: sklearn.set_config(**options), lambda _: _SKLEARN),
    "IPython": Setting("IPython", _ipython, _set_ipython,
                       lambda _: {"xmode": "Context", "precision": "", "aliases": []}),
}


def left_out() -> list[str]:
    """Settings of this process that another one will not have."""
    named = (setting.left_out(setting.module) for setting in SETTINGS.values() if setting.module is not None)
    return [name for names in named for name in names]
