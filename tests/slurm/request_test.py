"""What a user asks for and what Slurm is asked for: the site's policy decides what is left open, and takes effect as it changes.

The cluster is a spare one: accounts, reservations and full GPUs are everybody's. g1 has four a100; g2 has two, and two slices.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from login_node import CLUSTER, User, wait_until

POLICY = {
    "classes": {
        "quick": {"qos": "cheetah", "walltime": "30min", "running_jobs_per_user": 20},
        "day": {"qos": "lion", "walltime": "24h", "running_jobs_per_user": 4},
    },
    "gpu_types": {"a100": "40GB", "a100_3g.20gb": "20GB"},
    "gpu_cuda": {"a100": "12.4", "a100_3g.20gb": "12.4"},
    "slurm_options": ["nice", "nodelist"],
}

# Calls one function for each set of options, each in a lease of its own; tells what it returned and what Slurm has of its job.
CALLS = """
    import pounce, subprocess
    def facts():
        import os
        inodes = set()
        for fd in os.listdir("/proc/self/fd"):
            try:
                target = os.readlink(f"/proc/self/fd/{fd}")
            except OSError:
                continue
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
        rows = [line.split() for line in open("/proc/self/net/tcp")][1:]
        ports = [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes]
        return dict(ports=ports, **{name: os.environ.get(name) for name in ("FROM_SITE", "IN_CONTAINER", "BY_SITE")})
    client = pounce.Client()
    FORMAT = "%i|%j|%q|%P|%a|%v|%N|%b|%y"
    def jobs():
        return set(subprocess.check_output(["squeue", "--me", "--noheader", "--format=%i"], text=True).split())
    for options in {calls!r}:
        before = jobs()
        future = client.options(**options).submit(facts)
        try:
            told = future.result(100)
        except pounce.PounceError as e:
            report(refused=error(e), remedy=e.remedy, submitted=sorted(jobs() - before))
            continue
        rows = subprocess.check_output(["squeue", "--me", "--noheader", "--sort=-i", "--format=" + FORMAT], text=True)
        names = ("id", "name", "qos", "partition", "account", "reservation", "node", "gpus", "nice")
        report(told=told, job=dict(zip(names, rows.splitlines()[0].split("|"))), text=rows)
    client.close()
"""


class Site:
    """A policy file, and alice, whose daemon goes by it."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pounce-site-"))
        self.folder.chmod(0o755)
        self.path = self.folder / "policy.json"
        self.write()
        self.alice: User

    def write(self, text: str = "", **changes) -> None:
        """By a rename, as an editor does."""
        other = self.folder / "new.json"
        other.write_text(text or json.dumps({**POLICY, **changes}))
        other.chmod(0o644)
        other.rename(self.path)

    def calls(self, *calls: dict) -> list[dict]:
        return self.alice.python(CALLS.replace("{calls!r}", repr(list(calls)))).ended(150).reports

    def job(self, **options) -> dict:
        (report,) = self.calls(options)
        assert "job" in report, report
        return report["job"]

    def told(self, **options) -> dict:
        (report,) = self.calls(options)
        assert "told" in report, report
        return report["told"]

    def refused(self, **options) -> dict:
        (report,) = self.calls(options)
        assert "refused" in report, report
        assert report["submitted"] == []
        return {**report["refused"], "remedy": report["remedy"]}


@pytest.fixture
def site(quiet_cluster, login_node, make_user):
    site = Site()
    site.alice = make_user("alice", login_node(quiet_cluster), poll_max_s=2, idle_release_s=1, policy=str(site.path))
    yield site
    shutil.rmtree(site.folder)


def test_the_smallest_gpu_with_enough_memory_is_taken(site):
    slice_, whole = site.calls({"gpu_memory": ">=16GB"}, {"gpu_memory": ">=32GB", "cuda": ">=12"})

    assert slice_["job"]["gpus"].endswith("gpu:a100_3g.20gb:1"), slice_
    assert whole["job"]["gpus"].endswith("gpu:a100:1"), whole


