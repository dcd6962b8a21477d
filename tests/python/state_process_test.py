"""What belongs to the process beside its variables."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from pounce._common.settings.setting import packed, pickled
from pounce._common.settings.table import SETTINGS as TABLE
from pounce._common.settings.table import left_out
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
    "IPython's precision": ("get_ipython().run_line_magic('precision', '3')", "get_ipython().display_formatter.formatters['text/plain'].float_format"),
    "IPython's tracebacks": ("get_ipython().run_line_magic('xmode', 'Minimal')", "get_ipython().InteractiveTB.mode"),
    "an alias": ("get_ipython().run_line_magic('alias', 'greet echo hello')",
                 "get_ipython().alias_manager.get_alias('greet')"),
    "what a cell shows": ("get_ipython().ast_node_interactivity = 'last_expr_or_assign'",
                          "get_ipython().ast_node_interactivity"),
    "printing of values": ("get_ipython().run_line_magic('pprint', 'off')",
                           "get_ipython().display_formatter.formatters['text/plain'].pprint"),
    "automagic": ("get_ipython().run_line_magic('automagic', 'off')", "get_ipython().automagic"),
    "a feature of the future": ("get_ipython().compile('from __future__ import annotations', 'cell', 'exec')",
                                "get_ipython().compile.flags & __import__('__future__').annotations.compiler_flag"),
    "a line's magic": ("from IPython.core.magic import register_line_magic\n"
                       "@register_line_magic\ndef shout(line): return line.upper()",
                       "get_ipython().find_line_magic('shout') and get_ipython().run_line_magic('shout', 'a')"),
    "a cell's magic": ("from IPython.core.magic import register_cell_magic\n"
                       "@register_cell_magic\ndef twice(line, cell): return cell * 2",
                       "get_ipython().find_cell_magic('twice') and get_ipython().run_cell_magic('twice', '', 'a')"),
    "a class of magics": ("from IPython.core.magic import Magics, line_magic, magics_class\n@magics_class\nclass Own(Magics):\n"
                          "    @line_magic\n    def whisper(self, line): return line.lower()\nget_ipython().register_magics(Own)",
                          "get_ipython().find_line_magic('whisper') and get_ipython().run_line_magic('whisper', 'A')"),
    "a formatter": ("get_ipython().display_formatter.formatters['text/html'].for_type(complex, lambda value: f'<b>{value}</b>')",
                    "get_ipython().display_formatter.format(1j)[0].get('text/html')"),
    "torch's threads": ("import torch; torch.set_num_threads(7)", "torch.get_num_threads()"),
    "torch's anomalies": ("import torch; torch.autograd.set_detect_anomaly(True)", "torch.is_anomaly_enabled()"),
    "cudnn's determinism": ("import torch; torch.backends.cudnn.deterministic = True", "torch.backends.cudnn.deterministic"),
    "a function that prints numbers": ("import numpy; numpy.set_printoptions(formatter={'complexfloat': lambda one: 'one'})",
                                       "str(numpy.array([1j]))"),
    "matplotlib's style": ("import matplotlib.style; matplotlib.style.use('ggplot')", "matplotlib.rcParams['axes.facecolor']"),
    "matplotlib's backend": ("import matplotlib; matplotlib.use('svg')", "matplotlib.rcParams['backend'].lower() == 'svg'"),
    "formats of figures": (
        "import matplotlib.figure, matplotlib_inline.backend_inline; matplotlib_inline.backend_inline.set_matplotlib_formats('svg')",
        "matplotlib.figure.Figure in get_ipython().display_formatter.formatters['image/svg+xml'].type_printers"),
    "how figures are saved": (
        "import matplotlib_inline.config; "
        "matplotlib_inline.config.InlineBackend.instance(parent=get_ipython()).print_figure_kwargs = {'dpi': 33}",
        "matplotlib_inline.config.InlineBackend.instance(parent=get_ipython()).print_figure_kwargs"),
    "seaborn": ("import seaborn; seaborn.set_theme(style='darkgrid')", "matplotlib.colors.to_hex('b')"),
    "pandas' plots": ("import plotly.express, pandas; pandas.set_option('plotting.backend', 'plotly')",
                      "pandas.get_option('plotting.backend')"),
    "xarray": ("import xarray; xarray.set_options(display_max_rows=5)", "xarray.get_options()['display_max_rows']"),
    "jax": ("import jax; jax.config.update('jax_enable_x64', True)", "jax.config.jax_enable_x64"),
    "plotly": ("import plotly.io, plotly.graph_objects; plotly.io.templates['mine'] = plotly.graph_objects.layout.Template(layout={'height': 321}); "
               "plotly.io.templates.default = 'mine'",
               "plotly.io.templates.default in plotly.io.templates and plotly.io.templates[plotly.io.templates.default].layout.height"),
    "altair's rows": ("import altair; altair.data_transformers.enable(max_rows=9)", "altair.data_transformers.options"),
    "altair's theme": ("import altair; altair.theme.register('own', enable=True)(lambda: altair.theme.ThemeConfig({'height': 77}))",
                       "altair.theme.get()().get('height')"),
}



def lacks(change: str) -> str:
    """The library that a row needs and that is not installed here; empty: there is none."""
    imports = change.partition(";")[0].removeprefix("import ") if change.startswith("import ") else ""
    return next((name for name in filter(None, imports.split(", ")) if importlib.util.find_spec(name.partition(".")[0]) is None), "")


def with_reasons(rows: dict) -> list:
    reasons = {row: f"{lacks(change)} is not installed" if lacks(change) else "" for row, (change, _) in rows.items()}
    return [pytest.param(row, marks=pytest.mark.skipif(bool(reason), reason=reason), id=row.replace(" ", "-"))
            for row, reason in reasons.items()]


def installed(rows: dict) -> dict:
    return {row: both for row, both in rows.items() if not lacks(both[0])}


WORKER = """
import os, sys
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
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
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", WORKER, site, which, json.dumps(installed(SETTINGS))],
                              capture_output=True, text=True, cwd=folder)
        assert done.returncode == 0, done.stderr
        seen.append(json.loads(done.stdout.splitlines()[-1]))
    return {row: (*seen[0][row], seen[1][row][1]) for row in installed(SETTINGS)}


