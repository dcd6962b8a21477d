"""The table of settings: a row for each kind."""

from __future__ import annotations

from ... import _core
from .. import here
from . import figures, loggers, mlflow_options, numerics, python, shell, torch_options
from .setting import Setting

GENERATORS = ("random", "numpy", "torch")  # rows of random numbers, which follow in a way of their own
RUNS = "mlflow runs"  # those that are active: a call has its own way to them (_worker/mlflow_runs.py)

SETTINGS: dict[str, Setting] = {
    "folder": Setting("os", lambda _: here.folder(), python.set_folder, is_quick=True),
    "umask": Setting("os", python.umask, lambda os, mask: os.umask(mask), fresh=lambda mask: mask == 0o022),
    "locale": Setting("locale", lambda locale: locale.setlocale(locale.LC_ALL),
                      lambda locale, names: locale.setlocale(locale.LC_ALL, names), fresh=python.is_locale_of_start,
                      is_quick=True, mark=lambda _: _core.locale_names()),
    "warnings": Setting("warnings", python.filters, python.set_filters,
                        fresh=lambda filters: filters == python.FILTERS, is_quick=True,
                        mark=lambda warnings: list(warnings.filters)),
    "recursion": Setting("sys", lambda sys: sys.getrecursionlimit(), lambda sys, limit: sys.setrecursionlimit(limit),
                         fresh=lambda limit: limit == 1000, is_quick=True),
    "digits": Setting("sys", lambda sys: sys.get_int_max_str_digits(),
                      lambda sys, digits: sys.set_int_max_str_digits(digits), fresh=lambda digits: digits == 4300,
                      is_quick=True),
    "timeout": Setting("socket", lambda socket: [socket.getdefaulttimeout()],
                       lambda socket, seconds: socket.setdefaulttimeout(*seconds), fresh=lambda value: value == [None],
                       is_quick=True),
    "decimal": Setting("decimal", python.decimal_context, python.set_decimal, lambda _: python.DECIMAL, is_quick=True),
    "logging": Setting("logging", loggers.read, loggers.write, left_out=loggers.left_out),
    "random": Setting("random", lambda random: random.getstate(), lambda random, state: random.setstate(state)),
    "numpy": Setting("numpy.random", lambda random: random.get_state(), lambda random, state: random.set_state(state)),
    "printing": Setting("numpy", lambda numpy: numpy.get_printoptions(),
                        numerics.set_printing, lambda _: numerics.PRINTING, is_quick=True),
    "numpy errors": Setting("numpy", lambda numpy: numpy.geterr(), lambda numpy, kinds: numpy.seterr(**kinds),
                            lambda _: numerics.NUMPY_ERRORS, is_quick=True),
    "torch": Setting("torch", torch_options.generators, torch_options.set_generators),
    "torch options": Setting("torch", torch_options.read, torch_options.write, torch_options.usual,
                             is_quick=True),
    "matplotlib": Setting("matplotlib", figures.matplotlib_options, figures.set_matplotlib, figures.usual_matplotlib,
                          left_out=figures.matplotlib_left_out),
    "pictures": Setting("matplotlib_inline.config", figures.pictures, figures.set_pictures, figures.usual_pictures),
    "plotly": Setting("plotly.io", figures.plotly_options, figures.set_plotly, lambda _: {"template": "plotly"}),
    "altair": Setting("altair", figures.altair_options, figures.set_altair, lambda _: figures.ALTAIR),
    "pandas": Setting("pandas", numerics.pandas_options, numerics.set_pandas, numerics.usual_pandas),
    "polars": Setting("polars", lambda polars: polars.Config.save(), lambda polars, text: polars.Config.load(text)),
    "sklearn": Setting("sklearn", lambda sklearn: sklearn.get_config(),
                       lambda sklearn, options: sklearn.set_config(**options), lambda _: numerics.SKLEARN,
                       is_quick=True),
    "xarray": Setting("xarray", lambda xarray: dict(xarray.get_options()),
                      lambda xarray, options: xarray.set_options(**options), lambda _: numerics.XARRAY, is_quick=True),
    "jax": Setting("jax", numerics.jax_options, numerics.set_jax, lambda _: numerics.JAX, is_quick=True),
    "IPython": Setting("IPython", shell.read, shell.write, lambda _: shell.usual(), left_out=shell.left_out),
    "mlflow": Setting("mlflow", mlflow_options.read, mlflow_options.write, lambda _: mlflow_options.USUAL,
                      at_once=mlflow_options.switch_on, is_quick=True),
    RUNS: Setting("mlflow", mlflow_options.runs, mlflow_options.set_runs, fresh=lambda runs: not runs),
    "interpreter": Setting("sys", lambda _: None, lambda sys, _: None, left_out=python.flags_left_out),
}


def left_out() -> dict[str, str]:
    """Settings of this process that another one will not have, and what to do instead."""
    named = (setting.left_out(setting.module) for setting in SETTINGS.values() if setting.module is not None)
    return dict(both for every in named for both in every)
