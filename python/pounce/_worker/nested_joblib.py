"""The joblib backend "pounce" on a worker: it does what joblib itself would do, since a worker leases nothing.

joblib is not imported for it: the backend is registered when the user's code imports joblib.
"""

from __future__ import annotations

import sys
from typing import Any

from .._common.after_import import AfterImport

_MODULE = "joblib.parallel"
_is_installed = False


def install() -> None:
    global _is_installed
    _is_installed = True
    AfterImport(_MODULE, lambda: _register(sys.modules[_MODULE]))


def is_installed() -> bool:
    return _is_installed


def _register(joblib: Any) -> None:
    def nested(nesting_level: int | None = None, inner_max_num_threads: int | None = None, **_: Any) -> Any:
        """joblib's default backend; threads inside its calls, and sequential inside those. Options for leases have no
        effect."""
        level = joblib.get_active_backend()[0].nesting_level if nesting_level is None else nesting_level
        name = _default(joblib) if not level else "threading" if level == 1 else "sequential"
        limit = {} if level else {"inner_max_num_threads": inner_max_num_threads}
        return joblib.BACKENDS[name](nesting_level=nesting_level, **limit)

    joblib.register_parallel_backend("pounce", nested)


def _default(joblib: Any) -> str:
    """A module of the user's may make "pounce" the default, here too."""
    if joblib.DEFAULT_BACKEND != "pounce":
        return str(joblib.DEFAULT_BACKEND)
    return "loky" if "loky" in joblib.BACKENDS else "threading"
