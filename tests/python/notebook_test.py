"""The example notebooks run; the first one's promise that its kernel never touches a GPU, and that a touch would be noticed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "examples" / "01_offload_training" / "offload.ipynb"
TOUCH = """
try:
    torch.cuda._lazy_init()
except RuntimeError as refused:
    print(refused)
"""


def cell(beginning: str) -> str:
    """The one code cell that has this text."""
    cells = ["".join(c["source"]) for c in json.loads(NOTEBOOK.read_text())["cells"] if c["cell_type"] == "code"]
    (found,) = [source for source in cells if beginning in source]
    return found


def program(planted: str) -> str:
    return "\n".join([cell("cuda_calls = []"), cell("client = pounce.Client("), planted, cell("/proc/self/maps")])


@pytest.fixture(autouse=True)
def needs_torch():
    pytest.importorskip("torch")


def test_a_kernel_that_keeps_its_hands_off_passes_the_last_cell(home):
    home.run(program(""))


def test_a_planted_cuda_call_fails_the_last_cell(home):
    run = home.run(program(TOUCH), code=1)

    assert "the notebook's kernel touched CUDA" in run.stdout and "AssertionError" in run.stderr


def test_a_loaded_cuda_library_fails_the_last_cell(home):
    library = home.folder / "libcuda.so.1"
    plant = f"""
import ctypes, shutil, glob
shutil.copy(glob.glob("/lib/*-linux-gnu/libm.so.6")[0], "{library}")
ctypes.CDLL("{library}")
"""
    run = home.run(program(plant), code=1)

    assert "AssertionError" in run.stderr


def in_long_runs(example, reason):
    return pytest.param(example, marks=pytest.mark.skipif(not os.environ.get("POUNCE_LONG_RUN"), reason=f"ten seconds of a processor; {reason}"))


@pytest.mark.parametrize("example", ["02_many_small/many_small", "03_overlap/overlap", "04_many_resources/many_resources",
                                     "05_the_cell/the_cell", "07_leave_and_come_back/leave_and_come_back", "08_pool/pool",
                                     in_long_runs("13_mlerp_dask/mlerp_dask", "compat_dask_test.py has the same calls"),
                                     in_long_runs("15_sklearn_joblib/sklearn_joblib", "compat_joblib_test.py has the same search"),
                                     "16_come_back/come_back", "17_widgets/widgets"])
def test_the_small_examples_run_to_their_end(home, example):
    runs_to_its_end(home, example)


def test_the_example_with_optuna_runs_to_its_end(home):
    pytest.importorskip("optuna")
    runs_to_its_end(home, "09_optuna/optuna_study")


@pytest.mark.parametrize("example", ["10_ddp/ddp", in_long_runs("11_chtc_port/chtc_port", "tests/slurm/gang_test.py starts the same torchrun")])
def test_the_examples_of_a_gang_run_to_their_end(home, example):
    pytest.importorskip("torch")
    runs_to_its_end(home, example)


def runs_to_its_end(home, example):
    saved = home.folder / "executed.ipynb"
    mine = shutil.copy(ROOT / "examples" / f"{example}.ipynb", home.folder)  # what it writes beside itself is not the tree's
    words = [sys.executable, ROOT / "packaging" / "run_notebook.py", mine, "--output", saved]

    done = subprocess.run(words, env=home.environment, capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stdout
    outputs = [output for cell in json.loads(saved.read_text())["cells"] for output in cell.get("outputs", ())]
    planned = [cell for cell in json.loads(saved.read_text())["cells"] if "raises-exception" in cell["metadata"].get("tags", ())]
    errors = [output for output in outputs if output["output_type"] == "error"]
    assert outputs and len(errors) == len(planned)
