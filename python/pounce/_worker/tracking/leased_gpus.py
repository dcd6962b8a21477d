"""``LeasedGpus``: how much a lease's GPUs compute and hold, as NVIDIA's driver says it (NVML).

The library is opened on first use. Where it is absent, or an older one, there are no figures. Names and layouts are
those of the NVML API reference; src/device/nvml.cc has the same.
"""

from __future__ import annotations

import ctypes
from typing import Any

_LIBRARY = "libnvidia-ml.so.1"
_MB = 1e6


class _Utilization(ctypes.Structure):  # nvmlUtilization_t
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):  # nvmlMemory_v2_t; `used` excludes what the driver reserves
    _fields_ = (("version", ctypes.c_uint), ("total", ctypes.c_ulonglong), ("reserved", ctypes.c_ulonglong),
                ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


_MEMORY_VERSION = ctypes.sizeof(_Memory) | 2 << 24


class LeasedGpus:
    """`visible`: CUDA_VISIBLE_DEVICES of the worker ("0,2", "GPU-…" or "MIG-…")."""

    def __init__(self, visible: str, library: str = _LIBRARY):
        self._visible = [word for word in visible.split(",") if word]
        self._library = library
        self._driver: Any = None
        self._devices: list[ctypes.c_void_p] | None = None  # None: the driver was not asked yet

    def look(self) -> dict[str, float]:
        """Under MLflow's names. A slice of a GPU tells its memory alone."""
        if self._devices is None:
            self._devices = self._opened() if self._visible else []
        found = dict[str, float]()
        for number, device in enumerate(self._devices):
            use, memory, power = _Utilization(), _Memory(version=_MEMORY_VERSION), ctypes.c_uint()
            if self._answers("nvmlDeviceGetUtilizationRates", device, ctypes.byref(use)):
                found[f"gpu_{number}_utilization_percentage"] = use.gpu
            if self._answers("nvmlDeviceGetMemoryInfo_v2", device, ctypes.byref(memory)) and memory.total:
                found[f"gpu_{number}_memory_usage_megabytes"] = memory.used / _MB
                found[f"gpu_{number}_memory_usage_percentage"] = 100 * memory.used / memory.total
            if self._answers("nvmlDeviceGetPowerUsage", device, ctypes.byref(power)):
                found[f"gpu_{number}_power_usage_watts"] = power.value / 1000
        return found

    def _opened(self) -> list[ctypes.c_void_p]:
        try:
            self._driver = ctypes.CDLL(self._library)
        except OSError:
            return []
        if not self._answers("nvmlInit_v2"):
            return []
        devices = []
        for word in self._visible:
            device, function, name = ctypes.c_void_p(), "nvmlDeviceGetHandleByUUID", word.encode()
            if word.isdigit():
                function, name = "nvmlDeviceGetHandleByIndex_v2", int(word)  # type: ignore[assignment]
            if self._answers(function, name, ctypes.byref(device)):
                devices.append(device)
        return devices

    def _answers(self, function: str, *arguments: Any) -> bool:
        call = getattr(self._driver, function, None)
        return call is not None and call(*arguments) == 0
