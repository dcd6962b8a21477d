"""What a user may do instead of waiting, on a real Slurm whose large GPUs are all in use: choose by hand, or have decided beforehand."""

from __future__ import annotations

import json

import pytest
from login_node import wait_until
from notebooks import Executed, printed, shown, written
from policy_test import controller_with, site  # noqa: F401  a cluster whose slurmctld may be started anew

WAITING = """
    import pounce
    def devices():
        import os
        return os.environ.get("CUDA_VISIBLE_DEVICES", "")
    client = pounce.Client()
    def queued(future):
        while (why := future.why()) is None or why.slurm_reason in ("", "None"):
            time.sleep(0.05)
        return why
"""


@pytest.fixture
def alice(quiet_cluster, login_node, make_user):
    return make_user("alice", login_node(quiet_cluster), poll_max_s=2, idle_release_s=1)


@pytest.fixture
def held_by_bob(admin):
    """Makes bob have these GPUs of these nodes: `held_by_bob(g1="a100:4")`."""

    def hold(**gpus: str) -> None:
        jobs = [admin("sbatch", "--parsable", "--time=10", f"--nodelist={node}", f"--gres={gres}", "--mem=100M", "--output=/dev/null",
                      "--wrap", "sleep 1000", user="bob") for node, gres in gpus.items()]
        for job in jobs:
            wait_until(lambda job=job: "RUNNING" in admin("scontrol", "show", "job", job), 30, "bob's jobs run")

    yield hold
    admin("scancel", "--user=bob")
    wait_until(lambda: not admin("squeue", "--noheader", "--user=bob"), 60, "the end of bob's jobs")


@pytest.fixture
def no_a100(held_by_bob):
    """Bob has all six of them; their two slices, and the processors, are free."""
    held_by_bob(g1="gpu:a100:4", g2="gpu:a100:2")


@pytest.fixture
def scattered(held_by_bob):
    """Each node has one a100 left, and g2 one of the slices."""
    held_by_bob(g1="gpu:a100:3", g2="gpu:a100:1,gpu:a100_3g.20gb:1")


def test_what_would_start_now_is_named_and_can_be_taken(alice, no_a100):
    flag = alice.folder / "flag"
    run = alice.python(WAITING + f"""
    future = client.options(gpus="a100").submit(devices)
    report(reason=queued(future).slurm_reason)
    report(choices={{choice.option: choice.now for choice in future.choices()}}, sentences=[str(choice) for choice in future.choices()])
    eta = future.lease.eta()
    report(eta=eta and eta._asdict(), now=time.time())
    while not os.path.exists({str(flag)!r}):
        time.sleep(0.05)
    report(moved=future.move(gpus="a100_3g.20gb"), devices=future.result(60), node=next(one.node for one in client.leases() if one.node))
    client.close()
    """)

    assert run.reported("reason") in ("Resources", "Priority")
    assert run.reported("choices") == {"": False, "a100_3g.20gb": True, "cpu": True, "cancel": False}
    assert "--gpu a100_3g.20gb: free now" in run.reported("sentences")
    eta = run.reported("eta")
    assert eta["low"] <= eta["start"] <= eta["high"] and run.reported("now") - 5 < eta["low"] < run.reported("now") + 600
    (lease,) = json.loads(alice.run("pouncectl", "why", "--json"))["leases"]
    assert {choice["or"]: choice["now"] for choice in lease["choices"]}["a100_3g.20gb"] and lease["eta"]["basis"].startswith("2 running jobs")
    assert "with GPU a100_3g.20gb: free now" in alice.run("pouncectl", "why")

    flag.touch()
    assert run.reported("moved") is True and run.reported("node") == "g2"
    wait_until(lambda: not alice.jobs(), 60, "the job that waited was taken back, and the other one has ended")


def test_gpus_that_are_free_on_two_nodes_are_not_offered_to_one_who_wants_them_together(alice, scattered):
    run = alice.python(WAITING + """
    future = client.options(gpus="a100_3g.20gb:2").submit(devices)
    queued(future)
    report(choices={choice.option: choice.now for choice in future.choices()})
    future.cancel()
    client.close()
    """).ended()

    assert run.reported("choices") == {"": False, "a100:2": False, "cpu": True, "cancel": False}