def test_of_several_gpu_types_the_first_that_is_free_is_taken(site, admin):
    preferred = {"gpu_type": ["a100_3g.20gb", "a100"], "time": "5min"}
    assert site.job(**preferred)["gpus"].endswith("a100_3g.20gb:1")

    holder = admin("sbatch", "--parsable", "--gres=gpu:a100_3g.20gb:2", "--time=10", "--output=/dev/null", "--wrap", "sleep 1000", user="bob")
    try:
        wait_until(lambda: "RUNNING" in admin("scontrol", "show", "job", holder), 30, "bob's job runs")

        assert site.job(**preferred)["gpus"].endswith("gpu:a100:1")
    finally:
        admin("scancel", "--user=bob")


def test_the_tab_key_knows_the_types_of_gpus(site):
    run = site.alice.python("""
        from pounce.cell.completion import Completion
        offers, deadline = Completion(list, list), time.monotonic() + 30
        while not offers.of("%%pounce --gpu ", "") and time.monotonic() < deadline:
            pass  # the first tab finds nothing: the answer is on its way
        report(all=offers.of("%%pounce --gpu ", ""), begun=offers.of("%%pounce --gpu-type a100_", "a100_"), instead=offers.of("%%pounce --or a100_", "a100_"))
    """).ended()

    assert run.reported("all") == ["a100", "a100_3g.20gb"]
    assert run.reported("begun") == run.reported("instead") == ["a100_3g.20gb"]


def test_nodes_can_be_left_out(site):
    assert site.job(not_nodes="g1", gpus="a100")["node"] == "g2"
    assert site.job(not_nodes=["g2"])["node"] == "g1"


def test_a_node_that_is_none_is_refused(site):
    error = site.refused(not_nodes="g[1-3]")

    assert error["type"] == "BadRequest" and "not_nodes names g3, which is no node" in error["text"]


def test_a_class_is_chosen_and_is_another_qos(site):
    quick, day = site.calls({}, {"time": "1h"})

    assert (quick["job"]["name"], quick["job"]["qos"]) == ("pounce-quick", "cheetah")
    assert (day["job"]["name"], day["job"]["qos"]) == ("pounce-day", "lion")


def test_the_classes_are_told_by_their_names_in_the_policy(site):
    site.write(fallbacks={"quick": ["day"]})

    run = site.alice.python("""
        import pounce
        rows = pounce.classes()
        report(classes={name: [rows[name].default, list(rows[name].instead)] for name in rows})
    """).ended()

    classes = run.reported("classes")
    assert classes["quick"] == [True, ["day"]] and classes["day"] == [False, []]
    assert "cheetah" not in classes and "tabby" in classes  # of which the policy has no word


def test_what_no_class_gives_is_refused_before_anything_is_submitted(site):
    error = site.refused(time="2d")

    assert error["type"] == "Unsatisfiable"
    assert "class quick gives at most 30min; class day gives at most 1d" in error["text"]


def test_a_gpu_type_that_is_not_there_is_refused_with_those_that_are(site):
    error = site.refused(gpu_type=["h100", "h200"])

    assert error["type"] == "Unsatisfiable" and "h100 (not there), h200 (not there)" in error["text"]
    assert "a100, a100_3g.20gb" in error["remedy"]


@pytest.mark.parametrize("options", [{"gpu_memory": "41GB"}, {"cuda": "13"}, {"cpus": 33}, {"memory": "200GB"}, {"gpus": "a100:5"}])
def test_what_no_node_has_is_refused(site, options):
    error = site.refused(**options)

    assert error["type"] == "Unsatisfiable"
    assert "32 CPUs, 128GB of memory, 4 GPUs" in error["remedy"]


def test_with_a_class_too_it_is_said_what_a_node_has(site):
    error = site.refused(class_="quick", cpus=33)

    assert error["type"] == "Unsatisfiable" and "32 CPUs" in error["remedy"]


