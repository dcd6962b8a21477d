"""Options of torch, and the states of its generators."""

from __future__ import annotations

import contextlib
import os
from typing import Any

_PRINT_OPTIONS = "_tensor_str"  # torch's options of printing are not public
_SIBLINGS = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"


def generators(torch: Any) -> dict[str, Any]:
    """The states of its generators."""
    cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
    return {"cpu": torch.get_rng_state().numpy(),
            "cuda": [state.numpy() for state in torch.cuda.get_rng_state_all()] if cuda else []}


def set_generators(torch: Any, saved: dict[str, Any]) -> None:
    torch.set_rng_state(torch.from_numpy(saved["cpu"]))
    for device, state in enumerate(saved["cuda"][: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(torch.from_numpy(state), device)
    write(torch, saved)  # an older pounce saved some with it


def read(torch: Any) -> dict[str, Any]:
    printing, cudnn = vars(getattr(torch, _PRINT_OPTIONS).PRINT_OPTS), torch.backends.cudnn
    return {"dtype": torch.get_default_dtype(), "grad": torch.is_grad_enabled(),
            "deterministic": torch.are_deterministic_algorithms_enabled(),
            "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
            "matmul": torch.get_float32_matmul_precision(), "benchmark": cudnn.benchmark,
            "cudnn deterministic": cudnn.deterministic, "anomalies": torch.is_anomaly_enabled(),
            "threads": torch.get_num_threads(), **{f"print {name}": value for name, value in printing.items()}}


def usual(torch: Any) -> dict[str, Any]:
    return {"dtype": torch.float32, "grad": True, "deterministic": False, "warn_only": False, "matmul": "highest",
            "benchmark": False, "cudnn deterministic": False, "anomalies": False, "threads": _usual_threads(torch),
            "print precision": 4, "print threshold": 1000, "print edgeitems": 3, "print linewidth": 80,
            "print sci_mode": None}


def _usual_threads(torch: Any) -> int:
    """The number with which torch starts here; another machine starts with another one."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        with contextlib.suppress(ValueError):
            return int(os.environ.get(name, ""))
    processors = os.sched_getaffinity(0)
    return len(_cores(processors)) if torch.backends.mkl.is_available() else len(processors)


def _cores(processors: set[int]) -> set[str]:
    """Those of one core have the same siblings."""
    try:
        return {_text_of(_SIBLINGS.format(processor)) for processor in processors}
    except OSError:
        return {str(processor) for processor in processors}


def _text_of(path: str) -> str:
    with open(path) as file:
        return file.read()


def write(torch: Any, saved: dict[str, Any]) -> None:
    for name, setter in _setters(torch).items():
        if name in saved:
            setter(saved[name])
    if "deterministic" in saved or "warn_only" in saved:
        now = read(torch) | saved
        torch.use_deterministic_algorithms(now["deterministic"], warn_only=now["warn_only"])
    for name, value in saved.items():
        if name.startswith("print "):
            setattr(getattr(torch, _PRINT_OPTIONS).PRINT_OPTS, name[len("print "):], value)


def _setters(torch: Any) -> dict[str, Any]:
    cudnn = torch.backends.cudnn
    return {"dtype": torch.set_default_dtype, "grad": torch.set_grad_enabled,
            "matmul": torch.set_float32_matmul_precision, "threads": torch.set_num_threads,
            "anomalies": torch.autograd.set_detect_anomaly,
            "benchmark": lambda value: setattr(cudnn, "benchmark", value),
            "cudnn deterministic": lambda value: setattr(cudnn, "deterministic", value)}