def test_where_jobs_are_hidden_a_start_is_foretold_from_slurms_own_plan(site, controller_with, alice, no_a100):  # noqa: F811
    controller_with("PrivateData=jobs")

    run = alice.python(WAITING + """
    future = client.options(gpus="a100").submit(devices)
    queued(future)
    deadline = time.monotonic() + 60
    while (eta := future.eta()) is None and time.monotonic() < deadline:
        time.sleep(0.1)
    report(eta=eta and eta._asdict(), now=time.time(), queue=len(client.queue()))
    future.cancel()
    client.close()
    """).ended()

    eta, now = run.reported("eta"), run.reported("now")
    assert eta["basis"].startswith("the start that Slurm plans"), eta
    assert now - 5 < eta["low"] <= eta["start"] <= eta["high"] < now + 660, "bob's jobs may run for 10 minutes"


def test_where_nodes_are_hidden_work_runs_all_the_same(site, controller_with, quiet_cluster, login_node, make_user):  # noqa: F811
    controller_with("PrivateData=nodes")
    policy = {"classes": {"quick": {"qos": "cheetah", "walltime": "20min"}}, "gpu_types": {"a100_3g.20gb": "20GB", "a100": "40GB"}}
    alice = make_user("alice", login_node(quiet_cluster), poll_max_s=2, idle_release_s=1, policy=policy)

    run = alice.python(WAITING + """
    report(devices=client.options(gpu_memory=">=16GB").submit(devices).result(100), classes=list(client.classes()), gpus=len(client.classes().gpus))
    client.close()
    """).ended()

    facts = run.reports[0]
    assert facts["devices"] and sorted(facts["classes"]) == ["lion", "panther", "quick", "tabby"] and facts["gpus"] == 0, run.output


def test_a_task_does_what_was_decided_beforehand(alice, no_a100):
    run = alice.python(WAITING + """
    start = time.monotonic()
    cpu = client.options(gpus="a100", wait_policy="cpu").submit(devices)
    later = client.options(gpus="a100:2", wait_policy=["class=lion@4s", "a100_3g.20gb@6s"]).submit(devices)
    never = client.options(gpus="a100:3", wait_policy="cancel@5s").submit(devices)
    report(cpu=cpu.result(60))
    try:
        never.result(60)
    except pounce.Cancelled as error:
        report(never=error.text, after=time.monotonic() - start)
    report(later=later.result(60), class_=later.lease is None)
    client.close()
    """)

    assert run.reported("cpu") == ""
    assert run.reported("never").startswith("devices: it was cancelled because it still waited (") and "cancel@5s" in run.reported("never")
    assert 5 <= run.reported("after") < 15
    assert run.reported("later") != ""
    assert "pounce: devices still waited (" in run.ended(60).output and "it asks for cpu now, as its wait policy said" in run.output
    wait_until(lambda: not alice.jobs(), 60, "no job is left")


def test_a_cell_goes_where_it_was_decided_beforehand_and_its_variables_stay_there(alice, no_a100):
    cells = Executed(alice, written(
        alice, "import pounce\nnumber = 20",
        "%%pounce --gpu a100 --or cpu --out doubled\ndoubled = 2 * number\nkept = doubled + 2",
        "doubled",
        "%%pounce --out kept\nkept",
        "kept",
        "%%pounce --gpu a100 --or cancel@3s\n1", fails=(5,))).cells()

    assert "the cell still waited (" in printed(cells[1]) and "it asks for cpu now, as its wait policy said" in printed(cells[1])
    assert shown(cells[2], "text/plain") == ["40"] and shown(cells[4], "text/plain") == ["42"]
    (error,) = [output for output in cells[5].outputs if output.output_type == "error"]
    assert "the cell: it was cancelled because it still waited (" in error.evalue and "cancel@3s" in error.evalue


