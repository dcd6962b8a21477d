"""What belongs to the process beside its variables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pounce._worker.state import blobs, process_state
from pounce._worker.state.problems import StateError
from state_folder import restorer_of, saved

PROCESS = """
import os, sys, random, warnings
sys.path.insert(0, sys.argv[1])
from pounce._worker.state import process_state
start = process_state.Baseline()
import numpy as np, torch, pandas as pd, matplotlib
def seen():
    return [os.getcwd(), os.environ.get("MINE"), os.environ.get("HOME"), sys.path[0], sys.path[-1], matplotlib.rcParams["lines.linewidth"],
            pd.get_option("display.max_rows"), str(torch.get_default_dtype()), np.get_printoptions()["precision"],
            ("ignore", None, UserWarning, None, 0) in warnings.filters, random.random(), np.random.rand(), torch.rand(1).item()]
if sys.argv[2] == "take":
    os.chdir("/usr"); os.environ["MINE"] = "1"; del os.environ["HOME"]; sys.path.insert(0, "/front"); sys.path.append("/behind")
    os.environ["POUNCE_SECRET"] = os.environ["SLURM_JOB_ID"] = "hidden"
    matplotlib.rcParams["lines.linewidth"] = 7; pd.set_option("display.max_rows", 9); torch.set_default_dtype(torch.float64)
    np.set_printoptions(precision=3); warnings.simplefilter("ignore", UserWarning)
    random.seed(4), np.random.seed(5), torch.manual_seed(6)
    data = process_state.taken(start)
    assert b"hidden" not in data and b"SLURM" not in data
    open(sys.argv[3], "wb").write(data)
else:
    assert process_state.Waiting(open(sys.argv[3], "rb").read()).put_back(["numpy", "torch", "matplotlib", "pandas"]) == {}
    assert "POUNCE_SECRET" not in os.environ
print(seen())
"""


def test_a_fresh_process_is_where_the_old_one_was_and_draws_the_same_numbers(tmp_path):
    site = str(Path(blobs.__file__).parents[3])
    shown = []
    for what in ("take", "put back"):
        done = subprocess.run([sys.executable, "-c", PROCESS, site, what, str(tmp_path / "process")], capture_output=True, text=True,
                              env={**os.environ, "HOME": "/root"}, cwd="/tmp")
        assert done.returncode == 0, done.stderr
        shown.append(done.stdout)

    assert shown[0] == shown[1] and "'/usr', '1', None, '/front', '/behind', 7.0, 9, 'torch.float64', 3, True" in shown[0]


def test_a_process_state_is_kept_with_the_names(folder):
    saver, _ = saved(folder, "l = [1]")
    saver.save(1, process=process_state.taken(process_state.Baseline()))
    restorer, _ = restorer_of(folder)

    assert process_state.Waiting(restorer.process()).put_back(["numpy", "torch", "matplotlib", "pandas"]) == {}


def test_a_gpu_that_is_not_here_is_an_error_with_words():
    torch = pytest.importorskip("torch")
    from pounce._worker.state import tensor_pickling

    there = torch.cuda.device_count()
    with pytest.raises(StateError, match=rf"It was on cuda:{there}, and this worker has {there} GPU"):
        tensor_pickling.own_storage(b"", 0, f"cuda:{there}")
