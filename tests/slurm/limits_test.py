"""Limits met for real, many at a time in one cluster: what runs together, who waits and why, and what is never a job at all.

The cluster is a spare one, with the classes of mlerp-slides.json.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import textwrap
from collections import Counter

import pytest
from login_node import PRELUDE, ROOT, User, wait_until
from waits import changed

# Holds workers until a file is there, the first one first, and tells each change of how many run and why the others wait.
HOLDING = """
    import pounce
    def hold(flag):
        while not os.path.exists(flag):
            time.sleep(0.1)
        return 1024
    report(outer=os.environ.get("SLURM_JOB_ID"))
    client = pounce.Client(cpus=1, memory="120MB")
    first, *others = {calls!r}
    futures = [client.options(**first).submit(hold, {flag!r})]
    while not futures[0].running():
        time.sleep(0.05)
    futures += [client.options(**options).submit(hold, {flag!r}) for options in others]
    told = None
    while not all(future.done() for future in futures):
        running = sum(future.running() for future in futures)
        waits = sorted((why._asdict() for future in futures if (why := future.why())), key=str)
        if told != (running, waits):
            told = running, waits
            report(running=running, waits=waits)
        time.sleep(0.2)
    report(results=[future.result(100) for future in futures])
    client.close()
"""

NEVER = """
    import pounce
    client = pounce.Client()
    for options in {calls!r}:
        try:
            report(answer=client.options(**options).submit(pow, 2, 10).result(100))
        except Exception as e:
            report(refused=error(e))
    client.close()
"""

# The same question at first and after each flag, to one daemon; told under the flag's name.
AGAIN = """
    import pounce
    client = pounce.Client()
    for flag in ("first", *{flags!r}):
        while flag != "first" and not os.path.exists(flag):
            time.sleep(0.05)
        try:
            answer = str(client.options(**{options!r}).submit(pow, 2, 10).result(100))
        except Exception as e:
            answer = str(e)
        report(**{{os.path.basename(flag): answer}})
    client.close()
