"""A call shows of the process's settings what a process pool shows, whose processes are forked and so begin as this one is."""

from __future__ import annotations

import json
import os
import random

import pytest
from cell_settings_test import ROWS
from pounce._engine import call_settings
from settings_walk import IMPORTS, SETTINGS
from state_process_test import installed, with_reasons


def of_calls(rows: dict) -> dict:
    """A call has no cells."""
    return {row: texts for row, texts in rows.items() if "get_ipython" not in str(texts)}


OF_CALLS, WALKED = of_calls(ROWS), of_calls(SETTINGS)
STANDARD = "import contextlib, decimal, json, locale, logging, os, socket, sys, time, warnings"
PROGRAM = """
import concurrent.futures, json, multiprocessing

def shown(imports, looks):
    names = {}
    exec(imports, names)
    return {row: repr(eval(look, names)) for row, look in looks.items()}

def in_a_pool(imports, looks):
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        return pool.submit(shown, imports, looks).result()

client = pounce.Client()
imports, changes, looks = json.loads(%r)
exec(imports)
"""


def program(imports: str, changes: list[str], looks: dict[str, str]) -> str:
    return PROGRAM % json.dumps([imports, changes, looks])


@pytest.fixture(scope="module")
def looks(module_home):
    """What the rows show in a process pool and in a call, before they were set and after."""
    rows = installed(OF_CALLS)
    libraries = {change.partition(";")[0] for change, _ in rows.values() if change.startswith("import")}
    run = module_home.run(program("\n".join([STANDARD, *sorted(libraries)]), [change for change, _ in rows.values()],
                                  {row: look for row, (_, look) in rows.items()}) + """
before = in_a_pool(imports, looks), client.submit(shown, imports, looks).result()
for change in changes:
    exec(change)
report(before=before, after=(in_a_pool(imports, looks), client.submit(shown, imports, looks).result()))
""")
    return run.reports


@pytest.mark.xdist_group("call_rows")
@pytest.mark.parametrize("row", with_reasons(OF_CALLS))
def test_a_setting_is_in_a_call_what_it_is_in_a_process_pool(row, looks):
    (pool_before, call_before), (pool, call) = ([look[row] for look in looks[when]] for when in ("before", "after"))

    assert (call_before, call) == (pool_before, pool)
    assert call != call_before or row == "one that is gone"


@pytest.mark.parametrize("seed", [1, 2, 3, 4] if os.environ.get("POUNCE_LONG_RUN") else [1, 2])
def test_settings_in_any_order_are_in_a_call_what_they_are_in_a_process_pool(seed, home):
    """No more changes than calls that are looked at whole however fast they come (_engine/call_settings.py)."""
    chance = random.Random(seed)
    changes = [WALKED[name][1].format(chance.choice(WALKED[name][0])) for name in chance.choices(sorted(WALKED), k=call_settings._AT_ONCE)]
    run = home.run(program(IMPORTS, changes, {name: show for name, (_, _, show) in WALKED.items()}) + """
for change in changes:
    exec(change)
    call = client.submit(shown, imports, looks)
    here, there = in_a_pool(imports, looks), call.result()
    assert here == there, f"after {change}: {[(row, here[row], there[row]) for row in looks if here[row] != there[row]]}"
report(walked=True)
""")

    assert run.reports["walked"]