def test_a_job_is_charged_to_the_account_that_is_named(site, admin):
    admin("sacctmgr", "--immediate", "add", "account", "bio")
    admin("sacctmgr", "--immediate", "add", "user", "alice", "account=bio", "qos=cheetah,lion")
    try:
        assert site.job(account="bio")["account"] == "bio"
        assert site.job()["account"] == "ml"
        error = site.refused(account="chemistry")
        assert error["type"] == "NoAssociation"
        assert "user alice has no account 'chemistry'; the accounts are " in error["text"] and "bio" in error["text"]
        assert "account=" in error["remedy"]
        assert "is not open in the account of this job; it is in: ml" in site.refused(account="bio", class_="tabby")["text"]
    finally:
        admin("sacctmgr", "--immediate", "remove", "user", "alice", "account=bio")
        admin("sacctmgr", "--immediate", "remove", "account", "bio")


def test_a_job_runs_in_the_reservation_that_is_named(site, admin):
    admin("scontrol", "create", "reservation", "reservation=course", "users=alice", "starttime=now", "duration=20", "nodes=g2")
    try:
        job = site.job(reservation="course")
        assert (job["reservation"], job["node"]) == ("course", "g2")
        error = site.refused(reservation="curse")
        assert "reservation 'curse'" in error["text"] and "the reservations are course" in error["text"]
    finally:
        admin("scontrol", "delete", "reservation", "course")


def test_a_job_with_a_nice_value_steps_back_in_the_queue(site):
    assert site.job(nice=100)["nice"] == "100"
    assert site.job(nice=2147483645)["nice"] == "2147483645"
    assert site.job()["nice"] == "0"


def test_slurms_own_options_are_passed_on_as_the_policy_says(site):
    job = site.job(slurm={"nice": 7, "nodelist": "g2"})
    assert (job["nice"], job["node"]) == ("7", "g2")
    error = site.refused(slurm={"licenses": "matlab"})

    assert error["type"] == "BadRequest" and "--licenses" in error["text"] and "nice, nodelist" in error["remedy"]


def test_leases_can_keep_apart_or_together(site):
    site.alice.folder.chmod(0o1777)
    run = site.alice.python("""
        import pounce, time
        def node():
            import os
            return os.uname().nodename
        def stay(flag):
            import os, time
            while not os.path.exists(flag):
                time.sleep(0.05)
        client = pounce.Client()
        first = client.options(not_nodes="g2").submit(stay, {flag!r})  # on g1
        while not first.running():
            time.sleep(0.05)
        for options in ({"spread": True}, {"pack": True}):
            future = client.options(time="5min", **options).submit(time.sleep, 1)
            while not future.running() and not future.done():
                time.sleep(0.02)
            rows = [row for row in client.queue() if row.state == "RUNNING"]
            report(**{next(iter(options)): rows[-1].node})
            future.result(60)
        open({flag!r}, "w").close()
        client.close()
    """.replace("{flag!r}", repr(str(site.alice.folder / "flag")))).ended(150)

    assert run.reported("spread") == "g2"
    assert run.reported("pack") == "g1"


def test_a_changed_policy_holds_without_a_restart_and_a_broken_one_does_not(site):
    daemon = site.alice.endpoint()["pid"]
    assert site.job()["qos"] == "cheetah"

    site.write(classes={"quick": {"qos": "tabby", "walltime": "30min"}})
    assert site.job()["qos"] == "tabby"

    site.write("{ not JSON")
    assert site.job()["qos"] == "tabby"
    assert "this policy is not used as it is now" in site.alice.run("pouncectl", "status")
    doctor = json.loads(site.alice.run("pouncectl", "doctor", "--json", check=False))
    (check,) = [check for check in doctor["checks"] if check["check"] == "policy"]
    assert check["state"] == "wrong" and str(site.path) in check["text"]

    site.write()
    assert site.job()["qos"] == "cheetah"
    assert site.alice.endpoint()["pid"] == daemon


def test_workers_start_as_the_site_says(site):
    python = site.folder / "python-alice"
    python.write_text('#!/bin/sh\nexport BY_SITE=yes\nexec "$SITES_PYTHON" "$@"\n')
    python.chmod(0o755)
    real = site.alice.run("sh", "-c", "command -v python").strip()
    site.write(prologue=f"export FROM_SITE=yes\nexport SITES_PYTHON={real}", interpreter=str(site.folder) + "/python-{user}",
               container="env 'IN_CONTAINER=a box' {command}", ports="51000-51099", interface="eth0")

    told = site.told()

    assert (told["FROM_SITE"], told["BY_SITE"], told["IN_CONTAINER"]) == ("yes", "yes", "a box")
    assert told["ports"] and all(51000 <= port <= 51099 for port in told["ports"])