@pytest.mark.xdist_group("settings")
@pytest.mark.parametrize("row", with_reasons(SETTINGS))
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


def test_options_that_cannot_be_pickled_or_read_cost_no_others_and_are_named():
    problems: dict[str, str] = {}
    data = packed({"xmode": "Context", "line magic bad": (one for one in "")}, problems)
    waiting = process_state.Waiting(pickle.dumps({"decimal": packed({"prec": 30, "rounding": 5}, {}), "environment": data}, 5))

    assert list(problems) == ["line magic bad"] and "generator" in problems["line magic bad"]
    assert list(waiting.put_back()) == ["decimal rounding"]


def test_what_a_cell_sets_to_what_its_worker_was_started_with_is_saved_too(monkeypatch, tmp_path):
    """The next worker may be started with another value: the notebook's at that time."""
    monkeypatch.setenv("SET_BACK", "at first")
    monkeypatch.chdir(tmp_path)
    started = process_state.Baseline()
    waiting = process_state.Waiting(pickle.dumps({"environment": packed({"SET_BACK": "of the notebook"}, {}), "folder": pickled("/")}, 5))
    waiting.put_back()
    monkeypatch.setenv("SET_BACK", "at first")
    os.chdir(tmp_path)

    saved = pickle.loads(process_state.taken(started, waiting))

    assert pickle.loads(saved["environment"])["SET_BACK"] == "at first" and pickle.loads(saved["folder"]) == str(tmp_path)


def test_an_extension_that_the_worker_lacks_is_named_with_how_to_install_it_and_waits_for_it():
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
    shell.instance()
    try:
        waiting = process_state.Waiting(pickle.dumps({"IPython": packed({"extension not_there": "not_there"}, {})}, 5))
        failed = waiting.put_back()
    finally:
        shell.clear_instance()

    assert failed == {"IPython extension not_there": "this worker has no module not_there; "
                      "%pip install not_there in a %%pounce cell installs it"}
    assert list(waiting.parts) == ["IPython"]


LATER = """
import sys
sys.path.insert(0, sys.argv[1])
from pounce._common.cell_protocol import SettingsChange
from pounce._common.settings.setting import pickled
from pounce._worker.cell.saved_namespace import SavedNamespace
SavedNamespace({}, (), "", None).follow(SettingsChange("kernel", 0, 1, {"sklearn": {"working_memory": (1, pickled(77))}}))
assert "sklearn" not in sys.modules
import sklearn
assert sklearn.get_config()["working_memory"] == 77
"""


def test_a_library_that_a_cell_imports_has_its_settings_in_the_next_line():
    pytest.importorskip("sklearn")
    site = str(Path(blobs.__file__).parents[3])

    done = subprocess.run([sys.executable, "-c", LATER, site], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


def test_a_state_of_an_older_pounce_is_read():
    waiting = process_state.Waiting(pickle.dumps({"environment": pickle.dumps({"OLDER": "1"}), "IPython": pickle.dumps({})}, 5))
    try:
        assert waiting.put_back() == {} and os.environ["OLDER"] == "1"
    finally:
        os.environ.pop("OLDER", None)


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
