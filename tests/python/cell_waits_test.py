"""A cell that waits shows what it could do instead, takes it by a click while it waits, and its user is told of it."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from pounce import _core
from pounce._engine import status_line
from pounce._engine.choices import choice_of
from pounce.cell.background import CellOutput
from pounce.cell.waits import notify_program, telling
from pounce.cell.waits.alternatives import alternatives, as_text, is_long, until
from pounce.cell.waits.telling import Telling
from pounce.cell.waits.under_cell import UnderCell

EARLY = _core.Choice("wait", eta=_core.Eta(time.time() + 30, time.time(), time.time() + 40, "1 running job"))
LATE = _core.Choice("wait", eta=_core.Eta(time.time() + 1200, time.time() + 1100, time.time() + 1300, "3 running jobs"))
UNKNOWN = _core.Choice("wait")
SMALL = _core.Choice("gpu", "a100_3g.20gb", now=True)
LARGE = _core.Choice("gpu", "a100:2", eta=_core.Eta(time.time() + 90, time.time(), time.time() + 100, "1 running job"))
CPU = _core.Choice("cpu", "cpu", now=True)
LION = _core.Choice("class", "class=lion", now=True)
CANCEL = _core.Choice("cancel", "cancel")


def choices(*found: _core.Choice) -> list:
    return [choice_of(each) for each in found]


# ---- what it could do ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wait", "waited", "shown"), [(LATE, 4, True), (EARLY, 4, False), (EARLY, 64, True), (UNKNOWN, 4, False), (UNKNOWN, 64, True)])
def test_choices_are_shown_where_the_cell_will_wait_for_more_than_a_minute(wait, waited, shown):
    assert is_long(choices(wait, SMALL), waited) is shown


def test_each_choice_that_is_free_now_has_the_line_that_a_user_would_write():
    found = alternatives(choices(LATE, SMALL, LARGE, CPU, LION, CANCEL), "--gpu a100 --class cheetah --cpus 4 --out x,y", 7)

    assert [(one.do, one.option, one.label, one.line) for one in found] == [
        ("take", "a100_3g.20gb", "a100_3g.20gb now", "%%pounce --class cheetah --cpus 4 --out x,y --gpu a100_3g.20gb"),
        ("take", "cpu", "CPU now", "%%pounce --class cheetah --cpus 4 --out x,y"),
        ("take", "class=lion", "class lion now", "%%pounce --gpu a100 --cpus 4 --out x,y --class lion"),
        ("behind", "", "--bg, and tell me", "%%pounce --gpu a100 --class cheetah --cpus 4 --out x,y --bg --tell"),
        ("batch", "", "as a batch job", "%pounce batch --cell 7 --submit"),
    ]


def test_an_option_that_is_there_is_not_added_again_and_one_with_an_equals_sign_goes():
    lines = [one.line for one in alternatives(choices(CPU), "--gpu=a100 --gpu-mem 20GB --tell", 7)]
    assert lines[:2] == ["%%pounce --tell", "%%pounce --gpu=a100 --gpu-mem 20GB --tell --bg"]


def test_without_buttons_they_are_words_with_the_exact_lines():
    text = as_text(until(choices(UNKNOWN)), alternatives(choices(UNKNOWN, CPU), "--gpu 1", 7))
    assert text.splitlines() == [
        "pounce: this cell waits; when it starts cannot be said. Instead, press stop and begin it so:",
        "  CPU now             %%pounce",
        "  --bg, and tell me   %%pounce --gpu 1 --bg --tell",
        "  as a batch job      %pounce batch --cell 7 --submit",
    ]


# ---- the site's program ----------------------------------------------------------------------------------------------


def program(folder, body: str):
    made = folder / "tell"
    made.write_text(f"#!{sys.executable}\nimport json, os, sys, time\nhere = {str(folder)!r}\n{body}\n")
    made.chmod(0o755)
    return str(made)


def test_it_gets_the_facts_on_its_standard_input_and_nothing_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    tells = program(tmp_path, "json.dump([json.load(sys.stdin), sys.argv, dict(os.environ), os.getpid() == os.getsid(0)], open(here + '/got', 'w'))")

    assert notify_program.run(tells, {"what": "ended", "seconds": 12.5}) == ""

    facts, words, environment, alone = json.loads((tmp_path / "got").read_text())
    assert facts == {"what": "ended", "seconds": 12.5} and words == [tells] and alone
    assert environment["HOME"] == os.environ["HOME"] and "HF_TOKEN" not in environment


@pytest.mark.parametrize(("body", "why"), [
    ("sys.exit('the mail server is away')", "ended with 1: the mail server is away"),
    ("os.close(0); sys.exit(3)", "ended with 3"),
    ("os.fork() or time.sleep(1000); time.sleep(1000)", "was ended, since it took more than 0.5 s"),
])
def test_why_it_failed_is_known_within_its_time(tmp_path, body, why):
    tells = program(tmp_path, body)
    assert notify_program.run(tells, {"text": "x"}, most_s=0.5 if "sleep" in body else 30) == f"{tells} {why}"


def test_one_that_is_not_there_is_named():
    assert notify_program.run("/nowhere/tell", {}) == "/nowhere/tell: No such file or directory"


# ---- telling ---------------------------------------------------------------------------------------------------------


class Under:
    """What would be under the cell."""

    has_page = True

    def __init__(self):
        self.told, self.shows = [], True

    def notify(self, title: str, text: str) -> None:
        self.told.append(title)

    def end(self) -> None:
        self.shows = False


@pytest.fixture
def told(monkeypatch):
    """`told(seconds)` makes a telling of a cell that began so long ago, for who said --tell."""

    def make(ago: float, is_wanted: bool = True) -> tuple[Telling, Under]:
        under = Under()
        made = Telling("fit", under, CellOutput(None), "", is_wanted)
        made._began -= ago
        return made, under

    return make


def test_a_start_is_told_after_a_minute_of_waiting_and_each_end_once(told):
    for ago, titles in ((2, ["pounce: fit is done"]), (61, ["pounce: fit has started", "pounce: fit is done"])):
        tells, under = told(ago)
        for _ in range(2):
            tells.started()
        for _ in range(2):
            tells.ended("done")
        assert under.told == titles and not under.shows


def test_who_clicks_is_told_of_every_start_and_who_wants_nothing_of_none(told):
    clicked, under = told(2, is_wanted=False)
    clicked.want()
    clicked.started()
    clicked.ended("failed")
    assert under.told == ["pounce: fit has started", "pounce: fit has failed"]

    silent, under = told(100, is_wanted=False)
    silent.started()
    silent.ended("stopped")
    assert under.told == []


def test_a_program_that_fails_is_told_once_in_a_kernel(monkeypatch):
    said = []
    monkeypatch.setattr(telling, "_failed", set())
    monkeypatch.setattr(Telling, "say", lambda self, text: said.append(text))
    for _ in range(2):
        tells = Telling("fit", Under(), CellOutput(None), "/nowhere/tell", True)
        tells.ended("done")
        for thread in [each for each in threading.enumerate() if each.name == "pounce-notify"]:
            thread.join(60)
    assert said == ["you were not told by the site's program: /nowhere/tell: No such file or directory"]


# ---- in a kernel -----------------------------------------------------------------------------------------------------

# Each wait is long, and the policy, which only Slurm has, names a program.
FIRST = """
import pounce, pounce.cell.waits.alternatives as shown
from pounce.calls import session_of
shown.LONG_S = 0
session_of(get_ipython().magics_manager.registry["PounceMagics"].remote.workers.client()).notify = {program!r}"""
BUSY = "%%pounce --cpus 1 --on other --bg --name other\nimport os, time\nwhile not os.path.exists({flag!r}): time.sleep(0.01)"


@pytest.fixture
def kernel_of_one_cpu():
    """A notebook on a machine whose only CPU another cell has, at a site with a program that tells; and a page."""
    pytest.importorskip("anywidget")
    kernel, pages = pytest.importorskip("kernel"), pytest.importorskip("widgets_page")
    from conftest import made_home

    with made_home(idle_release_s=1, local_cpus=1) as home:
        tells = program(home.folder, "open(here + '/told', 'a').write(sys.stdin.read())")
        notebook = kernel.Notebook(home)
        page = pages.Page(notebook)
        assert not page.cell(FIRST.format(program=tells)).of("error")
        flag = home.folder / "flag"
        assert not page.cell(BUSY.format(flag=str(flag))).of("error")
        page.cell("while other.state != 'running': pass")
        yield page, flag
        flag.touch()
        page.cell("%pounce release")
        notebook.close()


def shows(cell, words: str) -> bool:
    """Whether what pounce shows under it has these words now."""
    updates = [content["data"]["text/plain"] for kind in ("display_data", "update_display_data") for content in cell.of(kind)]
    return any(words in text for text in updates)


def answers(page, cell: str) -> list[dict]:
    return [content["data"]["content"] for content in page.until(cell, lambda _: True).of("comm_msg")
            if content["comm_id"] == page.comms["wait"] and content["data"].get("method") == "custom"]


def asked(page, cell: str, request: dict) -> dict:
    """What the page gets for a request that it sends beside the cell, as JupyterLab does."""
    before = len(heard(page, cell))
    page.send("wait", {"method": "custom", "content": request}, beside=True)
    page.until(cell, lambda _: len(heard(page, cell)) > before)
    return heard(page, cell)[-1]


def heard(page, cell: str) -> list[dict]:
    return [content for content in answers(page, cell) if content.get("heard")]


def waiting_cell(page, source: str) -> str:
    cell = page.begin(source)
    shown = page.until(cell, lambda shown: shows(shown, "this cell waits"))
    assert shows(shown, "begin it so:\n  --bg, and tell me   %%pounce --cpus 1 --on mine --bg --tell\n")
    page.comms["wait"] = next(each["comm_id"] for each in shown.of("comm_open") if each["data"]["state"]["_model_name"] == "AnyModel")
    return cell


def test_a_click_puts_the_waiting_cell_into_the_background_and_its_user_is_told(kernel_of_one_cpu):
    page, flag = kernel_of_one_cpu
    cell = waiting_cell(page, "%%pounce --cpus 1 --on mine\nmade = 6 * 7\nmade")

    seen = asked(page, cell, {"do": "look"})
    assert [one["do"] for one in seen["choices"]][-2:] == ["behind", "batch"] and not seen["tells"] and seen["program"]
    assert asked(page, cell, {"do": "take", "option": "a100"})["note"] == "that is no choice any more"
    assert asked(page, cell, {"do": "behind"})["tells"]
    put = page.ended(cell)
    assert put.value == "<a cell in the background: waiting>" and not put.of("error")
    flag.touch()
    page.until(cell, lambda shown: any("42" == each["data"].get("text/plain") for each in shown.of("display_data")))

    assert page.cell("%%pounce --cpus 1 --on mine\nmade").value == "42"
    assert page.cell("[row.cell for row in pounce.timings()].count(4)").value == "1", "the attempt that was taken back has no row"
    titles = [content["notify"]["title"] for content in answers(page, cell) if "notify" in content]
    assert titles[-1] == "pounce: cell 4 is done"
    facts = told_by_the_program(page, "cell 4")
    assert facts["outcome"] == "done" and facts["seconds"] > 0 and facts["text"].startswith("cell 4 is done after ")
    late = page.send("wait", {"method": "custom", "content": {"do": "behind"}}, beside=True)
    assert not page.ended(late).of("error") and answers(page, cell)[-1]["note"] == "that is no choice any more"


def told_by_the_program(page, name: str) -> dict:
    """What it got at that cell's end."""
    told, deadline = page.notebook.home.folder / "told", time.monotonic() + 60
    while True:
        facts = [json.loads(line) for line in (told.read_text() if told.exists() else "").splitlines()]
        ended = [each for each in facts if (each["what"], each["name"]) == ("ended", name)]
        if ended:
            return ended[-1]
        assert time.monotonic() < deadline, facts
        time.sleep(0.02)


