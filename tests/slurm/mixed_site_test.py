"""A login node with another Slurm than slurmctld's, as while a site updates: what slurmctld still speaks with works, else it is said."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from login_node import CLUSTER, RELEASE

pytestmark = pytest.mark.xdist_group("mixed_site")

MAJORS = ("22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05")
SYSTEMS = MAJORS[0]
HERE = RELEASE or SYSTEMS


def releases_at_hand() -> list[str]:
    built = os.environ["POUNCE_BUILT_RELEASES"].split()  # conftest.py
    return [name for name in [SYSTEMS, *(name for name in MAJORS if name in built)] if name != HERE]


def is_spoken(client: str) -> bool:
    """By slurmctld: its own, and the two major releases before it; from 24.11 on the three before it."""
    behind = MAJORS.index(HERE) - MAJORS.index(client)
    return 0 <= behind <= (3 if HERE >= "24.11" else 2)


def others(spoken: bool) -> list:
    names = [name for name in releases_at_hand() if is_spoken(name) == spoken]
    why = f"no other pounce-slurm of that kind beside Slurm {HERE}: packaging/cluster build RELEASE makes one"
    return names or [pytest.param("none", marks=pytest.mark.skip(reason=why))]


@pytest.fixture
def of_release(tmp_path_factory):
    """The setting by which pounced and pouncectl find pounce-slurm of that release, a folder of alice's; the system's lies beside them."""

    def folder(release: str) -> str:
        data = Path("/opt") / f"{tmp_path_factory.mktemp('mixed').name}-{os.getpid()}-{release}"
        data.mkdir()
        shutil.chown(data, "alice")
        folders.append(data)
        if release != SYSTEMS:
            subprocess.run([str(CLUSTER), "build", release, str(data)], check=True, stdout=subprocess.DEVNULL, timeout=280)
        return str(data)

    folders: list[Path] = []
    yield folder
    for data in folders:
        shutil.rmtree(data)


def doctors_line(user, name: str, **settings: str) -> dict:
    said = json.loads(user.run("pouncectl", "doctor", "--json", check=False, **settings))
    (line,) = [check for check in said["checks"] if check["check"] == name]
    return line


CALL = """
    import pounce
    try:
        client = pounce.Client(gpus=1)
        report(ran=client.submit(lambda: os.environ["CUDA_VISIBLE_DEVICES"]).result(100))
        client.close()
    except Exception as e:
        report(refused=error(e))
"""


@pytest.mark.parametrize("release", others(spoken=True))
def test_an_older_login_node_that_slurmctld_speaks_with_works(make_user, of_release, release):
    alice, setting = make_user("alice", idle_release_s=1), {"XDG_DATA_HOME": of_release(release)}

    run = alice.python(CALL, **setting).ended()

    assert run.reported("ran") == "0"
    assert "cheetah" in alice.run("pouncectl", "classes", **setting)
    assert f"built for {int(release[:2])}.{int(release[3:])}." in doctors_line(alice, "libslurm", **setting)["text"]
    slurmctld = doctors_line(alice, "slurmctld", **setting)
    assert slurmctld["text"].startswith(f"slurm {HERE}.") and f"libslurm is of {release}, and slurmctld speaks its protocol" in slurmctld["text"]


@pytest.mark.parametrize("release", others(spoken=False))
def test_a_login_node_that_slurmctld_does_not_speak_with_is_told_so(make_user, of_release, release):
    alice, setting = make_user("alice", idle_release_s=1), {"XDG_DATA_HOME": of_release(release)}

    line = doctors_line(alice, "slurmctld", **setting)
    refused = alice.python(CALL, **setting).ended().reported("refused")

    words = re.compile(f"the libslurm of an older Slurm than this|its Slurm does not speak with pounce-slurm's libslurm .{release}.")
    assert line["state"] == "wrong" and words.search(line["text"]) and "pouncectl rebuild" in line["fix"]
    assert words.search(refused["text"])


@pytest.mark.skipif(not os.environ.get("POUNCE_LONG_RUN"), reason="it compiles for two minutes: in long runs")
@pytest.mark.timeout(900)
def test_rebuild_makes_what_the_clusters_slurm_needs_and_calls_run(make_user, of_release):
    """As after a site's update: at first there is the pounce-slurm that came with pounce, for the system's Slurm."""
    alice, setting = make_user("alice", idle_release_s=1), {"XDG_DATA_HOME": of_release(SYSTEMS)}

    said = json.loads(alice.start(["pouncectl", "rebuild", "--user", "--json"], **setting).ended(800).output)
    run = alice.python(CALL, **setting).ended()

    assert said["built"] and said["pounce_slurm"].startswith(setting["XDG_DATA_HOME"])
    assert doctors_line(alice, "slurmctld", **setting)["state"] == "ok" and run.reported("ran") == "0"
