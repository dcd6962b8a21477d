"""The past of a site as the real slurmdbd has it: rows of every kind put into its database, each sum compared to the second, and
what pouncectl usage does when slurmdbd hides, ends or forgets."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import subprocess
import sys
import time

import pytest
from gateway import of_cluster
from login_node import CLUSTER, ROOT, cluster_folder, wait_until

sys.path.insert(0, str(ROOT / "tests" / "python"))
from insight_past import DAY, past, truths
from pounce.insight.jobs import Job, node_names

NOW = int(time.time()) // DAY * DAY  # the past ends with a day
STATES = {"PENDING": 0, "RUNNING": 1, "COMPLETED": 3, "CANCELLED": 4, "REQUEUED": 1024}
FIRST = time.strftime("%Y-%m-%d", time.gmtime(NOW - 12 * DAY))
FIGURES = ("jobs", "started", "gpu_s", "cpu_s", "waited_s", "gpu_known_s", "gpu_said_s")
KEYS = ("user,class", "account,mode", "partition", "node", "gpu", "day", "weekday,hour", "week,user")


class Database:
    """The tables below slurmdbd. Its jobs are those of `insight_past`, under the cluster's own users, accounts and classes."""

    def __init__(self, number: int):
        self.folder, self.cluster = cluster_folder(number), f"pounce{number}"
        self.of_user = {user: int(number) for number, user, account in self.rows("select id_assoc, user, acct from {}_assoc_table") if account == "ml" and user}
        self.of_qos = {name: int(number) for number, name in self.rows("select id, name from qos_table")}

    def rows(self, statement: str) -> list[list[str]]:
        words = ["mariadb", "--no-defaults", f"--socket={self.folder}/run/mysql.sock", "--batch", "--skip-column-names", "slurm_acct"]
        done = subprocess.run(words, input=statement.format(self.cluster), capture_output=True, text=True, check=True)
        return [line.split("\t") for line in done.stdout.splitlines()]

    def add(self, jobs: list[Job]) -> None:
        values = ",\n".join(self.row(job) for job in jobs)
        self.rows("insert into {}_job_table (account, cpus_req, derived_es, job_name, id_assoc, id_array_job, id_array_task, id_job, id_qos, id_resv, "
                  "id_wckey, id_user, id_group, het_job_id, het_job_offset, state_reason_prev, nodelist, nodes_alloc, `partition`, priority, state, "
                  "timelimit, time_submit, time_eligible, time_start, time_end, time_suspended, submit_line, tres_alloc, tres_req) values " + values)

    def row(self, job: Job) -> str:
        comment = f"pounce:1:466d2258eaa0:{job.lease} busy={job.busy_s}s idle={job.idle_s}s" if job.lease else ""
        line = {"reservation": "srun --pty bash", "batch": "sbatch run.sh", "offload": "sbatch"}[job.mode]
        held = f"1={job.cpus},2=100,3=18446744073709551614,4=1" + (f",1001={job.gpus}" if job.gpus else "")
        values = (job.account, 1, comment, job.name, self.of_user.get(job.user, 999), job.array_job, 3 if job.array_job else 4294967294, job.job,
                  self.of_qos[job.class_name], 0, 0, 65533, 0, 0, 4294967294, 0, job.nodes, 1, job.partition, 1, STATES[job.state], 60,
                  job.submit_s, job.eligible_s, job.start_s, job.end_s, job.suspended_s, line, held, held)
        return "(" + ", ".join(f"'{value}'" for value in values) + ")"


def as_slurm_has_it(job: Job) -> Job:
    """What of a made-up job the tables can hold. A comment counts for no more time than the job ran."""
    user = {"zoë": "65533", "=cmd": "root"}.get(job.user, job.user)  # the first has no association and no account of the machine
    of_node = {"a100": job.gpus} if job.gpus and "g1" in node_names(job.nodes) else {}  # the only node with one model
    job = dataclasses.replace(job, user=user, account="ml", gpu_types=of_node, energy_j=-1, gpu_use_permille=-1, wckey="")
    ran = (job.end_s or NOW) - job.start_s
    if job.lease and (not job.start_s or job.busy_s + job.idle_s > ran + 60):
        job.busy_s = job.idle_s = -1
    return job


@pytest.fixture(scope="module")
def jobs() -> list[Job]:
    # What still runs or waits is slurmctld's to say: those are another test's.
    return [job for job in map(as_slurm_has_it, past(300, seed=5, now_s=NOW)) if job.end_s]