def test_where_no_click_is_heard_the_words_stay_and_go_when_the_cell_runs(kernel_of_one_cpu):
    page, flag = kernel_of_one_cpu
    cell = waiting_cell(page, "%%pounce --cpus 1 --on mine\n1")
    page.send("wait", {"method": "custom", "content": {"do": "behind"}})  # an ipykernel or a front end without subshells

    flag.touch()
    ran = page.ended(cell)

    assert ran.value == "1"
    assert ran.of("update_display_data")[-1]["data"] == {"text/plain": ""}
    assert page.comms["wait"] in page.notebook.comms(), "a page that is opened again finds it"


def test_with_tell_each_end_is_told_in_front_and_behind(kernel_of_one_cpu):
    page, flag = kernel_of_one_cpu
    flag.touch()

    failed = page.cell("%%pounce --cpus 1 --on mine --tell\n1 / 0")
    page.cell("%%pounce --cpus 1 --on mine --tell --bg --name quick\n1")

    assert failed.of("error") and told_by_the_program(page, "cell 4")["outcome"] == "failed"
    assert told_by_the_program(page, "quick")["outcome"] == "done"
    assert failed.of("update_display_data")[-1]["data"] == {"text/plain": ""}, "nothing of it stays under the cell"


def test_a_terminal_has_the_words_once(monkeypatch):
    lines: list[str] = []
    monkeypatch.setattr(status_line, "shows_live", lambda: True)
    monkeypatch.setattr(status_line, "output", lambda: SimpleNamespace(end=lines.append))
    under = UnderCell(SimpleNamespace(), CellOutput(None), lambda _: {})

    for words in ("in about 10 min", "in about 9 min", "", "in about 5 min"):
        under.show({}, words)
    under.end()

    assert lines == ["in about 10 min", "in about 5 min"]


def test_a_cell_with_tell_says_so_where_nothing_can_tell(monkeypatch):
    kernel = pytest.importorskip("kernel")
    blind = "import importlib.util as _u\n_real = _u.find_spec\n_u.find_spec = lambda name, *more: None if name == 'anywidget' else _real(name, *more)"
    with kernel.notebook_at_home("import pounce", startup={"blind.py": blind}) as notebook:
        assert "--tell tells nothing here" in notebook.run("%%pounce --cpus 1 --tell\n1").said
