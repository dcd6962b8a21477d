"""Settings in random order show on a worker what they show in a plain kernel."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("numpy")
pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

from pair import pair
from settings_walk import SHOW, steps

LENGTH = 30
SEEDS = [1, 2, 3, 4] if os.environ.get("POUNCE_LONG_RUN") else [1]


def lines(seen: dict) -> list[str]:
    return [*seen.get("stdout", "").splitlines(), repr({what: part for what, part in seen.items() if what != "stdout"})]


@pytest.mark.parametrize("seed", SEEDS)
def test_settings_in_any_order_are_what_they_are_in_a_plain_kernel(seed):
    done = []
    with pair() as both:
        for cell in steps(seed, LENGTH):
            if cell is None:
                both.release()
                done.append("released")
                continue
            here, there = both.cell(cell)
            if not cell.source.endswith(SHOW):
                done.append(cell.source)
            assert lines(there) == lines(here), "\n".join(done[-4:])