GIVE_BACK_THE_GPUS = """
import json, subprocess, time
def pouncectl(*words):
    return subprocess.run(["pouncectl", *words], check=True, capture_output=True, text=True).stdout
def with_gpus():
    return [one["lease"] for one in json.loads(pouncectl("leases", "--json"))["leases"] if one["gpus"]]
for lease in with_gpus():
    pouncectl("release", lease)
while with_gpus():
    time.sleep(0.1)
"""
HOLD_THE_GPUS = """%%pounce --on holder --gpu a100_3g.20gb:2 --cpus 2 --bg --name busy
import time
print("begun", flush=True)
while True:
    time.sleep(0.1)
"""


def test_the_variables_go_with_a_cell_that_moves(quiet_cluster, login_node, make_user):
    alice = make_user("alice", login_node(quiet_cluster), poll_max_s=2)
    moved = "%%pounce --gpu a100_3g.20gb:2 --or cpu@1s"
    cells = Executed(alice, written(
        alice, "import pounce\nbase = 40",
        "%%pounce --gpu a100_3g.20gb:2\nfirst = base + 1",
        "%%pounce\nthere = 7",
        GIVE_BACK_THE_GPUS, HOLD_THE_GPUS,
        "while 'begun' not in busy.log(): time.sleep(0.1)",
        f"{moved}\nsecond = base + 2\nthere, second",
        "brought = 3",
        f"{moved} --bg --name behind\nbrought",
        "behind.result(60)",
        "busy.cancel()",
        "%%pounce\nthere, second, base, brought")).cells()

    assert shown(cells[6], "text/plain")[-1] == "(7, 42)" and "new worker" not in printed(cells[6])
    assert shown(cells[9], "text/plain")[-1] == "3"
    assert shown(cells[11], "text/plain")[-1] == "(7, 42, 40, 3)"


def test_a_limit_of_ones_own_has_an_end_too_and_another_class_is_offered(alice):
    run = alice.python(WAITING + """
    def hold(seconds):
        time.sleep(seconds)
    futures = [client.options(class_="lion", cpus=count).submit(hold, 20) for count in range(1, 5)]
    while not all(future.running() for future in futures):
        time.sleep(0.05)
    fifth = client.options(class_="lion", cpus=5).submit(hold, 0)
    why = queued(fifth)
    while fifth.eta() is None and not fifth.running():
        time.sleep(0.05)
    report(reason=why.slurm_reason, eta=fifth.eta(), now=time.time(), choices={choice.option: str(choice) for choice in fifth.choices()})
    fifth.result(100)
    client.close()
    """)

    assert run.reported("reason") == "QOSMaxJobsPerUserLimit"
    start, low, high, basis = run.reported("eta")
    assert low <= start <= high and high > run.reported("now") and basis.startswith("4 running jobs")
    choices = run.reported("choices")
    assert choices["class=cheetah"] == "--class cheetah: free now" and "cpu" not in choices
    run.ended(100)


def test_a_try_runs_while_all_gpus_are_busy_at_a_site_whose_classes_have_other_names(quiet_cluster, login_node, make_user, held_by_bob):
    held_by_bob(g1="gpu:a100:4", g2="gpu:a100:2,gpu:a100_3g.20gb:2")
    policy = {"classes": {"marathon": {"qos": "lion"}, "glimpse": {"qos": "cheetah"}}}
    alice = make_user("alice", login_node(quiet_cluster), poll_max_s=2, policy=policy)

    cells = Executed(alice, written(
        alice, "import pounce", "%%pounce --gpu 1 --on other --bg --name job\n1",
        "%%pounce --gpu 1 --try\nimport os\nos.environ.get('CUDA_VISIBLE_DEVICES', '')",
        "job.state, {row.name for row in pounce.Client().queue() if row.state == 'RUNNING'}", "job.cancel()", "%pounce release")).cells()

    assert shown(cells[2], "text/plain")[-1] == "''"
    assert shown(cells[3], "text/plain")[-1] == "('waiting', {'pounce-glimpse'})"  # with a GPU it would wait still
