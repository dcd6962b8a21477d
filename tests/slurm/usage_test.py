"""Who holds what and what was made of it, on a real Slurm: pouncectl top, usage and report, for people and for admins."""

from __future__ import annotations

import json
import re

import pytest
from login_node import User, Running, wait_until
from notebooks import Executed, written

# Works for a while, then is idle until a file is there.
WORK = """
    import pounce
    client = pounce.Client(gpus=1, memory="4GB", cpus=2, class_="cheetah")
    def work(seconds):
        until, used, much = time.monotonic() + seconds, time.process_time() + 1.1, bytearray(200 << 20)
        while time.monotonic() < until or time.process_time() < used:  # a busy machine gives it less than it takes
            much[::4096] = bytes(len(much[::4096]))
        return 1024
    report(result=client.submit(work, 4).result())
    while not os.path.exists({flag!r}):
        time.sleep(0.1)
    client.close()
"""


@pytest.fixture
def alice(quiet_cluster, login_node, make_user):
    return make_user("alice", login_node(quiet_cluster), idle_release_s=60)


def shown(who: User, *words: str) -> dict:
    return json.loads(who.run("pouncectl", *words, "--json"))


def lease_after_work(who: User, run: Running) -> dict:
    assert run.reported("result") == 1024
    (lease,) = shown(who, "leases")["leases"]
    return lease


def as_root(admin, *words: str) -> dict:
    return json.loads(admin("pouncectl", *words, "--json"))


def test_top_shows_who_holds_what_to_everybody_and_which_own_lease_is_idle(alice, admin):
    flag = alice.folder / "flag"
    run = alice.python(WORK.format(flag=str(flag)))
    held = admin("sbatch", "--parsable", "--qos=tabby", "--gres=gpu:a100:2", "--mem=100M", "--output=/dev/null", "--wrap", "sleep 600", user="bob")
    admin("sbatch", "--qos=tabby", "--gres=gpu:1", "--mem=100M", "--output=/dev/null", "--wrap", "sleep 600", user="bob")
    job = lease_after_work(alice, run)["job"]

    def lease_of(top: dict) -> dict:
        return next(one for one in top["jobs"] if one["job"] == job)

    wait_until(lambda: lease_of(shown(alice, "top"))["state"] == "idle", 30, "the lease is idle")
    top = as_root(admin, "top")
    first, second = top["jobs"]
    assert (first["user"], first["class"], first["gpus"], first["batch"], first["lease"]) == ("bob", "tabby", {"a100": 2}, True, None)
    assert first["job"] == int(held) and first["end_s"] - first["start_s"] == 12 * 3600
    assert (second["job"], second["user"], sum(second["gpus"].values())) == (job, "alice", 1) and second["lease"]
    assert second["state"] is None  # whether it works is alice's daemon's to say
    (queue,) = top["waiting"]
    assert (queue["class"], queue["jobs"], queue["gpus"]) == ("tabby", 1, 1) and list(queue["reasons"]) == ["QOSMaxJobsPerUserLimit"]
    assert sum(gpu["free"] for gpu in top["gpus"]) == 5

    table = alice.run("pouncectl", "top")
    assert "2 a100" in table and "idle" in table and "pounce " in table and "QOSMaxJobsPerUserLimit" in table
    assert "bob" in admin("pouncectl", "top", user="mallory")  # who may not even submit
    flag.touch()
    run.ended()
    admin("scancel", "--user=bob")


