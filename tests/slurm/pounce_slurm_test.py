"""pounce-slurm against a real Slurm: what it answers, and what it survives."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import gateway
import pytest
from gateway import Gateway, of_cluster
from login_node import CLUSTER, SHARED, cluster_folder, own_cluster_number, wait_until

CLASSES = ["cheetah", "lion", "panther", "tabby"]


@pytest.fixture(scope="module")
def folder(cluster):
    folder = gateway.programs()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def start(cluster, folder):
    """Starts gateways: `start("alice")` on the shared cluster, `start("alice", number)` on another."""
    started = []

    def start(user="alice", cluster_id=SHARED, **how) -> Gateway:
        started.append(Gateway(folder, user, cluster_id, **how))
        return started[-1]

    yield start
    for one in started:
        one.close()


def run(*words: str, cluster_id: int = SHARED) -> str:
    done = subprocess.run(
        [str(CLUSTER), "run", "--", *words],
        capture_output=True,
        text=True,
        timeout=60,
        env=of_cluster(cluster_id),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_queue(gateway: Gateway) -> list[dict]:
    return [job for job in gateway.reconcile() if job["state"] != "ended"]


# ---- the contract of every launcher ----


def test_the_launchers_contract_holds_on_a_real_slurm(cluster, folder):
    words = [
        str(cluster),
        "run",
        "--as",
        "alice",
        "--",
        "env",
        f"POUNCE_SLURM_PROGRAM={folder}/pounce-slurm",
        f"{folder}/contract",
        "--gtest_filter=*slurm",
        "--gtest_brief=1",
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    assert "PASSED" in done.stdout and "SKIPPED" not in done.stdout, done.stdout


# ---- what it tells ----


def test_a_snapshot_of_the_cluster_tells_each_node_and_the_names_behind_a_list(start):
    snapshot = start().ask("cluster_snapshot", not_nodes="g[1-3],h1")["answer"]

    assert snapshot["default_partition"] == "bigcats" and snapshot["not_nodes"] == ["g1", "g2", "g3", "h1"]
    nodes = {node["name"]: node for node in snapshot["nodes"]}
    assert sorted(nodes) == ["g1", "g2"]
    g2 = nodes["g2"]
    assert (g2["cpus"], g2["memory_mib"], g2["partitions"]) == (32, 131072, ["bigcats"])
    assert {gpu["gpu_type"]: gpu["total"] for gpu in g2["gpus"]} == {"a100": 2, "a100_3g.20gb": 2}
    assert sorted(one["class"] for one in snapshot["use"]["classes"]) == CLASSES


def test_a_running_job_is_no_room_any_more(start):
    alice = start()
    job = alice.submit(cpus=2, memory_mib=1000, gpus=1, gpu_type="a100_3g.20gb")["answer"]
    wait_until(lambda: alice.view(job)["state"] == "running", 60, "the job runs")

    node = next(one for one in alice.ask("cluster_snapshot", not_nodes="")["answer"]["nodes"] if one["name"] == "g2")

    assert node["cpus_free"] <= 30 and node["memory_free_mib"] <= 131072 - 1000
    assert next(gpu for gpu in node["gpus"] if gpu["gpu_type"] == "a100_3g.20gb")["free"] <= 1


def test_facts_name_the_cluster_and_the_users_classes_with_their_limits(start):
    facts = start().ask("facts")["answer"]

    assert facts["cluster"] == f"pounce{SHARED}" and facts["version"].startswith("slurm ")
    assert (
        facts["auth_type"] == "auth/munge" and facts["munge_socket"] == f"{cluster_folder(SHARED)}/run/munge.sock"
    )
    assert facts["controller_address"] == f"10.77.{SHARED}.254"
    assert facts["default_partition"] == "bigcats" and facts["default_class"] == "cheetah"
    limits = {one["class"]: one for one in facts["classes"]}
    assert sorted(limits) == CLASSES, "normal is there too, but not open to alice"
    assert limits["cheetah"]["max_time_min"] == 30 and limits["lion"]["max_running_per_user"] == 4


def test_the_libslurm_that_is_loaded_is_named_by_its_file(start):
    version = start().ask("version")["answer"]
    path = version.split(" ")[0]
    assert Path(path).exists() and "libslurm" in path


def test_a_job_shows_the_devices_it_was_given(start):
    alice = start()
    job = alice.submit(gpus=1, gpu_type="a100_3g.20gb")["answer"]
    running = wait_until(lambda: (view := alice.view(job))["state"] == "running" and view, 60, "it runs")
    assert running["nodes"] == "g2"
    assert running["devices"].startswith("gpu:a100_3g.20gb:1(IDX:") and running["devices"].count("gpu:") == 1
    assert running["resources"]["gpus"] == 1 and running["resources"]["gpu_type"] == "a100_3g.20gb"
    assert running["end_time_s"] - running["start_time_s"] == 1800, "cheetah's walltime, read from Slurm"


def test_the_batch_script_is_a_fixed_template(start):
    alice = start()
    job = alice.submit("/bin/sleep", "it's 1000")["answer"]
    assert run("scontrol", "write", "batch_script", str(job["job"]), "-") == (
        "#!/bin/sh\ntrap '' USR2\nexec '/bin/sleep' 'it'\\''s 1000'\n"
    )


# ---- what it refuses ----


def refused(answer: dict, code: str, *words: str) -> dict:
    error = answer["error"]
    assert error["code"] == code, error
    for word in words:
        assert word in error["text"], error
    return error


def test_an_unknown_class_is_answered_with_those_there_are(start):
    error = refused(start().submit(class_="tiger"), "unknown_class", "tiger", ", ".join(CLASSES))
    assert "normal" not in error["text"]


def test_a_class_that_is_not_open_to_the_user_is_not_called_unknown(start):
    refused(start().submit(class_="normal"), "unknown_class", "not open to user alice", "cheetah")


def test_a_user_without_an_association_is_named(start):
    refused(start("mallory").submit(), "no_association", "mallory")


@pytest.mark.parametrize(
    "asked, words",
    [
        ({"gpus": 9}, ["9 GPUs"]),
        ({"gpus": 1, "gpu_type": "h100"}, ["h100"]),
        ({"gpus": 3, "gpu_type": "a100_3g.20gb"}, ["a100_3g.20gb"]),
        ({"memory_mib": 1 << 30}, ["MiB"]),
        ({"cpus": 99}, ["99 CPUs"]),
        ({"time_min": 31}, ["30 minutes", "31 minutes"]),
        ({"gpus": 1, "class_": "panther"}, ["panther", "0 GPUs"]),
    ],
    ids=str,
)
def test_what_no_waiting_can_give_is_refused_at_once_and_leaves_nothing_queued(start, asked, words):
    alice = start()
    refused(alice.submit(**asked), "unsatisfiable", *words)
    assert in_queue(alice) == []


def test_what_another_class_would_give_is_said(start):
    assert "lion" in refused(start().submit(time_min=31), "unsatisfiable")["remedy"]


def test_root_is_refused_and_still_told_the_version(start):
    root = start("root")
    refused(root.submit(), "refuses_root")
    assert "libslurm" in root.ask("version")["answer"]


@pytest.mark.parametrize("user", ["alice", "root"])
def test_who_is_no_admin_command_reads_and_writes_no_qos(start, user):
    helper = start(user)
    refused(helper.ask("read_qos"), "protocol")
    refused(helper.ask("write_qos", qos=[]), "protocol")
    refused(helper.ask("allocations"), "protocol")
    refused(helper.ask("accounting"), "protocol")
    refused(helper.ask("jobs", from_s=0, to_s=1, after=0, steps=False), "protocol")
    refused(helper.ask("node_events", from_s=0, to_s=1), "protocol")


def test_a_note_in_the_comment_leaves_the_tag_and_is_for_ones_own_jobs_only(start):
    alice, bob = start(), start("bob")
    job = alice.submit()["answer"]

    alice.ask("note", job=job, comment=f"pounce:1:{alice.instance}:{alice.reconcile()[0]['lease']} busy=3s idle=4s")

    assert "busy=3s idle=4s" in run("squeue", "--noheader", f"--jobs={job['job']}", "--format=%k")
    assert [view["job"] for view in alice.reconcile()] == [job]
    assert "error" in bob.ask("note", job=job, comment="mine")
    assert "error" not in alice.ask("note", job={"job": 4_000_000_000}, comment="of a job that is gone")


def test_a_broken_slurm_conf_is_answered_with_libslurms_own_words(start, tmp_path):
    broken = tmp_path / "slurm.conf"
    broken.write_text(run("sh", "-c", "cat $SLURM_CONF") + "\nThisIsNoKey=1\n")
    for part in [tmp_path, *tmp_path.parents[:-2]]:
        part.chmod(0o755)
    broken.chmod(0o644)
    alice = start(SLURM_CONF=str(broken))
    for _ in range(2):
        answer = alice.ask("facts")
        refused(answer, "slurm_config", "ThisIsNoKey")
        assert answer["seconds"] < 5


def test_a_missing_slurm_conf_is_answered_at_once(start):
    answer = start(SLURM_CONF="/nowhere/slurm.conf").ask("facts")
    refused(answer, "slurm_config", "/nowhere/slurm.conf")
    assert answer["seconds"] < 5, "libslurm itself would wait for a minute"


def test_without_any_slurm_conf_there_is_no_slurm(start):
    if any(Path(conf).exists() for conf in ("/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf")):
        pytest.skip("this machine has a Slurm of its own")
    refused(start(SLURM_CONF="").ask("facts"), "no_slurm")


def test_nothing_of_an_outer_job_reaches_an_inner_one(start):
    outer = {
        "SLURM_MEM_PER_NODE": "70000",
        "SLURM_MEM_PER_CPU": "300",
        "SLURM_CPUS_PER_TASK": "7",
        "SLURM_JOB_QOS": "lion",
        "SLURM_GPUS": "2",
        "SLURM_JOB_ID": "1",
        "SLURM_TRES_PER_TASK": "gres:gpu:2",
        "SBATCH_QOS": "lion",
    }
    alice = start(**outer)
    job = alice.submit(memory_mib=0)["answer"]
    shown = run("scontrol", "show", "job", str(job["job"]))
    assert (
        "QOS=cheetah" in shown
        and "NumCPUs=1 " in shown
        and "MinMemoryCPU=4G" in shown
        and "gres/gpu" not in shown
    )


# ---- what it survives: on a cluster whose daemons these tests may stop ----


@pytest.fixture(scope="module")
def own_cluster():
    if os.geteuid() != 0:
        pytest.skip("only root can start the disposable Slurm and its namespaces")
    with own_cluster_number() as number:
        subprocess.run([str(CLUSTER), "up"], check=True, env=of_cluster(number), stdout=subprocess.DEVNULL)
        yield number
        subprocess.run([str(CLUSTER), "down"], check=True, env=of_cluster(number), stdout=subprocess.DEVNULL)


def daemon_of(cluster_id: int, name: str) -> int:
    return int(Path(f"/opt/pounce-cluster-{cluster_id}/run/{name}.pid").read_text())


class Stopped:
    """A daemon that hangs while the block runs."""

    def __init__(self, cluster_id: int, name: str):
        self.pid = daemon_of(cluster_id, name)

    def __enter__(self):
        os.kill(self.pid, signal.SIGSTOP)

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGCONT)


@pytest.fixture(scope="module")
def early_job(own_cluster, folder):
    """A job that ended before the others tests of this cluster began: slurmctld forgets it while they run."""
    alice = Gateway(folder, "alice", own_cluster)
    job = alice.submit("/bin/sh", "-c", "exit 3")["answer"]
    wait_until(lambda: alice.view(job)["state"] == "ended", 60, "the early job ends")
    yield alice, job
    alice.close()


@pytest.fixture(scope="module")
def warned_job(own_cluster, folder, early_job):
    """A job of one minute whose program writes down the signals it gets."""
    log = Path("/home/alice") / f"warned-{own_cluster}.log"
    program = """
