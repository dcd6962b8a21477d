"""The driver's library that stands in for NVIDIA's (fake_nvml.cc), for processes that find it by the loader's path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BUILD = Path(os.environ.get("POUNCE_BUILD_DIR", Path(__file__).resolve().parents[2] / "build" / "release"))


class FakeDriver:
    """Two GPUs, "0" and "1": GPU-first and GPU-second. Its `environment` makes a process find it."""

    def __init__(self, folder: Path):
        library = _BUILD / "tests" / "libfake_nvml.so"
        if not library.exists():
            pytest.skip(f"no {library}: build the tests, or set POUNCE_BUILD_DIR to a build folder")
        self.folder = folder / "driver"
        self.folder.mkdir()
        (self.folder / "libnvidia-ml.so.1").symlink_to(library)
        self.environment = {"LD_LIBRARY_PATH": str(self.folder)}

    def report(self, gpu: int, xid: int) -> None:
        """As a driver does that keeps it for whoever asked for reports."""
        fresh = self.folder / "new"
        fresh.write_text(str(xid))
        fresh.rename(self.folder / f"xid-{gpu}")

    def lose(self, gpu: int) -> None:
        (self.folder / f"lost-{gpu}").touch()

    def hang(self) -> None:
        (self.folder / "hang").touch()
