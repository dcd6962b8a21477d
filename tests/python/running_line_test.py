"""The line under a cell that runs on a GPU: what it tells, when it measures, and that it goes with the cell."""

from __future__ import annotations

import pytest
from pounce import _core
from pounce._engine import status_line
from pounce._engine.progress import running_line
from pounce._engine.progress.running_line import RunningLine, words_of

LEASE = _core.LeaseStatus(node="g1", devices="A100 (0)", end_time=1000 + 4360)
USED = {"cpu_utilization_percentage": 35.0, "system_memory_usage_megabytes": 8100.0, "gpu_0_utilization_percentage": 83.0,
        "gpu_0_memory_usage_megabytes": 12_100.0, "gpu_0_memory_usage_percentage": 30.25}


class Screen:
    """A page or a terminal, a clock that is moved by hand, and a worker that answers each look."""

    def __init__(self, monkeypatch, has_page=True):
        self.shown, self.now, self.looks = [], 0.0, 0
        monkeypatch.setattr(running_line, "has_page", lambda: has_page)
        monkeypatch.setattr(status_line, "live_output", lambda: self)
        monkeypatch.setattr(status_line, "shows_live", lambda: has_page is not None)
        monkeypatch.setattr(running_line.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(running_line.time, "time", lambda: 1000.0)
        self.line = RunningLine(self.look)

    def look(self):
        self.looks += 1
        return type("Answered", (), {"now": lambda _: USED})()

    def show(self, line, trouble=""):
        self.shown.append(line)

    def clear(self):
        self.shown.append("")

    def wait(self, seconds, state="running", lease=LEASE, in_line=False):
        """Updates ten times a second."""
        for _ in range(seconds * 10):
            self.now += 0.1
            self.line.update(state, lease, in_line)


def test_it_tells_use_memory_and_the_time_left(monkeypatch):
    monkeypatch.setattr(running_line.time, "time", lambda: 1000.0)
    two = USED | {"gpu_1_utilization_percentage": 3.0, "gpu_1_memory_usage_megabytes": 900.0}

    assert words_of(LEASE, USED) == "pounce: g1, A100 (0) · GPU 83 %, 12.1 of 40.0 GB · memory 8.1 GB · 1 h 12 min left"
    assert "GPUs 83, 3 %, 13.0" in words_of(LEASE, two)
    assert words_of(LEASE._replace(end_time=1070), {}) == "pounce: g1, A100 (0) · 70 s left"
    assert words_of(LEASE._replace(end_time=0), {}) == "pounce: g1, A100 (0)"


def test_it_comes_after_some_seconds_measures_once_a_second_and_goes(monkeypatch):
    page = Screen(monkeypatch)
    page.wait(60, state="waiting")
    page.wait(4)
    assert (page.looks, page.shown) == (0, [])
    page.wait(11)
    assert 9 <= page.looks <= 11 and len(page.shown) == page.looks - 1
    page.line.output_comes()
    page.line.end()
    page.wait(60)
    assert page.shown[-1] == "" and page.shown.count("") == 1 and page.looks <= 11


@pytest.mark.parametrize(("has_page", "lease"), [(None, LEASE), (True, LEASE._replace(devices="")), (True, None)])
def test_nothing_is_measured_where_nothing_is_shown(monkeypatch, has_page, lease):
    page = Screen(monkeypatch, has_page)
    page.wait(60, lease=lease)

    assert (page.looks, page.shown) == (0, [])


def test_a_text_bar_is_not_cut_in_two(monkeypatch):
    page = Screen(monkeypatch)
    page.wait(60, in_line=True)
    assert not page.shown
    page.wait(4)
    assert page.shown
    page.wait(4, in_line=True)
    assert "" not in page.shown


def test_in_a_terminal_it_goes_with_the_first_output(monkeypatch):
    terminal = Screen(monkeypatch, has_page=False)
    terminal.wait(10)
    assert terminal.shown
    terminal.line.output_comes()
    assert terminal.shown[-1] == ""
    looks = terminal.looks
    terminal.wait(60)
    assert terminal.looks == looks


def test_under_a_cell_that_runs_a_page_shows_it_until_the_end():
    pytest.importorskip("ipykernel")
    from kernel import notebook_at_home

    with notebook_at_home("import pounce\nfrom pounce._engine.progress import running_line\nrunning_line._AFTER_S = 0") as notebook:
        cell = notebook.start("%%pounce --gpu 1\nimport os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\n1")
        lines = lambda shown: [each["data"]["text/plain"] for kind in ("display_data", "update_display_data")  # noqa: E731
                               for each in shown.of(kind) if "memory " in each["data"]["text/plain"]]
        notebook.ended(cell, until=lines)
        (notebook.home.folder / "go").touch()
        end = notebook.ended(cell)

    assert end.of("update_display_data")[-1]["data"] == {"text/plain": ""} and end.value == "1"
