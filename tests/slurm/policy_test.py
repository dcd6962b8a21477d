"""pouncectl policy on a real Slurm: what it makes of the QoS in slurmdbd, for whom, and the way back.

The cluster is a spare one: QoS are everybody's. Each test starts from the classes of mlerp-slides.json.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from conftest import cluster_command
from login_node import CLUSTER, ROOT, wait_until

SHIPPED = ROOT / "examples" / "policies"


class Site:
    """A cluster, with policy files and a record of applies in a folder that all of its users can read."""

    def __init__(self, cluster: int):
        self.cluster = cluster
        self.folder = Path(tempfile.mkdtemp(prefix="pounce-policy-"))
        self.folder.chmod(0o755)
        self.state = self.folder / "state"
        for path in SHIPPED.glob("*.json"):
            self.file(path.stem, path.read_text())

    def run(self, *words: str, user: str | None = None) -> subprocess.CompletedProcess:
        as_user = ["--as", user] if user else []
        return subprocess.run([str(CLUSTER), "run", *as_user, "--", *words], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "POUNCE_CLUSTER_ID": str(self.cluster)})

    def policy(self, *words: str, user: str | None = None, code: int = 0, state: Path | None = None) -> str:
        keeps = ["--state", str(state or self.state)] if words[0] in ("plan", "apply", "rollback") else []
        done = self.run("pouncectl", "policy", *words, *keeps, user=user)
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout + done.stderr

    def file(self, name: str, content: dict | str | None = None) -> str:
        path = self.folder / f"{name}.json"
        if content is not None:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
            path.chmod(0o644)
        return str(path)

    def changes(self, file: str) -> list[tuple[str, ...]]:
        return [tuple(change[key] for key in ("qos", "rule", "now", "then"))
                for change in json.loads(self.policy("plan", file, "--json"))["changes"]]

    def sacctmgr(self, *words: str) -> str:
        done = self.run("sacctmgr", "--immediate", "--noheader", "--parsable2", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def qos(self, columns: str) -> dict[str, str]:
        """By name, as sacctmgr shows them."""
        rows = self.sacctmgr("show", "qos", f"format=name,{columns}").splitlines()
        return dict(row.split("|", 1) for row in rows)

    def records(self) -> list[Path]:
        return sorted(self.state.glob("*.json"))


@pytest.fixture
def site(quiet_cluster):
    site = Site(quiet_cluster)
    site.policy("apply", site.file("mlerp-slides"))
    yield site
    shutil.rmtree(site.folder)


@pytest.fixture
def controller_with(site):
    """Starts slurmctld anew with other lines in slurm.conf: `controller_with("PreemptType=preempt/none")`."""
    home = Path(f"/opt/pounce-cluster-{site.cluster}")
    conf, pid_file = home / "etc" / "slurm.conf", home / "run" / "slurmctld.pid"
    original = conf.read_text()

    def stop() -> None:
        pid = int(pid_file.read_text())
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), 30, "slurmctld's end")

    def start(*lines: str) -> None:
        keys = tuple(line.split("=")[0] + "=" for line in lines)
        kept = [line for line in original.splitlines() if not line.startswith(keys)]
        stop()
        conf.write_text("\n".join([*kept, *(line for line in lines if not line.endswith("=")), ""]))
        cluster_command(site.cluster, "start", "slurmctld")  # waits until it answers

    yield start
    stop()
    conf.write_text(original)  # the cluster's next `up` starts it


def test_a_site_migrates_to_other_limits_and_back(site):
    docs, shown = site.file("mlerp-docs"), "MaxWall,MaxJobsPU,MaxTRESPU,Priority,Flags"
    slides = site.qos(shown)
    assert slides["cheetah"] == "00:30:00|20||20|DenyOnLimit" and slides["lion"] == "1-00:00:00|4||10|"
    assert slides["panther"] == "7-00:00:00|1|gres/gpu=0|10|" and slides["tabby"] == "12:00:00|1||10|"

    assert site.changes(docs) == [("panther", "running_jobs_per_user", "1", "4"), ("tabby", "walltime", "12h", "1d")]
    assert site.qos(shown) == slides  # plan changes nothing
    site.policy("apply", docs, "--note", "as the documentation says")

    after = site.qos(shown)
    assert after["panther"] == "7-00:00:00|4|gres/gpu=0|10|" and after["tabby"] == "1-00:00:00|1||10|"
    assert {name: after[name] for name in ("cheetah", "lion")} == {name: slides[name] for name in ("cheetah", "lion")}
    record = json.loads(site.records()[-1].read_text())
    assert (record["who"], record["note"], record["done"]) == ("root", "as the documentation says", True)
    assert record["changed"] == ["panther", "tabby"] and record["before"]["classes"]["tabby"]["walltime"] == "12h"
    assert site.records()[-1].stat().st_mode & 0o777 == 0o644

    site.policy("rollback")
    assert site.qos(shown) == slides
    assert site.changes(site.file("mlerp-slides")) == []


def test_a_second_apply_does_nothing(site):
    records = site.records()
    assert "Nothing to do" in site.policy("apply", site.file("mlerp-slides"))
    assert site.records() == records


def test_qos_keep_their_ids_and_a_running_job_its_class(site):
    ids = site.qos("id")
    job = site.run("sbatch", "--parsable", "--qos=cheetah", "--output=/dev/null", "--wrap=sleep 300", user="alice").stdout.strip()
    show = lambda: site.run("squeue", "--noheader", f"--jobs={job}", "--format=%T %q").stdout.strip()
    wait_until(lambda: show() == "RUNNING cheetah", 60, "the job runs")

    site.policy("apply", site.file("faster", {"classes": {"cheetah": {"walltime": "15min", "running_jobs_per_user": 2}}}))

    assert site.qos("id") == ids and show() == "RUNNING cheetah"
    assert site.qos("MaxWall,MaxJobsPU,Priority,Flags")["cheetah"] == "00:15:00|2|0|"
    site.run("scancel", job)


def test_new_qos_are_made_with_what_they_preempt_and_a_rollback_leaves_them(site):
    chtc = site.file("chtc-like")
    site.policy("apply", chtc)
    shown = site.qos("MaxWall,MaxTRESPU,Preempt,Flags")
    assert shown["interactive"] == "04:00:00|gres/gpu=1|backfill|" and shown["long"] == "7-00:00:00|gres/gpu=4||DenyOnLimit"
    assert site.changes(chtc) == []

    graceful = {"interactive": {"preempts": ["short", "long"], "grace": "90s"}, "short": {}, "long": {}}
    site.policy("apply", site.file("graceful", {"classes": graceful}))
    assert site.qos("Preempt,GraceTime,MaxTRESPU")["interactive"] == "long,short|00:01:30|"
    site.policy("rollback")
    assert site.qos("Preempt,GraceTime,MaxTRESPU")["interactive"] == "backfill|00:00:00|gres/gpu=1"
    site.policy("apply", site.file("peaceful", {"classes": {"interactive": {}}}))
    assert site.qos("MaxWall,MaxTRESPU,Preempt")["interactive"] == "||"

    site.policy("rollback")
    assert "QoS backfill was made then and stays" in site.policy("rollback")
    site.sacctmgr("delete", "qos", "short,medium,long,backfill,interactive")


def test_what_others_changed_since_is_shown_and_put_right(site):
    slides = site.file("mlerp-slides")
    site.policy("apply", site.file("mlerp-docs"))
    site.policy("apply", slides)
    site.sacctmgr("modify", "qos", "tabby", "set", "MaxJobsPU=7")

    plan = site.policy("plan", slides)
    assert "Changed by others since the last apply" in plan and "by root" in plan
    (drift,) = json.loads(site.policy("plan", slides, "--json"))["drift"]
    assert drift == {"qos": "tabby", "rule": "running_jobs_per_user", "applied": "1", "now": "7"}

    site.policy("apply", slides)
    assert site.qos("MaxJobsPU")["tabby"] == "1"
    assert json.loads(site.policy("plan", slides, "--json"))["drift"] == []


def test_a_plain_user_may_look_and_an_administrator_may_write(site):
    docs, before, records = site.file("mlerp-docs"), site.qos("MaxWall,MaxJobsPU"), site.records()
    assert "panther" in site.policy("plan", docs, user="alice")
    refusal = site.policy("apply", docs, user="alice", code=1)
    assert "only an Administrator of Slurm may change QoS, and alice is none" in refusal
    assert "sacctmgr modify user alice set adminlevel=Administrator" in refusal
    assert site.qos("MaxWall,MaxJobsPU") == before and site.records() == records

    site.sacctmgr("modify", "user", "bob", "set", "adminlevel=Administrator")
    own = Path(tempfile.mkdtemp(prefix="pounce-policy-bob-"))
    shutil.chown(own, "bob")
    site.policy("apply", docs, user="bob", state=own)
    assert site.qos("MaxJobsPU")["panther"] == "4"
    assert json.loads((own / "000001.json").read_text())["who"] == "bob"
    site.sacctmgr("modify", "user", "bob", "set", "adminlevel=None")
    shutil.rmtree(own)


def test_nothing_is_changed_where_it_cannot_be_recorded(site):
    before = site.qos("MaxWall,MaxJobsPU")
    told = site.policy("apply", site.file("mlerp-docs"), state=Path("/proc/nowhere"), code=1)
    assert "/proc/nowhere" in told and "--state" in told
    assert site.qos("MaxWall,MaxJobsPU") == before


def test_an_export_is_a_policy_that_changes_nothing(site):
    exported = site.file("exported", site.policy("export", user="alice"))
    assert json.loads(Path(exported).read_text())["classes"]["panther"] == {
        "walltime": "7d", "running_jobs_per_user": 1, "gpus_per_user": 0, "priority": 10}
    assert site.changes(exported) == []
    assert json.loads(site.policy("plan", exported, "--json"))["left"] == []


def test_a_changed_limit_counts_at_once(site):
    submit = ["sbatch", "--parsable", "--qos=lion", "--time=60", "--output=/dev/null", "--wrap=true"]
    assert site.run(*submit, user="alice").returncode == 0

    site.policy("apply", site.file("short", {"classes": {"lion": {"walltime": "30min", "deny_on_limit": True}}}))

    wait_until(lambda: site.run(*submit, user="alice").returncode != 0, 10, "a job over the new limit is refused")
    assert "QOSMaxWallDurationPerJobLimit" in site.run(*submit, user="alice").stderr


def test_a_limit_of_submitted_jobs_refuses_the_next_one_and_goes_with_a_rollback(site):
    submit = ["sbatch", "--parsable", "--qos=tabby", "--begin=now+1hour", "--output=/dev/null", "--wrap=true"]
    site.policy("apply", site.file("one", {"classes": {"tabby": {"submitted_jobs_per_user": 1}}}))

    first = site.run(*submit, user="alice")

    assert first.returncode == 0, first.stderr
    assert "QOSMaxSubmitJobPerUserLimit" in site.run(*submit, user="alice").stderr
    assert site.qos("MaxSubmitJobsPU")["tabby"] == "1"
    assert json.loads(site.policy("export"))["classes"]["tabby"]["submitted_jobs_per_user"] == 1
    site.policy("rollback")
    assert site.qos("MaxSubmitJobsPU")["tabby"] == ""
    site.run("scancel", first.stdout.strip())


@pytest.mark.parametrize("lines, fix", [
    (["AccountingStorageEnforce=associations"], "AccountingStorageEnforce=associations,limits,qos"),
    (["PreemptType=preempt/none", "PreemptMode=OFF"], "PreemptType=preempt/qos"),
], ids=["limits", "preemption"])
def test_what_slurm_would_ignore_is_refused_with_the_fix(site, controller_with, lines, fix):
    controller_with(*lines)
    classes = {"lion": {"walltime": "1h", "preempts": ["tabby"]}, "tabby": {}}
    file, before = site.file("graded", {"classes": classes}), site.qos("id,MaxWall")

    for command in ("plan", "apply"):
        told = site.policy(command, file, code=1)
        assert "Slurm would ignore" in told and fix in told
    assert site.qos("id,MaxWall") == before


def test_without_slurmdbd_it_says_what_slurm_does_not_enforce(site, controller_with):
    controller_with("AccountingStorageType=", "AccountingStorageEnforce=", "AccountingStorageTRES=")
    lab = site.file("small-lab")

    plan = site.policy("plan", lab, user="alice")
    assert "Slurm does not enforce here:\n  night: walltime 14h, running_jobs_per_user 2, gpus_per_user 4\n" in plan
    assert "no slurmdbd" in site.policy("apply", lab, code=1)
    assert "no slurmdbd" in site.policy("export", code=1)


def test_a_slurmdbd_that_is_down_is_told(site):
    pid = int(Path(f"/opt/pounce-cluster-{site.cluster}/run/slurmdbd.pid").read_text())
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), 30, "slurmdbd's end")

    records = site.records()
    told = site.policy("apply", site.file("mlerp-docs"), code=1)
    assert "slurmdbd did not answer" in told and "systemctl start slurmdbd" in told
    assert site.records() == records


def test_what_the_sites_own_rules_refuse_is_told_in_their_words(site, controller_with, login_node, make_user):
    script = Path(f"/opt/pounce-cluster-{site.cluster}/etc/job_submit.lua")
    script.write_text("""
        function slurm_job_submit(job, partitions, uid)
          if job.min_cpus ~= nil and job.min_cpus > 4 and job.min_cpus < 1000 then
            slurm.log_user("More than 4 CPUs? Write to help@cluster.example first.")
            return slurm.ERROR
          end
          return slurm.SUCCESS
        end
        function slurm_job_modify(job, record, partitions, uid)
          return slurm.SUCCESS
        end
    """)
    controller_with("JobSubmitPlugins=lua")
    alice = make_user("alice", login_node(site.cluster), poll_max_s=2, idle_release_s=1)

    run = alice.python("""
        import pounce
        client = pounce.Client()
        try:
            client.options(cpus=8).submit(pow, 2, 3).result(60)
        except pounce.PounceError as e:
            report(error=error(e))
        report(fine=client.options(cpus=2).submit(pow, 2, 3).result(60))
        client.close()
    """).ended()

    script.unlink()
    error = run.reported("error")
    assert error["type"] == "Rejected" and "More than 4 CPUs? Write to help@cluster.example first." in error["text"]
    assert run.reported("fine") == 8
