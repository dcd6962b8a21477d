"""What belongs to the process beside its variables."""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from pounce._common.settings import SETTINGS as TABLE
from pounce._common.settings import left_out
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


LIBRARIES = [name for name, setting in TABLE.items() if setting.package not in sys.stdlib_module_names]

# Each row: what a cell runs, and what shows it in the next worker.
SETTINGS = {
    "umask": ("os.umask(0o027)", "oct(os.umask(0o027))"),
    "time zone": ("os.environ['TZ'] = 'Asia/Tokyo'; time.tzset()", "time.strftime('%z', time.localtime(0))"),
    "locale": ("locale.setlocale(locale.LC_NUMERIC, 'C.UTF-8')", "locale.setlocale(locale.LC_NUMERIC)"),
    "recursion limit": ("sys.setrecursionlimit(4321)", "sys.getrecursionlimit()"),
    "digits of an int": ("sys.set_int_max_str_digits(9876)", "sys.get_int_max_str_digits()"),
    "timeout of sockets": ("socket.setdefaulttimeout(7.5)", "socket.getdefaulttimeout()"),
    "decimal": ("decimal.getcontext().prec = 7; decimal.getcontext().traps[decimal.Inexact] = True",
                "decimal.getcontext().prec, decimal.getcontext().traps[decimal.Inexact]"),
    "a warning's filter": ("warnings.filterwarnings('ignore', message='not this')",
                           "[one[0] for one in warnings.filters if one[1] and one[1].pattern == 'not this']"),
    "level of the root logger": ("logging.getLogger().setLevel('DEBUG')", "logging.getLogger().level"),
    "level of a library's logger": ("logging.getLogger('numpy').setLevel(35)", "logging.getLogger('numpy').level"),
    "a handler that prints": (
        "logging.basicConfig(format='%(levelname)s|%(message)s', level=logging.INFO, stream=sys.stdout)",
        "[(type(one).__name__, one.stream is sys.stdout, one.formatter._fmt) for one in logging.root.handlers]"),
    "a handler that writes a file": (
        "own = logging.getLogger('mine'); own.addHandler(logging.FileHandler('own.log', mode='w')); own.error('first')",
        "logging.getLogger('mine').error('last'), os.path.exists('own.log') and "
        "[line.strip() for line in open('own.log')][:2]"),
    "numpy's errors": ("import numpy; numpy.seterr(divide='raise')", "numpy.geterr()['divide']"),
    "numpy's printing": ("import numpy; numpy.set_printoptions(precision=2)", "numpy.array([1 / 3])"),
    "torch's printing": ("import torch; torch.set_printoptions(precision=2)", "torch.tensor([1 / 3])"),
    "torch's products": ("import torch; torch.set_float32_matmul_precision('medium')",
                         "torch.get_float32_matmul_precision()"),
    "torch's default type": ("import torch; torch.set_default_dtype(torch.float64)", "torch.zeros(1).dtype"),
    "torch's determinism": ("import torch; torch.use_deterministic_algorithms(True, warn_only=True)",
                            "torch.is_deterministic_algorithms_warn_only_enabled()"),
    "pandas": ("import pandas; pandas.set_option('display.precision', 2)", "pandas.get_option('display.precision')"),
    "matplotlib": ("import matplotlib; matplotlib.rcParams['axes.grid'] = True", "matplotlib.rcParams['axes.grid']"),
    "polars": ("import polars; polars.Config.set_tbl_rows(3)", "polars.Config.state(if_set=True).get('POLARS_FMT_MAX_ROWS')"),
    "scikit-learn": ("import sklearn; sklearn.set_config(transform_output='pandas')",
                     "sklearn.get_config()['transform_output']"),
    "IPython's precision": ("get_ipython().run_line_magic('precision', '3')", "get_ipython().display_formatter.format(1 / 3)"),
    "IPython's tracebacks": ("get_ipython().run_line_magic('xmode', 'Minimal')", "get_ipython().InteractiveTB.mode"),
    "an alias": ("get_ipython().run_line_magic('alias', 'greet echo hello')",
                 "get_ipython().alias_manager.get_alias('greet')"),
}

WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
import contextlib, decimal, json, locale, logging, os, socket, time, warnings
from IPython.core.interactiveshell import InteractiveShell
get_ipython = InteractiveShell.instance
get_ipython()
from pounce._worker.state import process_state
start, names, rows = process_state.Baseline(), {**globals()}, json.loads(sys.argv[3])
if sys.argv[2] == "first":
    usual = {row: "" if "import" in change else repr(eval(look, names)) for row, (change, look) in rows.items()}
    for change, _ in rows.values():
        exec(change, names)
    with open("process", "wb") as file:
        file.write(process_state.taken(start))
else:
    for change, _ in rows.values():
        exec(change.partition(";")[0] if change.startswith("import") else "", names)
    assert process_state.Waiting(open("process", "rb").read()).put_back() == {}
    usual = {}
print(json.dumps({row: [usual.get(row), repr(eval(look, names))] for row, (_, look) in rows.items()}))
"""


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory):
    """What the rows show as usual, in the worker that sets them, and in the next one."""
    folder, site, seen = tmp_path_factory.mktemp("workers"), str(Path(blobs.__file__).parents[3]), []
    for which in ("first", "next"):
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", WORKER, site, which, json.dumps(SETTINGS)],
                              capture_output=True, text=True, cwd=folder)
        assert done.returncode == 0, done.stderr
        seen.append(json.loads(done.stdout.splitlines()[-1]))
    return {row: (*seen[0][row], seen[1][row][1]) for row in SETTINGS}


@pytest.mark.xdist_group("settings")
@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: row.replace(" ", "-"))
def test_a_setting_is_there_in_the_next_process(row, two_workers):
    usual, first, following = two_workers[row]

    assert following == first != usual


def test_nothing_is_kept_of_settings_that_are_as_they_were():
    start = process_state.Baseline()

    assert pickle.loads(process_state.taken(start)).keys() <= {"random", "numpy", "torch", *LIBRARIES}


def test_a_handler_that_cannot_be_made_again_is_named():
    class Mine(logging.Handler):
        pass

    handler = Mine()
    logging.root.addHandler(handler)
    try:
        assert "the handler Mine of the logger root" in left_out()
    finally:
        logging.root.removeHandler(handler)


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
