"""Cells that go on without their kernel, and `attach`: real kernels, killed and closed, on workers of the local launcher."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sysconfig
import time
from pathlib import Path

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from conftest import made_home
from kernel import SECONDS, Notebook
from pounce import errors
from pounce._common.cell_protocol import CellEnd
from pounce.kept import records
from pounce.kept.output_reader import OutputReader

pytestmark = pytest.mark.xdist_group("come_back")
FIGURE = b"\x89PNG\r\n\x1a\n and no more"
CELL = """
import os, time
from IPython.display import Image, display
print("begun", flush=True)
display(Image(data={figure!r}, format="png"))
while not os.path.exists({flag!r}) and os.path.isdir(os.path.dirname({flag!r})): time.sleep(0.01)
print("going on", flush=True)
"""


@pytest.fixture(scope="module")
def alice():
    with made_home(idle_release_s=600, orphan_grace_s=10, heartbeat_ms=500, cell_output_mib=1) as home:
        yield home


@pytest.fixture
def opened(alice):
    made = []

    def open_one() -> Notebook:
        made.append(Notebook(alice))
        assert not made[-1].run("import os, pounce, time").of("error")
        return made[-1]

    yield open_one
    for notebook in made:
        if notebook.manager.is_alive():
            notebook.run("%pounce release")
            notebook.close()


@pytest.fixture(scope="module")
def notebook(alice):
    made = Notebook(alice)
    assert not made.run("import os, pounce, time").of("error")
    yield made
    made.run("%pounce release")
    made.close()


def pouncectl(home, *words: str) -> subprocess.CompletedProcess[str]:
    scripts = sysconfig.get_path("scripts")
    program = shutil.which("pouncectl", path=os.environ.get("POUNCE_BUILD") or scripts)
    active = home.environment | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}  # beside a build's program there is no Python
    return subprocess.run([program, *words], env=active, capture_output=True, text=True, timeout=SECONDS)


def until(condition, what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.2)


def sessions(home) -> list[dict]:
    return json.loads(pouncectl(home, "status", "--json").stdout)["sessions"]


def waiting_cell(home, name: str) -> tuple[str, Path]:
    flag = home.folder / name
    return CELL.format(figure=FIGURE, flag=str(flag)), flag


def cells(home) -> Path:
    return home.folder / ".local/state/pounce/local/cells"


def has_begun(home, name: str) -> bool:
    found = [one for one in records.records(str(cells(home))) if one.name == name]
    return bool(found) and any(b"begun" in path.read_bytes() for path in Path(found[0].folder).glob("*.out"))


def test_a_cell_goes_on_when_its_kernel_is_killed_and_all_who_attach_see_the_same(alice, opened):
    source, flag = waiting_cell(alice, "killed")
    first = opened()
    first.run("%%pounce --bg --name training\n" + source + "made = [1, 2]\nsum(made)")
    until(lambda: has_begun(alice, "training"), "the cell begins")
    os.kill(first.manager.provisioner.pid, signal.SIGKILL)
    first.close()
    until(lambda: sessions(alice) == [], "pounced knows that the kernel has gone")

    second = opened()
    cell = second.start("%pounce attach training")
    shown = second.ended(cell, until=lambda shown: "begun" in shown.stdout)
    flag.touch()
    shown.messages += second.ended(cell).messages
    again = second.run("pounce.attach().follow()")
    after = second.run("%%pounce\nmade")
    in_a_terminal = pouncectl(alice, "attach", "training")

    for one in (shown, again):
        assert one.stdout == "begun\ngoing on\n"
        assert [content["data"]["image/png"] for content in one.of("display_data")] == [base64.b64encode(FIGURE).decode()]
        assert one.value == "3"
    assert "made, os, time" in shown.said or "made" in shown.said
    assert after.value == "[1, 2]"
    assert in_a_terminal.returncode == 0, in_a_terminal.stderr
    begun, figure, going_on, value = in_a_terminal.stdout.splitlines()
    assert (begun, going_on, value) == ("begun", "going on", "3")
    assert Path(figure.removeprefix("[figure: ").removesuffix("]")).read_bytes() == FIGURE


def test_a_plain_cell_with_keep_outlives_an_orderly_end_and_its_error_is_raised_elsewhere(alice, opened):
    source, flag = waiting_cell(alice, "closed")
    first = opened()
    first.start("%%pounce --keep --name kept\n" + source + "half = 21\nraise ValueError('no more')")
    until(lambda: has_begun(alice, "kept"), "the cell begins")
    first.manager.shutdown_kernel(now=False)
    first.client.stop_channels()
    first.manager.cleanup_resources()

    second = opened()
    cell = second.start("pounce.attach('kept').result()")
    flag.touch()
    shown = second.ended(cell)

    assert shown.error["ename"] == "ValueError" and shown.error["evalue"] == "no more"
    assert "half = 21" in re.sub("\x1b\\[[0-9;]*m", "", shown.error["text"])  # the line in the cell
    assert second.run("%%pounce\nhalf").value == "21"
    in_a_terminal = pouncectl(alice, "attach", "kept")
    assert in_a_terminal.returncode == 1 and "no more" in in_a_terminal.stderr


def test_of_more_output_than_is_kept_the_oldest_goes_and_its_lines_are_counted(alice, notebook):
    assert not notebook.run("%%pounce --bg --name much\nfor n in range(20_000): print(f'{n:099}')").of("error")
    notebook.run(f"much.result({SECONDS})")

    lines = pouncectl(alice, "attach", "much").stdout.splitlines()

    first = re.fullmatch(r"pounce: (\d+) lines of this cell's output are not kept", lines[0])
    assert first is not None and int(first[1]) > 5000
    assert [int(line) for line in lines[1:]] == list(range(int(first[1]), 20_000))


def test_release_ends_a_cell_that_would_go_on(alice, notebook):
    source, _ = waiting_cell(alice, "never")
    notebook.run("%%pounce --bg --name endless\n" + source)
    until(lambda: has_begun(alice, "endless"), "the cell begins")
    notebook.run("%pounce release")

    shown = notebook.run("%pounce attach endless")

    assert shown.error["ename"] == "KeyboardInterrupt"
    assert "endless" in (table := pouncectl(alice, "attach", "--list").stdout) and "failed" in table


def test_the_stop_button_stops_a_plain_cell_that_would_go_on(alice, notebook):
    source, _ = waiting_cell(alice, "stopped")
    cell = notebook.start("%%pounce --keep --name stopped\n" + source)
    notebook.ended(cell, until=lambda shown: "begun" in shown.stdout)
    notebook.manager.interrupt_kernel()

    assert notebook.ended(cell).error["ename"] == "KeyboardInterrupt"
    assert notebook.run("pounce.attach('stopped').state").value == "'failed'"


def test_a_worker_that_dies_is_the_end_of_its_cell(alice, notebook):
    source, flag = waiting_cell(alice, "dies")
    notebook.run("%%pounce --bg --name dying\n" + source + "os.kill(os.getpid(), 9)")
    until(lambda: has_begun(alice, "dying"), "the cell begins")
    flag.touch()
    notebook.run(f"try: dying.result({SECONDS})\nexcept pounce.WorkerCrashed: pass")

    shown = notebook.run("%pounce attach dying")

    assert shown.stdout.startswith("begun\n") and shown.error["ename"] == "WorkerCrashed"


def test_what_cannot_be_attached_or_kept_is_named(alice, notebook):
    assert notebook.run("%%pounce --keep --name nearest\n1").value == "1"
    assert "there is no cell naerest; did you mean nearest?" in notebook.run("%pounce attach naerest").stream("stderr")
    assert "one name" in notebook.run("%pounce attach a b").stream("stderr")
    wrong = pouncectl(alice, "attach", "never-was")
    assert wrong.returncode == 2 and "there is no cell never-was" in wrong.stderr
    assert "--keep is for a cell of one process" in notebook.run("%%pounce --keep --nodes 2\n1").stream("stderr")

    folder = cells(alice)
    folder.rename(folder.with_name("aside"))
    folder.touch()
    try:
        shown = notebook.run("%%pounce --keep\n6 * 7")
    finally:
        folder.unlink()
        folder.with_name("aside").rename(folder)
    assert shown.of("error") == [] and shown.value == "42" and "this cell does not go on without its kernel" in shown.said


def test_what_the_page_shows_runs(notebook):
    page = (Path(__file__).resolve().parents[2] / "docs" / "come-back.md").read_text()
    shown = [notebook.run(block) for block in re.findall(r"^```ipython\n(.*?)^```", page, flags=re.M | re.S)]

    assert [one.of("error") for one in shown] == [[]] * 4
    assert shown[2].stdout == "epoch 0, loss 1.00\nepoch 1, loss 0.50\nepoch 2, loss 0.33\n"
    assert shown[2].value == "0.3333333333333333" and shown[3].value == "3"


# ---- the folders alone ----


def test_a_line_whose_beginning_is_not_kept_counts_as_missing(tmp_path):
    head = '{"lines":7,"displays":1}\n'
    (tmp_path / "00000004.out").write_text(head + '{"kind":"stdout","sizes":[11]}\nd of\nwhole\n')
    reader = OutputReader(str(tmp_path))

    missing, text = reader.unread()

    assert missing.words() == "8 lines and 1 display of this cell's output are not kept" and text.text() == "whole\n"
    assert list(reader.missing_at_the_end({"lines": 9, "displays": 1})) == []
    assert [output.words() for output in reader.missing_at_the_end({"lines": 10})] == ["1 line of this cell's output is not kept"]
    reader.close()


def record(folder: Path, **about) -> records.Record:
    return records.made(str(folder), {"name": "", "cell": 3, "began": time.time(), "host": "elsewhere", "pid": 1, **about})


def ended(one: records.Record, when: float) -> None:
    Path(one.folder, records.END).write_bytes(b"{}\n" + CellEnd(one.cell, when).encoded())


def test_the_folder_of_another_user_is_no_cell(tmp_path):
    mine, others = record(tmp_path, name="mine"), record(tmp_path, name="others")
    os.chmod(others.folder, 0o755)  # as one that others may enter

    assert [one.name for one in records.records(str(tmp_path))] == ["mine"]
    with pytest.raises(errors.BadRequest, match="there is no cell others"):
        records.find(str(tmp_path), "others")
    assert records.find(str(tmp_path), mine.id[:6]).id == mine.id


def test_cells_that_ended_longer_ago_than_saved_variables_are_kept_are_removed(tmp_path):
    day = 86400.0
    for name, ago in (("week", 7 * day), ("today", 60.0)):
        ended(record(tmp_path, name=name, began=time.time() - ago - 1), time.time() - ago)
    running = record(tmp_path, name="running", began=time.time() - 9 * day)
    Path(running.folder, records.BEAT).touch()

    records.remove_old(str(tmp_path), 3 * day)

    assert {one.name for one in records.records(str(tmp_path))} == {"today", "running"}


def test_an_end_that_is_not_whole_is_told_and_not_believed(tmp_path):
    one = record(tmp_path, name="cut")
    Path(one.folder, records.END).write_text('{}\n{"shown": [')

    assert one.state() == "failed" and "cannot be read" in one.end().error.text


def test_a_cell_that_waited_when_its_kernel_ended_will_not_begin(tmp_path):
    here = os.uname().nodename
    gone = subprocess.Popen(["true"])
    gone.wait()

    assert record(tmp_path, host=here, pid=gone.pid).state() == "silent"
    assert record(tmp_path, host=here, pid=os.getpid()).state() == "waiting"