@pytest.fixture(scope="module")
def database(spare_cluster, jobs):
    subprocess.run([str(CLUSTER), "up"], env=of_cluster(spare_cluster), check=True, stdout=subprocess.DEVNULL)
    database = Database(spare_cluster)
    database.add(jobs)
    return database


@pytest.fixture(scope="module")
def usage(database, spare_cluster):
    def usage(*words: str, user: str = "root", code: int = 0) -> str:
        command = [str(CLUSTER), "run", "--as", user, "--", "env", "TZ=Australia/Melbourne", "pouncectl", "usage", *words]
        done = subprocess.run(command, env=of_cluster(spare_cluster), capture_output=True, text=True, timeout=90)
        assert done.returncode == code, f"{words}: {done.stdout}\n{done.stderr}"
        return done.stdout + (done.stderr if code else "")

    return usage


@pytest.fixture(scope="module")
def store(usage, tmp_path_factory, jobs) -> str:
    """A store of this past. Its folder is root's, who collects."""
    file = str(tmp_path_factory.mktemp("insight") / "usage.sqlite")
    usage("collect", "--quiet", "--store", file, "--from", FIRST)
    assert json.loads(usage("store", "--store", file, "--json"))["jobs"] == len(jobs)
    return file


def shares(document: dict) -> dict[tuple, list]:
    return {tuple(share[key] for key in document["by"]): [share[name] for name in FIGURES] for share in document["shares"]}


def expected(jobs: list[Job], keys: str, from_s: int, to_s: int) -> dict[tuple, list]:
    found = truths(jobs, keys.split(","), from_s, to_s, NOW, "Australia/Melbourne")
    return {key: [truth.jobs, truth.started, truth.gpu_s, truth.cpu_s, truth.waited_s, truth.known_s, truth.said_s] for key, truth in found.items()}


@pytest.mark.parametrize("store_or_none, keys", [("store", keys) for keys in KEYS] + [("none", "user,class"), ("none", "node,gpu,weekday")])
def test_every_sum_of_the_real_accounting_is_right_to_the_second(usage, store, jobs, store_or_none, keys):
    document = json.loads(usage("--since", "8d", "--by", keys, "--store", store if store_or_none == "store" else "none", "--json"))

    assert shares(document) == expected(jobs, keys, document["from_s"], document["to_s"])


def test_slurm_itself_sums_to_the_same(database, jobs, admin):
    """sacct cuts jobs at the edges of a span, too."""
    begin, end = NOW - 4 * DAY - 1234, NOW - DAY
    clock = lambda moment: time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))
    lines = admin("env", "TZ=UTC", "sacct", "-a", "-X", "-D", "-n", "-P", "-T", "-S", clock(begin), "-E", clock(end), "-o", "elapsedraw,alloctres").splitlines()
    tres = [(int(seconds), dict(part.split("=") for part in held.split(",") if part)) for seconds, held in (line.split("|") for line in lines)]

    (sums,) = expected(jobs, "account", begin, end).values()
    assert sum(seconds * int(held.get("gres/gpu", 0)) for seconds, held in tres) == sums[2]


def test_a_running_and_a_waiting_job_are_collected_and_followed(usage, database, store, admin):
    job = admin("sbatch", "--parsable", "--qos=lion", "--gres=gpu:1", "--mem=100M", "--output=/dev/null", "--wrap", "sleep 600", user="bob")
    wait_until(lambda: admin("squeue", "-h", "-j", job, "-o", "%T") == "RUNNING", 60, "it runs")
    time_of = lambda: shares(json.loads(usage("--since", "1h", "--by", "class,user", "--store", store, "--json"))).get(("lion", "bob"), [0, 0, 0])[2]
    wait_until(lambda: time_of() >= 2, 60, "accounting has its start")
    usage("collect", "--quiet", "--store", store)
    wait_until(lambda: time_of() >= 4, 60, "the store's part and Slurm's add up")
    admin("scancel", job)
    wait_until(lambda: "CANCELLED" in admin("sacct", "-n", "-X", "-j", job, "-o", "state"), 60, "it has ended")

    usage("collect", "--quiet", "--store", store)

    begin, end = (int(admin("env", "TZ=UTC", "SLURM_TIME_FORMAT=%s", "sacct", "-n", "-X", "-j", job, "-o", what)) for what in ("start", "end"))
    assert time_of() == end - begin
    database.rows(f"delete from {{}}_job_table where id_job = {job}")