def test_a_container_wraps_the_workers_and_the_stop_button_reaches_into_it(site):
    if shutil.which("bwrap") is None:
        pytest.skip("there is no bubblewrap: packaging/install-system --only test installs it")
    hidden = site.folder / "hidden"
    hidden.mkdir()
    (hidden / "outside").touch()
    site.write(container=f"bwrap --dev-bind / / --tmpfs {hidden} --unshare-uts --hostname box --unshare-pid --proc /proc {{command}}")

    run = site.alice.python(f"""
        import pounce
        def look():
            import os, socket
            return dict(host=socket.gethostname(), pid=os.getpid(), sees=os.listdir({str(hidden)!r}), size=len(os.urandom(20_000_000)))
        client = pounce.Client()
        before = client.submit(look).result(100)
        future = client.submit(time.sleep, 1000)
        while not future.running():
            time.sleep(0.05)
        client.cancel(future)
        try:
            future.result(60)
        except pounce.Cancelled:
            report(cancelled=True)
        report(before=before, after=client.submit(look).result(60))
        client.close()
    """).ended(200)

    before, after = run.reported("before"), run.reported("after")
    assert run.reported("cancelled") and (before["host"], before["sees"], before["size"]) == ("box", [], 20_000_000)
    assert before["pid"] < 100 and after == before  # a world of processes of its own, and the same Python


def test_a_prologue_that_fails_ends_the_job_and_its_words_are_told(site):
    site.write(prologue="echo the module is gone; exit 3")

    error = site.calls({})[0]["refused"]

    assert error["type"] == "LeaseEnded" and "ended by itself with exit code 3" in error["text"]
    logs = Path(site.alice.endpoint()["log"]).parent / "leases"
    assert any("the module is gone" in log.read_text() for log in logs.iterdir())


@contextlib.contextmanager
def job_table_locked(lock: str, seconds: int, cluster: int):
    """`read`: slurmdbd answers, but writes nothing about jobs. `write`: it does not answer about jobs."""
    command = f"lock tables pounce{cluster}_job_table {lock}; select 'locked'; select sleep({seconds})"
    mysql = ["mysql", f"--socket=/opt/pounce-cluster-{cluster}/run/mysql.sock", "--unbuffered", "--skip-column-names", "slurm_acct",
             "--execute", command]
    with subprocess.Popen(mysql, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "locked\n"
        yield


@pytest.mark.parametrize("lock, seconds", [(None, 0), ("read", 6), ("write", 9)])
def test_a_job_that_root_ends_before_its_worker_came_is_tried_again_soon(lock, seconds, site):
    """As slurmd does where it cannot start one: another is asked for at once, and not after the minute that an order holds. Who ended
    a job only slurmdbd knows, and it may hear and answer late."""
    started, begun = site.folder / "started", site.folder / "begun"
    begun.mkdir()
    begun.chmod(0o777)
    site.write(prologue=f"[ -e {started} ] || {{ touch {begun}/now; sleep 100; }}")
    run = site.alice.python("""
        import pounce
        client = pounce.Client()
        report(result=client.submit(pow, 2, 10).result(100))
        client.close()
    """)
    wait_until(lambda: (begun / "now").exists(), 60, "its job runs, and no worker comes")
    (job,) = [job for job in site.alice.jobs() if job["state"] == "RUNNING"]
    cluster = site.alice.node.cluster_id

    started.touch()
    start = time.monotonic()
    with job_table_locked(lock, seconds, cluster) if lock else contextlib.nullcontext():
        subprocess.run([str(CLUSTER), "run", "--", "scancel", job["id"]], check=True, env={**os.environ, "POUNCE_CLUSTER_ID": str(cluster)})

    assert run.ended(100).reported("result") == 1024
    if time.monotonic() - start >= 40:
        pytest.fail(f"it was taken for a user's order\n{Path(site.alice.endpoint()['log']).read_text()[-6000:]}")
    assert "could not be started on" in run.output