"""


class Held:
    """The calls of a script that holds its workers, seen through what it reports."""

    def __init__(self, who: User, *calls: dict, job: tuple[str, ...] = ()):
        self.flag = who.folder / "flag"
        script = who.folder / "holding.py"
        script.write_text(PRELUDE + textwrap.dedent(HOLDING.format(flag=str(self.flag), calls=list(calls))))
        script.chmod(0o644)
        self.run = who.start([*job, "python", "-u", str(script)])

    def told(self, running: int, reasons: list[str], seconds: float = 90) -> dict[str, dict]:
        """As soon as so many run and the others wait for these; by reason."""

        def look():
            last = next((r for r in reversed(self.run.reports) if "waits" in r), None)
            if last and last["running"] == running and Counter(w["slurm_reason"] for w in last["waits"]) == Counter(reasons):
                return last

        try:
            last = wait_until(look, seconds, f"{running} run and the others wait for {reasons}")
        except AssertionError as e:
            raise AssertionError(f"{e}; so far:\n{self.run.output[-6000:]}") from None
        return {wait["slurm_reason"]: wait for wait in last["waits"]}

    def ends_well(self) -> None:
        self.flag.touch()
        assert set(self.run.ended(120).reported("results")) == {1024}


@pytest.fixture
def alice(quiet_cluster, login_node, make_user, admin):
    state = tempfile.mkdtemp(prefix="pounce-limits-")
    admin("pouncectl", "policy", "apply", str(ROOT / "examples" / "policies" / "mlerp-slides.json"), "--state", state)
    shutil.rmtree(state)
    return make_user("alice", login_node(quiet_cluster), poll_max_s=2, idle_release_s=1)


def jobs_so_far(admin) -> int:
    """All that the controller has ever been given."""
    return int(re.search(r"Jobs submitted:\s*(\d+)", admin("sdiag"))[1])


def test_a_lion_notebook_runs_with_twenty_cheetahs_and_one_more_of_each_class_waits_for_its_limit(alice, admin):
    asked = {"cheetah": 21, "lion": 4, "panther": 2, "tabby": 2}
    calls = [{"class_": name, "time": 600 + 60 * number} for name, count in asked.items() for number in range(count)]
    # The notebook is a job of class lion itself: the fourth lion that it asks for is alice's fifth.
    held = Held(alice, *calls, job=("srun", "--qos=lion", "--time=60", "--mem=1G", "--job-name=notebook"))

    held.told(running=25, reasons=["QOSMaxJobsPerUserLimit"] * 4)

    running = Counter(admin("squeue", "--noheader", "--user=alice", "--states=R", "--format=%q").split())
    assert running == {"cheetah": 20, "lion": 4, "panther": 1, "tabby": 1}
    assert admin("squeue", "--noheader", "--name=notebook", "--format=%q %T") == "lion RUNNING"
    waits = {wait["class_"]: wait for wait in held.run.reports[-1]["waits"]}
    assert {name: wait["limit"] for name, wait in waits.items()} == {
        "cheetah": ["job", 20, 20, 1], "lion": ["job", 4, 4, 1], "panther": ["job", 1, 1, 1], "tabby": ["job", 1, 1, 1]}
    assert waits["cheetah"]["reason"].startswith("a limit of class cheetah is reached: 20 jobs run at a time, and 20 of yours do")
    held.ends_well()


def test_limits_of_an_account_are_told_apart_and_end_when_they_are_raised(alice, admin):
    few, many = "GrpTRES=cpu=4,gres/gpu=1,mem=2000", "GrpTRES=cpu=-1,gres/gpu=-1,mem=-1"
    with changed(admin, f"modify user alice set {few}", f"modify user alice set {many}"):
        held = Held(alice, {"cpus": 2, "gpus": 1, "memory": "1000MB"},
                    {"cpus": 3}, {"gpus": 1, "cpus": 1}, {"cpus": 1, "memory": "1500MB"})
        waits = held.told(running=1, reasons=["AssocGrpCpuLimit", "AssocGrpGRES", "AssocGrpMemLimit"])
        assert waits["AssocGrpCpuLimit"]["limit"] == ["cpu", 4, 2, 3]
        assert waits["AssocGrpGRES"]["limit"] == ["gres/gpu", 1, 1, 1]
        assert waits["AssocGrpMemLimit"]["limit"] == ["mem", 2000, 1000, 1500]
        for wait in waits.values():
            assert wait["reason"].startswith("a limit of your account is reached: "), wait
            assert "an admin can raise the limit" in wait["reason"]

        by_root, by_alice = (str(waits[reason]["job"]) for reason in ("AssocGrpCpuLimit", "AssocGrpGRES"))
        admin("scontrol", "hold", by_root)
        admin("scontrol", "hold", by_alice, user="alice")
        waits = held.told(running=1, reasons=["JobHeldAdmin", "JobHeldUser", "AssocGrpMemLimit"])
        assert waits["JobHeldAdmin"]["reason"] == "an admin holds the job back, and can let it go"
        assert waits["JobHeldUser"]["reason"].startswith("the job is held, by you or a program of yours: scontrol release")
        admin("scontrol", "release", by_root, by_alice)
    held.told(running=4, reasons=[])
    held.ends_well()


def test_what_can_never_run_is_refused_and_is_no_job(alice, admin):
    before = jobs_so_far(admin)
    run = alice.python(NEVER.format(calls=[{"class_": "panther", "gpus": 1}, {"class_": "lion", "time": "25h"}])).ended()

    on_panther, long_lion = [report["refused"] for report in run.reports]
    assert "class panther gives one user at most 0 GPUs; asked for: 1 GPU" in on_panther["text"]
    assert "class lion gives at most 1440 minutes; asked for: 1500 minutes" in long_lion["text"]
    assert "panther" in long_lion["text"]  # which gives it
    assert jobs_so_far(admin) == before


def test_a_changed_policy_counts_for_the_next_lease_and_nobody_restarts_anything(alice, admin):
    state = tempfile.mkdtemp(prefix="pounce-limits-")
    flags = [alice.folder / name for name in ("docs", "back")]
    run = alice.python(AGAIN.format(flags=[str(flag) for flag in flags], options={"class_": "tabby", "time": "20h"}))
    assert "class tabby gives at most 720 minutes" in run.reported("first")

    admin("pouncectl", "policy", "apply", str(ROOT / "examples" / "policies" / "mlerp-docs.json"), "--state", state)
    flags[0].touch()
    assert run.reported("docs") == "1024"

    admin("pouncectl", "policy", "rollback", "--state", state)
    wait_until(lambda: not admin("squeue", "--noheader", "--user=alice"), 30, "the lease of before has ended: this is about the next one")
    flags[1].touch()
    assert "asked for: " in run.reported("back") and "1200 minutes" in run.reported("back")
    run.ended()
    shutil.rmtree(state)


def test_a_class_that_denies_what_is_over_its_limit_says_which(alice, admin):
    with changed(admin, "modify qos cheetah set MaxTRESPerJob=cpu=4", "modify qos cheetah set MaxTRESPerJob=cpu=-1"):
        refused = alice.python(NEVER.format(calls=[{"class_": "cheetah", "cpus": 8}])).ended().reported("refused")
    assert "over a limit of its class" in refused["text"] and "QOSMaxCpuPerJobLimit" in refused["text"]


def test_a_class_that_lets_no_more_jobs_wait_says_how_many_it_lets(alice, admin):
    with changed(admin, "modify qos tabby set MaxSubmitJobsPU=1", "modify qos tabby set MaxSubmitJobsPU=-1"):
        first = admin("sbatch", "--parsable", "--qos=tabby", "--output=/dev/null", "--wrap=sleep 300", user="alice")
        refused = alice.python(NEVER.format(calls=[{"class_": "tabby"}])).ended().reported("refused")
        admin("scancel", first)
    assert refused["type"] == "Rejected"
    assert "a limit of class tabby is reached: 1 job waits or runs at a time, and 1 of yours does" in refused["text"]
    assert "QOSMaxSubmitJobPerUserLimit" in refused["text"] and "Wait until a job has ended" in refused["text"]