def test_a_runaway_job_is_counted_to_its_limit_or_its_nodes_end(usage, database):
    begin = NOW - 30 * DAY
    for number, nodes in ((77, "g1"), (78, "g2")):
        database.add([Job(job=number, submit_s=begin, eligible_s=begin, start_s=begin, user="alice", account="ml", class_name="cheetah", partition="old", nodes=nodes,
                          gpus=1, cpus=1, state="RUNNING", name="lost")])
    database.rows(f"insert into {{}}_event_table (time_start, time_end, node_name, reason, state) values ({begin + 600}, {begin + 9000}, 'g2', 'power', 1)")
    try:
        days = "--from", time.strftime("%Y-%m-%d", time.gmtime(begin - DAY))
        found = shares(json.loads(usage(*days, "--by", "partition,node", "--store", "none", "--json")))
        assert (found["old", "g1"][2], found["old", "g2"][2]) == (3600, 600)
    finally:
        database.rows("delete from {}_job_table where id_job in (77, 78)")
        database.rows("delete from {}_event_table where reason = 'power'")


# Of a job that ran before a window slurmdbd gives only the steps of that window: the CPU time of the others was lost.
def test_a_job_that_lies_in_several_windows_has_all_its_steps(usage, database, tmp_path):
    begin = NOW - 10 * DAY
    database.add([Job(job=79, submit_s=begin, eligible_s=begin, start_s=begin, end_s=begin + 8 * DAY, user="alice", account="ml", class_name="cheetah", partition="old",
                      nodes="g1", gpus=1, cpus=1, state="COMPLETED", name="long")])
    for number, day, seconds in ((0, 0, 100), (1, 7, 50)):
        database.rows("insert into {}_step_table (job_db_inx, id_step, step_name, nodelist, nodes_alloc, node_inx, state, task_cnt, task_dist, time_start, time_end, "
                      f"tres_alloc, user_sec) select job_db_inx, {number}, 'step', 'g1', 1, '0', 3, 1, 0, {begin + day * DAY}, {begin + day * DAY + 600}, '1=1', {seconds} "
                      "from {}_job_table where id_job = 79".replace("{}_job", database.cluster + "_job"))
    try:
        file = tmp_path / "usage.sqlite"
        said = usage("collect", "--store", str(file), "--from", FIRST)
        assert said.count("jobs") > 4, "several windows"
        (row,) = sqlite3.connect(file).execute("SELECT cpu_used_s FROM job WHERE job = 79")
        assert row == (150,)
    finally:
        database.rows("delete from {}_job_table where id_job = 79")


def test_slurmdbd_that_ends_is_a_gap_and_the_next_run_goes_on(usage, database, store, spare_cluster):
    question = "--from", FIRST, "--by", "user", "--store", store, "--json"
    before = shares(json.loads(usage(*question)))
    pid = (database.folder / "run" / "slurmdbd.own.pid").read_text().strip()
    subprocess.run(["kill", pid], check=True)
    try:
        document = json.loads(usage(*question))
        assert document["gaps"] and shares(document) == before
        assert "slurmdbd did not answer" in usage("--since", "1h", "--store", "none", code=1)
        assert "slurmdbd did not answer" in usage("collect", "--quiet", "--store", store, code=1)
    finally:
        wait_until(lambda: not (database.folder / "run" / "slurmdbd.own.pid").exists(), 30, "slurmdbd has ended")
        subprocess.run([str(CLUSTER), "start", "slurmdbd"], env=of_cluster(spare_cluster), check=True, stdout=subprocess.DEVNULL)
    wait_until(lambda: subprocess.run([str(CLUSTER), "run", "--", "sacctmgr", "-n", "show", "cluster"], env=of_cluster(spare_cluster), capture_output=True).returncode == 0, 30, "it answers")

    usage("collect", "--quiet", "--store", store)
    assert json.loads(usage(*question))["gaps"] == []


def test_a_site_that_hides_jobs_shows_each_user_theirs_and_says_so(usage, database, jobs, spare_cluster):
    conf = database.folder / "etc" / "slurmdbd.conf"
    shown = conf.read_text()
    with conf.open("a") as file:
        file.write("PrivateData=jobs,usage\n")
    reconfigure = lambda: subprocess.run([str(CLUSTER), "run", "--", "sacctmgr", "-i", "reconfigure"], env=of_cluster(spare_cluster), check=True, capture_output=True)
    try:
        reconfigure()
        text = usage("--since", "8d", user="alice")
        assert "These are your own jobs: this site shows others' to operators only" in text
        document = json.loads(usage("--since", "8d", "--by", "user", "--json", user="alice"))
        assert document["own_only"] and {share["user"] for share in document["shares"]} <= {"alice"}
        assert len(json.loads(usage("--since", "8d", "--by", "user", "--json"))["shares"]) > 1, "root sees all"
    finally:
        conf.write_text(shown)
        reconfigure()
