"""Settings in random order, from a seed: set in the notebook, set in cells of the worker, released in between. Pairs that
interfere show up as a cell that shows another value than a plain kernel's."""

from __future__ import annotations

import random
from collections.abc import Iterator

from journeys import Cell

IMPORTS = "import decimal, logging, os, socket, sys, time, warnings\nimport numpy as np, pandas as pd, matplotlib as mpl"
THERE = "%%pounce\n"

# By name: values, how one of them is set, and what shows it.
SETTINGS = {
    "a variable": (("'one'", "'two'", "'a\\nb'"), "os.environ['WALKED'] = {}", "os.environ.get('WALKED')"),
    "another variable": (("'1'", "'2'", "'3'"), "os.environ['WALKED_TOO'] = {}", "os.environ.get('WALKED_TOO')"),
    "decimal": ((5, 6, 7), "decimal.getcontext().prec = {}", "decimal.Decimal(1) / 3"),
    "recursion": ((2001, 2002, 2003), "sys.setrecursionlimit({})", "sys.getrecursionlimit()"),
    "umask": ((0o007, 0o027, 0o077), "_ = os.umask({})",
              "next(line for line in open('/proc/self/status') if line.startswith('Umask')).split()[1]"),
    "sockets": ((1.5, 2.5, 3.5), "socket.setdefaulttimeout({})", "socket.getdefaulttimeout()"),
    "logging": ((11, 12, 13), "logging.getLogger('walked').setLevel({})", "logging.getLogger('walked').level"),
    "warnings": (("'error'", "'ignore'", "'always'"), "warnings.filterwarnings({}, 'walked')",
                 "next((one[0] for one in warnings.filters if 'walked' in str(one[1])), None)"),
    "numpy's digits": ((2, 3, 4), "np.set_printoptions(precision={})", "np.array([1 / 3])"),
    "numpy's threshold": ((5, 6, 7), "np.set_printoptions(threshold={})", "np.arange(9)"),
    "numpy's errors": (("'raise'", "'ignore'", "'print'"), "_ = np.seterr(divide={})", "np.geterr()['divide']"),
    "pandas' digits": ((2, 3, 4), "pd.set_option('display.precision', {})", "pd.Series([1 / 3]).to_string()"),
    "pandas' rows": ((11, 12, 13), "pd.set_option('display.max_rows', {})", "pd.get_option('display.max_rows')"),
    "lines of figures": ((1.25, 2.5, 3.75), "mpl.rcParams['lines.linewidth'] = {}", "mpl.rcParams['lines.linewidth']"),
    "time zone": (("'UTC'", "'EST5'", "'CET-1'"), "os.environ['TZ'] = {}; time.tzset()", "time.strftime('%H %Z', time.localtime(0))"),
    "tracebacks": (("'Plain'", "'Minimal'", "'Verbose'"), "get_ipython().InteractiveTB.set_mode({})", "get_ipython().InteractiveTB.mode"),
    "width of values": ((40, 60, 70), "get_ipython().display_formatter.formatters['text/plain'].max_width = {}",
                        "get_ipython().display_formatter.formatters['text/plain'].max_width"),
    "folder": (("'/'", "'/usr'", "'/var'"), "os.chdir({})", "os.getcwd()"),
}
SHOW = "\n".join(f"print({name!r}, {show})" for name, (_, _, show) in SETTINGS.items())


def steps(seed: int, length: int) -> Iterator[Cell | None]:
    """Cells in order; None: the worker is released. The notebook never sets a value that it has already, which would be no
    change of its own, while a plain kernel would undo what a cell has set since. So no value is one of a fresh kernel."""
    chance = random.Random(seed)
    here: dict[str, object] = {}
    yield Cell(IMPORTS)
    yield Cell(THERE + IMPORTS)
    for _ in range(length):
        kind = chance.choices(("notebook", "worker", "release"), (5, 4, 1))[0]
        if kind == "release":
            yield None
            continue
        chosen = chance.sample(sorted(SETTINGS), 2)
        lines = []
        for name in chosen:
            values, change, _ = SETTINGS[name]
            value = chance.choice([value for value in values if value != here.get(name)])
            if kind == "notebook":
                here[name] = value
            lines.append(change.format(value))
        yield Cell(("" if kind == "notebook" else THERE) + "\n".join(lines))
        yield Cell(THERE + SHOW)
