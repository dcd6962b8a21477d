"""Options of libraries for numbers and tables: numpy, pandas, xarray, scikit-learn, jax."""

from __future__ import annotations

import importlib
from typing import Any

# As they are in a fresh process: these libraries do not say it.
PRINTING = {"edgeitems": 3, "threshold": 1000, "floatmode": "maxprec", "precision": 8, "suppress": False,
            "linewidth": 75, "nanstr": "nan", "infstr": "inf", "sign": "-", "formatter": None, "legacy": False,
            "override_repr": None}
NUMPY_ERRORS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
SKLEARN = {"assume_finite": False, "working_memory": 1024, "print_changed_only": True, "display": "diagram",
           "pairwise_dist_chunk_size": 256, "enable_cython_pairwise_dist": True, "array_api_dispatch": False,
           "transform_output": "default", "enable_metadata_routing": False, "skip_parameter_validation": False,
           "sparse_interface": "spmatrix"}
XARRAY = {"arithmetic_broadcast": True, "arithmetic_compat": "minimal", "arithmetic_join": "inner",
          "chunk_manager": "dask", "cmap_divergent": "RdBu_r", "cmap_sequential": "viridis",
          "display_max_children": 12, "display_max_html_elements": 300, "display_max_rows": 12,
          "display_max_items": 20, "display_values_threshold": 200, "display_style": "html", "display_width": 80,
          **{f"display_expand_{part}": "default"
             for part in ("attrs", "coords", "data_vars", "data", "groups", "indexes")},
          "display_default_indexes": False, "enable_cftimeindex": True, "file_cache_maxsize": 128,
          "keep_attrs": "default", "netcdf_engine_order": ("netcdf4", "h5netcdf", "scipy"),
          "warn_for_unclosed_files": False, "use_bottleneck": False, "use_flox": True,
          "use_new_combine_kwarg_defaults": False, "use_numbagg": True, "use_opt_einsum": True,
          "facetgrid_figsize": "computed"}
# Which devices there are is the worker's own: jax_platforms and its like stay.
JAX = {"jax_enable_x64": False, "jax_debug_nans": False, "jax_debug_infs": False, "jax_disable_jit": False,
       "jax_default_matmul_precision": None, "jax_numpy_rank_promotion": "allow",
       "jax_numpy_dtype_promotion": "standard", "jax_default_prng_impl": "threefry2x32",
       "jax_threefry_partitionable": True, "jax_log_compiles": False, "jax_traceback_filtering": "auto",
       "jax_check_tracer_leaks": False, "jax_compilation_cache_dir": None, "jax_debug_key_reuse": False,
       "jax_enable_checks": False, "jax_explain_cache_misses": False}

_REGISTERED, _DEPRECATED = "_registered_options", "_deprecated_options"  # pandas' defaults are not public


def set_printing(numpy: Any, options: dict[str, Any]) -> None:
    """numpy forgets the formatter whenever other options are set."""
    numpy.set_printoptions(**{"formatter": numpy.get_printoptions()["formatter"], **options})


def _pandas_config() -> tuple[dict[str, Any], dict[str, Any]]:
    config = importlib.import_module("pandas._config.config")
    return getattr(config, _REGISTERED), getattr(config, _DEPRECATED)


def pandas_options(pandas: Any) -> dict[str, Any]:
    known, deprecated = _pandas_config()
    return {name: pandas.get_option(name) for name in known if name not in deprecated}


def usual_pandas(pandas: Any) -> dict[str, Any]:
    return {name: option.defval for name, option in _pandas_config()[0].items()}


def set_pandas(pandas: Any, options: dict[str, Any]) -> None:
    for name, value in options.items():
        pandas.set_option(name, value)


def jax_options(jax: Any) -> dict[str, Any]:
    now = {name: getattr(jax.config, name, usual) for name, usual in JAX.items()}
    return {name: getattr(value, "value", value) for name, value in now.items()}  # some are enums of texts


def set_jax(jax: Any, options: dict[str, Any]) -> None:
    for name, value in options.items():
        jax.config.update(name, value)
