"""pounce-slurm compiles with the headers of each release of Slurm whose sources are at hand."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(os.environ.get("POUNCE_SLURM_SOURCES") or ROOT.parent / "shared" / "slurm-sources")
RELEASES = sorted(SOURCES.glob("slurm-*.tar.xz"))


def headers_of(release: Path, folder: Path) -> Path:
    """As `make install` would leave them: one of them is made by configure."""
    (folder / "slurm").mkdir()
    with tarfile.open(release) as archive:
        for member in archive:
            if re.fullmatch(r"[^/]+/slurm/[^/]+\.h(\.in)?", member.name):
                (folder / "slurm" / Path(member.name).name).write_bytes(archive.extractfile(member).read())
    major, minor, micro = (int(number) for number in re.search(r"slurm-(\d+)-(\d+)-(\d+)", release.name).groups())
    version = (folder / "slurm" / "slurm_version.h.in").read_text()
    number = f"#define SLURM_VERSION_NUMBER 0x{major:02x}{minor:02x}{micro:02x}"
    (folder / "slurm" / "slurm_version.h").write_text(re.sub(r"#undef SLURM_VERSION_NUMBER", number, version))
    return folder


@pytest.mark.skipif(not RELEASES, reason=f"there are no sources of Slurm in {SOURCES}")
@pytest.mark.skipif(not os.environ.get("POUNCE_LONG_RUN"), reason="takes a minute: tests/run --long runs it")
@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name.removesuffix(".tar.xz"))
def test_pounce_slurm_compiles_with_the_headers_of(release, tmp_path):
    """25.11 and 26.05 have what a node gives to jobs in the node itself, and no longer the names for asking."""
    headers = headers_of(release, tmp_path)
    words = ["c++", "-std=c++20", "-fsyntax-only", "-DSPDLOG_FMT_EXTERNAL", "-DFMT_SHARED", "-DPOUNCE_SLURM_API_MAJOR=0", f"-I{headers}",
             *(f"-I{ROOT / folder}" for folder in ("include", "src", "daemon"))]
    files = sorted((ROOT / "daemon" / "pounce-slurm").glob("*.cc"))

    with ThreadPoolExecutor(os.cpu_count()) as at_once:
        compiled = list(at_once.map(lambda file: subprocess.run([*words, file], capture_output=True, text=True, check=False), files))

    assert len(files) > 20 and [f"{file.name}: {done.stderr[:500]}" for file, done in zip(files, compiled, strict=True) if done.returncode] == []
