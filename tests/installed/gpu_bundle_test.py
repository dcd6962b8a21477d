"""The archive for machines with GPUs, made and run where there is none: in an empty folder, with an empty environment."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from bare_user import ROOT
from conftest import BUILD, SYSTEMS, built_wheel

MOST_MIB = 60
LIMIT_S = 280


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("gpu") / "bundle.tar.gz"
    words = [ROOT / "tests" / "gpu" / "bundle", "--wheel", built_wheel(SYSTEMS), "--build", BUILD / "release", "--output", path]
    done = subprocess.run([sys.executable, *map(str, words)], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return path


@pytest.fixture
def bundle(archive, tmp_path) -> Path:
    subprocess.run(["tar", "-xzf", archive, "-C", tmp_path], check=True)
    return tmp_path / "pounce-gpu"


def run(bundle: Path, *words: str, **environment: str) -> subprocess.CompletedProcess:
    program = [sys.executable, str(bundle / "run"), *words]
    return subprocess.run(program, env=environment, cwd=bundle, capture_output=True, text=True, timeout=LIMIT_S)


def rows(said: str) -> dict[str, list[str]]:
    """The table at the end: what was found of each part, and the line about it."""
    _, _, table = said.partition("\n\n")
    cells = (re.split(r"  +", line, maxsplit=2) for line in table.partition("\n\n")[0].splitlines())
    return {part: found for part, *found in cells}


@pytest.mark.timeout(25 * 60)
def test_the_archive_is_not_larger_than_a_machine_takes(archive):
    assert archive.stat().st_size <= MOST_MIB << 20


def test_where_it_was_not_unpacked_it_says_what_to_do():
    """In a clone it ended in a traceback."""
    done = run(ROOT / "tests" / "gpu")

    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "make an archive with tests/gpu/bundle, unpack it, and run the one in it" in done.stderr


@pytest.mark.timeout(25 * 60)
def test_without_a_gpu_one_sentence_says_that_there_is_none(bundle):
    done = run(bundle, CUDA_VISIBLE_DEVICES="")

    assert done.returncode == 3, done.stdout + done.stderr
    assert re.fullmatch(r"There is no GPU to run on: [^\n]+[.]\n", done.stdout) and done.stderr == ""


@pytest.mark.timeout(25 * 60)
def test_all_parts_run_on_host_memory_in_an_empty_folder_with_an_empty_environment(bundle):
    done = run(bundle, "--host", "--mib", "64", "--page", str(bundle / "page.md"))

    found = rows(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(found) == 8
    others = {part for part, (verdict, _) in found.items() if verdict != "pass"}
    assert others <= {"the same under compute-sanitizer", "ResNet-18 offloaded"}, "the second needs torch"
    assert all(said for _, said in found.values())
    page = (bundle / "page.md").read_text()
    assert all(f"| {part} | {verdict} | {said} |" in page for part, (verdict, said) in found.items())


@pytest.mark.timeout(25 * 60)
def test_a_part_that_fails_is_told_and_is_the_exit_code(bundle):
    program = bundle / "programs" / "contract_device"
    program.write_text("#!/bin/sh\necho it is broken >&2; exit 9\n")

    done = run(bundle, "--host", "--mib", "16", "--only", "contract", "copies")

    assert done.returncode == 1, done.stdout + done.stderr
    found = rows(done.stdout)
    assert found["contract suite of devices"] == ["fail", "exit code 9: it is broken"]
    assert found["host ↔ device"][0] == "pass", "the others run all the same"


@pytest.mark.timeout(25 * 60)
def test_with_a_cuda_of_ours_in_the_place_of_nvidias_its_devices_are_measured_and_what_has_no_kernels_is_not_run(bundle):
    folder = bundle / "fake"
    folder.mkdir()
    for name, fake in (("libcudart.so.13", "libfake_cuda.so"), ("libnccl.so.2", "libfake_nccl.so")):
        (folder / name).symlink_to(bundle / "programs" / fake)

    parts = ("contract", "broadcast", "broadcast_all")
    done = run(bundle, "--mib", "16", "--only", *parts, LD_LIBRARY_PATH=str(folder), CUDA_VISIBLE_DEVICES="")

    found = rows(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    verdict, reason = found["contract suite of devices"]
    assert verdict == "not run" and reason, "it asks the build's own CUDA first"
    assert found["broadcast, one rank"] == ["pass", "16 MiB, 1 rank"]
    assert found["broadcast, all GPUs"][1].startswith("16 MiB, 4 ranks at ")
    assert (bundle / "fake-gpu.md").read_text().startswith("# Fake GPU\n")


SLOW = """#!/bin/sh
case "$2" in
devices) echo '[{"model": "Slow GPU", "driver": "1.0", "bytes": 1}]' ;;
copy) echo '{"right": true, "gigabytes_a_second":
  {"pinned_in": 10, "received": 9.1, "pinned_out": 10, "sent": 8.9, "written": 1, "read": 1}}' | tr -d '\\n' ;;
broadcast) echo '{"right": false, "bytes": 1048576, "ranks": 1, "gigabytes_a_second": 1}' ;;
esac
"""


@pytest.mark.timeout(25 * 60)
def test_a_missed_goal_and_wrong_bytes_are_failures_and_one_gpu_is_no_group(bundle):
    (bundle / "programs" / "device_speed").write_text(SLOW)

    done = run(bundle, "--only", "copies", "broadcast", "broadcast_all")

    found = rows(done.stdout)
    assert done.returncode == 1, done.stdout + done.stderr
    assert found["host ↔ device"][0] == "fail" and "back 8.9 GB/s, 0.89 ×" in found["host ↔ device"][1]
    assert found["broadcast, one rank"] == ["fail", "other bytes came back than were sent"]
    assert found["broadcast, all GPUs"] == ["not run", "one GPU"]


@pytest.mark.timeout(25 * 60)
def test_the_page_names_what_was_tested_and_where(bundle):
    run(bundle, "--host", "--mib", "16", "--only", "broadcast", "--page", str(bundle / "page.md"))

    page = (bundle / "page.md").read_text()
    made = json.loads((bundle / "bundle.json").read_text())
    assert page.startswith("# ") and f"| pounce | {made['commit']} |" in page and f"| Python | {sys.version.split()[0]} |" in page
