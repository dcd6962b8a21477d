"""Settings of a process that no variable holds: a table with a row for each kind, of Python and of libraries.

A row reads a setting as a value that can be pickled, and writes it in another process. What cannot travel is named by
the row's `left_out`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from . import here, logging_settings


class Setting(NamedTuple):
    """Read and written with the imported `library`; of Python itself, with the module that has it."""

    library: str
    read: Callable[[Any], Any]  # None: nothing to keep
    write: Callable[[Any, Any], Any]
    left_out: Callable[[Any], Iterable[str]] = lambda library: ()

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


# ---- Python ----

def _umask(_: Any) -> int | None:
    """Not by os.umask(), which would change the mask of files that another thread makes meanwhile."""
    with open("/proc/self/status") as status:
        return next((int(line.split()[1], 8) for line in status if line.startswith("Umask:")), None)


def _set_filters(library: Any, filters: list[Any]) -> None:
    library.filters[:] = filters
    getattr(library, "_filters_mutated", lambda: None)()


_CONTEXT = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def _decimal(library: Any) -> dict[str, Any]:
    context = library.getcontext()
    traps = [signal.__name__ for signal, is_set in context.traps.items() if is_set]
    return {name: getattr(context, name) for name in _CONTEXT} | {"traps": traps}


def _set_decimal(library: Any, saved: dict[str, Any]) -> None:
    context = library.getcontext()
    for name in _CONTEXT:
        setattr(context, name, saved[name])
    for signal in context.traps:
        context.traps[signal] = signal.__name__ in saved["traps"]


# ---- libraries ----

# Neither pandas' defaults nor torch's options of printing are public.
_REGISTERED, _DEPRECATED, _PRINTING = "_registered_options", "_deprecated_options", "_tensor_str"


def _torch(torch: Any) -> dict[str, Any]:
    cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
    return {"cpu": torch.get_rng_state().numpy(),
            "cuda": [state.numpy() for state in torch.cuda.get_rng_state_all()] if cuda else [],
            "dtype": torch.get_default_dtype(), "deterministic": torch.are_deterministic_algorithms_enabled(),
            "grad": torch.is_grad_enabled()}


def _set_torch(torch: Any, saved: dict[str, Any]) -> None:
    torch.set_rng_state(torch.from_numpy(saved["cpu"]))
    torch.set_default_dtype(saved["dtype"])
    torch.use_deterministic_algorithms(saved["deterministic"])
    torch.set_grad_enabled(saved["grad"])
    for device, state in enumerate(saved["cuda"][: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(torch.from_numpy(state), device)


def _torch_options(torch: Any) -> dict[str, Any]:
    return {"matmul": torch.get_float32_matmul_precision(), "benchmark": torch.backends.cudnn.benchmark,
            "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
            "printing": dict(vars(getattr(torch, _PRINTING).PRINT_OPTS))}


def _set_torch_options(torch: Any, saved: dict[str, Any]) -> None:
    torch.set_float32_matmul_precision(saved["matmul"])
    torch.backends.cudnn.benchmark = saved["benchmark"]
    torch.use_deterministic_algorithms(torch.are_deterministic_algorithms_enabled(), warn_only=saved["warn_only"])
    torch.set_printoptions(**saved["printing"])


def _matplotlib(library: Any) -> Any:
    now, usual = library.rcParams, library.rcParamsDefault
    changed = {name: now[name] for name in now if name != "backend" and now[name] != usual.get(name)}
    return changed or None


def _pandas(pandas: Any) -> Any:
    config = importlib.import_module("pandas._config.config")
    known: dict[str, Any] = getattr(config, _REGISTERED)
    deprecated: dict[str, Any] = getattr(config, _DEPRECATED)
    now = {name: pandas.get_option(name) for name in known if name not in deprecated}
    return {name: value for name, value in now.items() if value != known[name].defval} or None


def _set_pandas(pandas: Any, options: dict[str, Any]) -> None:
    for name, value in options.items():
        pandas.set_option(name, value)


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
    shell.InteractiveTB.set_mode(saved["xmode"])
    _text_formatter(shell).float_precision = saved["precision"]
    for name, line in saved["aliases"]:
        shell.alias_manager.define_alias(name, line)


def _text_formatter(shell: Any) -> Any:
    return shell.display_formatter.formatters["text/plain"]


# Where the values of a row refer to those of another, it stands behind that.
SETTINGS: dict[str, Setting] = {
    "folder": Setting("os", lambda _: here.folder(), lambda os, folder: os.chdir(folder)),
    "umask": Setting("os", _umask, lambda os, mask: os.umask(mask)),
    "locale": Setting("locale", lambda locale: locale.setlocale(locale.LC_ALL),
                      lambda locale, names: locale.setlocale(locale.LC_ALL, names)),
    "warnings": Setting("warnings", lambda warnings: list(warnings.filters), _set_filters),
    "recursion": Setting("sys", lambda sys: sys.getrecursionlimit(), lambda sys, limit: sys.setrecursionlimit(limit)),
    "digits": Setting("sys", lambda sys: sys.get_int_max_str_digits(),
                      lambda sys, digits: sys.set_int_max_str_digits(digits)),
    "timeout": Setting("socket", lambda socket: [socket.getdefaulttimeout()],
                       lambda socket, seconds: socket.setdefaulttimeout(*seconds)),
    "decimal": Setting("decimal", _decimal, _set_decimal),
    "logging": Setting("logging", logging_settings.read, logging_settings.write, logging_settings.left_out),
    "random": Setting("random", lambda random: random.getstate(), lambda random, state: random.setstate(state)),
    "numpy": Setting("numpy.random", lambda random: random.get_state(), lambda random, state: random.set_state(state)),
    "printing": Setting("numpy", lambda numpy: numpy.get_printoptions(),
                        lambda numpy, options: numpy.set_printoptions(**options)),
    "numpy errors": Setting("numpy", lambda numpy: numpy.geterr(), lambda numpy, kinds: numpy.seterr(**kinds)),
    "torch": Setting("torch", _torch, _set_torch),
    "torch options": Setting("torch", _torch_options, _set_torch_options),
    "matplotlib": Setting("matplotlib", _matplotlib, lambda library, changed: library.rcParams.update(changed)),
    "pandas": Setting("pandas", _pandas, _set_pandas),
    "polars": Setting("polars", lambda polars: polars.Config.save(), lambda polars, text: polars.Config.load(text)),
    "sklearn": Setting("sklearn", lambda sklearn: sklearn.get_config(),
                       lambda sklearn, options: sklearn.set_config(**options)),
    "IPython": Setting("IPython", _ipython, _set_ipython),
}
