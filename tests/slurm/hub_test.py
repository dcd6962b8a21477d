"""%%pounce under a JupyterHub whose culler stops servers that are idle."""

from __future__ import annotations

import uuid

import pytest
from hub import FRONT_ENDS, HubLab
from lab import SECONDS
from lab_test import PICTURES
from login_node import wait_until
from long_run import only_in_long_runs

CELL = """\
%%pounce --cpus 1 --keep --name {name}
import os, time
print("begun", flush=True)
while not os.path.exists({flag!r}) and os.path.isdir(os.path.dirname({flag!r})): time.sleep(0.05)
made = [20, 22]
sum(made)"""


@pytest.fixture
def hub(make_user):
    if not FRONT_ENDS.exists():
        pytest.fail(f"{FRONT_ENDS} is not there; packaging/lab-environment --front-ends makes it")
    made = []

    def make(user, *sources: str) -> HubLab:
        made.append(HubLab(user, *sources))
        return made[-1]

    yield make
    for one in made:
        PICTURES.mkdir(parents=True, exist_ok=True)
        one.browser.picture(PICTURES / "hub.png")  # of a failure too
        one.browser.close()


@only_in_long_runs("half a minute; tests/python/come_back_test.py holds it of a kernel that is shut down")
def test_a_culled_server_loses_no_cell_that_is_kept(make_user, hub):
    alice = make_user(idle_release_s=300, orphan_grace_s=15, heartbeat_ms=1000)
    name, flag = f"culled_{uuid.uuid4().hex[:8]}", alice.folder / "flag"
    page = hub(alice, "import pounce", CELL.format(name=name, flag=str(flag)), f"%pounce attach {name}", "%%pounce --cpus 1\nmade", "%pounce release")
    page.ran(0)
    cell = page.run(1)
    wait_until(lambda: "begun" in cell.shown, SECONDS, "the cell has begun")
    (job,) = [one for one in alice.jobs(alice.endpoint()["instance"]) if one["state"] == "RUNNING"]

    page.leave()
    page.culled()
    assert job["id"] in [one["id"] for one in alice.jobs()]

    page.start_again()
    page.ran(0)
    attached = page.run(2)
    wait_until(lambda: "begun" in attached.shown, SECONDS, "what it printed before is shown")
    flag.touch()
    page.wait(attached)

    assert "42" in attached.shown
    assert "[20, 22]" in page.ran(3).shown
    page.ran(4)
