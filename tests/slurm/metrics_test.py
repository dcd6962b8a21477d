"""Figures for Prometheus on a real Slurm: a user's own pounced, and the site as its operator sees it."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from login_node import wait_until
from pounce.insight.metrics.families import FAMILIES, SITE, series_of

pytest.importorskip("prometheus_client", reason="prometheus_client is not installed: packaging/environment --examples")

# One lease works until a file is there; then a second one is requested that no node has room for.
WORK = """
    import pounce
    client = pounce.Client(gpus=1, memory="1GB", cpus=1, class_="cheetah")
    report(result=client.submit(pow, 2, 10).result())
    waiting = client.options(class_="lion").submit(pow, 2, 3)
    while not os.path.exists({flag!r}):
        time.sleep(0.1)
    client.close()
"""


@pytest.fixture
def alice(quiet_cluster, login_node, make_user):
    return make_user("alice", login_node(quiet_cluster), idle_release_s=60)


def figures(text: str) -> dict[str, float]:
    """By name and labels, as they are written."""
    return {name: float(value) for name, value in re.findall(r"^(\w+(?:\{[^}]*\})?) (\S+)$", text, re.M)}


def test_a_user_has_the_own_leases_and_an_operator_those_of_all_with_their_jobs(alice, admin):
    flag = alice.folder / "flag"
    holds = [admin("sbatch", "--parsable", "--qos=lion", "--account=ml", "--gres=gpu:2", "--mem=100M", "--output=/dev/null", "--wrap", "sleep 600", user="bob") for _ in range(2)]
    run = alice.python(WORK.format(flag=str(flag)))
    assert run.reported("result") == 1024
    own = figures(alice.run("pouncectl", "metrics"))
    assert own["pounce_up"] == 1 and own['pounce_leases{class="cheetah",state="idle"}'] + own['pounce_leases{class="cheetah",state="busy"}'] == 1
    assert own['pounce_slurm_requests_total{kind="submits"}'] >= 1 and own["pounce_daemon_resident_memory_bytes"] > 1e6

    def site() -> dict[str, float]:
        return figures(admin("pouncectl", "metrics", "--site", "--window", "1h"))

    def of(found: dict[str, float], family: str, part: str = "") -> float:
        return sum(value for name, value in found.items() if name.startswith(family + "{") and part in name)

    def is_all_there(found: dict[str, float]) -> bool:  # slurmdbd hears of jobs a little later
        return of(found, "pounce_site_leases") >= 2 and of(found, "pounce_site_gpu_held_seconds", 'account="ml"') > 0

    found = wait_until(lambda: is_all_there(seen := site()) and seen, 60, "Slurm has both leases, and slurmdbd a job")
    assert found["pounce_site_up"] == 1 and found["pounce_site_own_jobs_only"] == 0
    assert of(found, "pounce_site_leases", 'class="cheetah",state="running"') == 1
    assert of(found, "pounce_site_leases", 'class="lion"') == 1  # bob's jobs are none of pounce's
    assert of(found, "pounce_site_jobs") == 2 + len(holds)
    assert of(found, "pounce_site_gpus") - of(found, "pounce_site_free_gpus") == of(found, "pounce_site_held_gpus") >= 1
    assert of(found, "pounce_site_held_gpus", 'mode="batch"') % 2 == 0
    assert of(found, "pounce_site_started_jobs", 'account="ml"') >= 1 and found["pounce_site_window_seconds"] == 3600
    flag.touch()
    run.ended()
    admin("scancel", "--user=bob")


def test_an_ordinary_user_may_have_the_sites_figures_too_as_far_as_slurm_shows_it(alice):
    text = alice.run("pouncectl", "metrics", "--site")
    names = set(re.findall(r"^(\w+)(?:\{| )", text, re.M))
    assert {"pounce_site_up", "pounce_site_gpus", "pounce_site_free_gpus"} <= names <= {name for family in FAMILIES.values() for name in series_of(family)}
    assert not names & {family.name for family in FAMILIES.values()} - {family.name for family in SITE} - {name for name in names if name.startswith("pounce_exporter_")}
    if shutil.which("promtool"):
        assert subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True).stdout == ""