import os, signal, sys, time
def note(number, frame):
    os.write(1, signal.Signals(number).name.encode() + b"\\n")
for name in ("SIGUSR1", "SIGUSR2", "SIGTERM"):
    signal.signal(getattr(signal, name), note)
while True: time.sleep(0.1)
"""
    alice = Gateway(folder, "alice", own_cluster)
    spec = gateway.a_job(alice.instance, "/usr/bin/python3", "-c", program, time_min=1)
    job = alice.ask("submit", spec={**spec, "log_path": str(log)})["answer"]
    yield alice, job, log
    alice.close()
    log.unlink(missing_ok=True)  # its job may not have begun


def test_a_hung_slurmctld_makes_a_submit_unclear_and_exactly_one_job_of_it(own_cluster, warned_job, start):
    submitting, asking, hurrying, dying = (
        start(cluster_id=own_cluster, deadline_ms=ms) for ms in (30_000, 30_000, 2_000, 30_000)
    )
    for one in (submitting, asking, hurrying, dying):
        one.ask("facts")  # libslurm is up: what hangs now is one call
    killed = dying.helper

    with Stopped(own_cluster, "slurmctld"):
        for one in (submitting, hurrying, dying):
            one.send("submit", spec=gateway.a_job(one.instance))
        asking.send("reconcile")
        refused(hurrying.receive(), "outcome_unknown", "2000 ms")
        os.kill(killed, signal.SIGKILL)
        refused(dying.receive(), "outcome_unknown", "signal 9")
        refused(submitting.receive(), "outcome_unknown", "slurmctld did not answer")
        refused(asking.receive(), "slurm_unreachable")

    assert len(wait_until(submitting.reconcile, 30, "the submit that timed out has happened")) == 1
    assert len(asking.reconcile()) == 0
    # Each of these may have been sent or not; the new helper's reconciliation tells, and shows never more than one.
    for one in (hurrying, dying):
        assert len(one.reconcile()) <= 1
    assert dying.helper != killed


def test_a_walltime_is_announced_by_sigusr2_and_never_by_sigusr1(warned_job):
    alice, job, log = warned_job
    wait_until(lambda: alice.view(job)["state"] in ("running", "ending", "ended"), 60, "it starts")
    wait_until(lambda: log.exists() and "SIGUSR2" in log.read_text(), 90, "it is warned")
    assert "SIGUSR1" not in log.read_text()


def test_a_hung_slurmdbd_costs_a_poll_only_the_answer_of_forgotten_jobs(own_cluster, start, warned_job):
    alice = start(cluster_id=own_cluster)
    job = alice.submit()["answer"]
    with Stopped(own_cluster, "slurmdbd"):
        answer = alice.ask("poll", jobs=[job, {"job": 3_999_999, "submit_time_s": 1}])
    known, unknown = answer["answer"]
    assert known["state"] != "ended"
    assert unknown["end"] == "gone"
    assert answer["seconds"] < 20


def test_a_forgotten_jobs_end_is_told_by_slurmdbd_also_after_its_restart(own_cluster, early_job):
    alice, job = early_job
    helper = alice.helper

    def forgotten() -> bool:
        words = [str(CLUSTER), "run", "--", "scontrol", "show", "job", str(job["job"])]
        return subprocess.run(words, capture_output=True, env=of_cluster(own_cluster)).returncode != 0

    wait_until(forgotten, 180, "slurmctld forgets the job: MinJobAge 30 s, looked at once a minute")
    assert alice.view(job)["end"] == "failed", "from slurmdbd"
    os.kill(daemon_of(own_cluster, "slurmdbd"), signal.SIGTERM)
    assert alice.view(job)["end"] == "gone", "slurmctld has no record and nobody else answers"
    subprocess.run([str(CLUSTER), "up"], check=True, stdout=subprocess.DEVNULL, env=of_cluster(own_cluster))

    view = alice.view(job)

    assert view["end"] == "failed" and view["exit_code"] == 3
    assert alice.helper == helper, "the same helper all the time"