def test_usage_tells_everybody_what_was_leased_and_how_much_of_it_computed(alice, admin):
    flag = alice.folder / "flag"
    run = alice.python(WORK.format(flag=str(flag)))
    held = lease_after_work(alice, run)
    job, lease = held["job"], held["lease"]
    admin("srun", "--qos=tabby", "--gres=gpu:1", "--mem=100M", "sleep", "2", user="bob")
    admin("sbatch", "--wait", "--qos=lion", "--gres=gpu:2", "--mem=100M", "--output=/dev/null", "--wrap", "sleep 2", user="bob")

    def live() -> dict:
        return next(one for one in shown(alice, "report", lease)["reports"])

    wait_until(lambda: live()["idle_ms"] > 3000, 30, "it was idle for a while")
    assert live()["busy_ms"] >= 3500 and not live()["ended"] and 200 <= live()["memory_peak_mib"] < 2000
    flag.touch()
    run.ended()
    wait_until(lambda: live()["ended"], 60, "the end of the lease")
    report = live()
    assert report["suggestion"].startswith("asked 4 GiB of memory, used ") and report["suggestion"].endswith("ask for 1 GiB")
    assert report["asked"]["cpus"] == 2 and report["job"] == job and report["cpu_ms"] > 1000
    assert lease[:8] in alice.run("pouncectl", "report") and "ask for 1 GiB" in alice.run("pouncectl", "report")

    def by_mode() -> dict[str, dict]:
        return {share["mode"]: share for share in as_root(admin, "usage", "--since", "1h", "--by", "mode")["shares"]}

    wait_until(lambda: by_mode()["offload"]["gpu_busy_s"] is not None, 60, "the accounting has what became of the lease")
    shares = by_mode()
    assert 3 <= shares["offload"]["gpu_busy_s"] < shares["offload"]["gpu_known_s"] <= shares["offload"]["gpu_s"]
    busy, idle = re.search(r" busy=(\d+)s idle=(\d+)s", admin("sacct", "-n", "-X", "-P", "-j", str(job), "-o", "comment")).groups()
    assert int(busy) == pytest.approx(report["busy_ms"] / 1000, abs=2) and int(idle) == pytest.approx(report["idle_ms"] / 1000, abs=2)
    assert shares["reservation"]["jobs"] == 1 and shares["reservation"]["gpu_s"] >= 2 and shares["reservation"]["gpu_busy_s"] is None
    assert shares["batch"]["gpu_s"] >= 4

    rows = {(share["user"], share["class"]): share for share in as_root(admin, "usage", "--since", "1h", "--by", "user,class")["shares"]}
    assert rows["alice", "cheetah"]["jobs"] >= 1 and rows["bob", "lion"]["gpu_s"] >= 4
    table = admin("pouncectl", "usage", user="bob")
    assert "warm but idle" in table
    assert "How busy the GPUs of other jobs were is not measured here" in table, "also where Slurm counts gres/gpuutil and measures nothing"


def test_a_worker_that_a_notebook_holds_counts_as_a_reservation_also_when_it_is_cancelled(alice, admin):
    flag = alice.folder / "flag"
    notebook = Executed(alice, written(alice, "import pounce", "%pounce hold --gpu 1 --time 10min", "print('at work')",
                                       f"%%pounce --local\nimport os, time\nwhile not os.path.exists({str(flag)!r}): time.sleep(0.05)"))
    said = lambda: admin("squeue", "--noheader", "--user=alice", "--format=%k")
    wait_until(lambda: "at work" in notebook.run.output and said().endswith(" held"), 120, "its job says that it is held")
    ran = lambda: admin("squeue", "--noheader", "--user=alice", "--format=%M")
    wait_until(lambda: ran() >= "0:02", 30, "it has held a GPU for a time that accounting can tell")

    admin("scancel", "--user=alice")
    flag.touch()

    def modes() -> dict[str, float]:
        shares = as_root(admin, "usage", "--since", "1h", "--by", "user,mode")["shares"]
        return {share["mode"]: share["gpu_s"] for share in shares if share["user"] == "alice"}

    held = wait_until(lambda: modes().get("reservation"), 60, "the accounting has its end")
    notebook.cells()
    assert held > 0


def test_a_span_that_is_none_is_refused(alice):
    assert "no span of time" in alice.run("sh", "-c", "pouncectl usage --since yesterday 2>&1; true")
