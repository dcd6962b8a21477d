"""What the user gets when something goes wrong: a typed exception, one sentence of cause, one of remedy."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from cluster_parts import end
from faults import assert_told, submit_script
from login_node import wait_until

AGAIN = "report(again=client.submit(pow, 2, 5).result(60))"


def submit(who, call, options="", **words):
    return who.python(submit_script(call, options=options, **words))


def test_an_unknown_class_is_named_with_those_there_are(make_user):
    error = submit(make_user(), "pow, 2, 3", "class_='tiger'").ended().reported("error")

    assert_told(error, "UnknownClass", "tiger", "cheetah", "panther")


def test_a_user_without_an_association_is_sent_to_the_admin(make_user):
    error = submit(make_user("mallory"), "pow, 2, 3").ended().reported("error")

    assert_told(error, "NoAssociation", "mallory")


def test_more_gpus_than_any_node_has_is_refused_at_once(make_user):
    error = submit(make_user(), "pow, 2, 3", "gpus=9").ended().reported("error")

    assert_told(error, "Unsatisfiable")


def test_without_slurm_work_runs_here_and_says_so(make_user):
    alice = make_user()

    run = alice.python(submit_script("pow, 2, 10"), SLURM_CONF=None).ended()

    assert run.reported("result") == "1024"
    assert "no Slurm" in run.output


def test_root_is_refused_where_slurm_is(make_user):
    error = submit_failing_at_start(make_user(None))

    assert_told(error, "RefusesRoot")


SUBMIT_AT_START = """
    import pounce
    try:
        pounce.Client().submit(pow, 2, 3).result(100)
    except Exception as e:
        report(error=error(e))
    report(kernel_lives=True)
"""


def submit_failing_at_start(who, **extra):
    return who.python(SUBMIT_AT_START, **extra).ended().reported("error")


def test_a_broken_slurm_conf_is_an_error_and_the_kernel_lives_on(make_user):
    alice = make_user()
    broken = alice.folder / "slurm.conf"
    broken.write_text(alice.run("sh", "-c", "cat $SLURM_CONF") + "\nThisIsNoKey=1\n")
    broken.chmod(0o644)

    error = submit_failing_at_start(alice, SLURM_CONF=str(broken))

    assert_told(error, "SlurmConfigBroken", "ThisIsNoKey")


DEATHS = {
    "os._exit": ("import os; os._exit(7)", "WorkerCrashed", "7"),
    "SIGKILL": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "WorkerCrashed", "SIGKILL"),
    "SIGSEGV": ("import ctypes; print('last words', flush=True); ctypes.string_at(0)", "WorkerCrashed", "SIGSEGV"),
}


@pytest.mark.parametrize("how", DEATHS)
def test_a_worker_that_dies_is_told_with_its_cause_and_started_again(make_user, how):
    statement, type_name, word = DEATHS[how]

    run = submit(make_user(), "die", functions=f"""
        def die():
            {statement}
    """, after=AGAIN).ended()

    assert_told(run.reported("error"), type_name, word)
    assert run.reported("again") == 32
    if how == "SIGSEGV":
        assert "last words" in str(run.reported("error"))


def test_a_worker_out_of_memory_is_told_so(make_user):
    run = submit(make_user(), "eat", "memory='300MB'", functions="""
        def eat():
            return len(bytearray(2_000_000_000))
    """).ended()

    error = run.reported("error")
    assert_told(error, "OutOfMemory", "memory", "(300 MiB)")
    assert error["context"]["memory_limit_mib"] == "300"


def test_a_function_that_cannot_be_pickled_is_refused_before_anything_is_leased(make_user):
    error = submit(make_user(), "lambda: lock", functions="import threading; lock = threading.Lock()").ended().reported("error")

    assert_told(error, "NotPicklable", "lock")


def test_a_result_that_cannot_be_pickled_is_told_by_its_type(make_user):
    run = submit(make_user(), "make", functions="""
        def make():
            import threading
            return threading.Lock()
    """, after=AGAIN).ended()

    assert_told(run.reported("error"), "ResultNotPicklable", "lock")
    assert run.reported("again") == 32


def test_a_hung_slurmctld_during_a_submit_leaves_exactly_one_job(quiet_cluster, login_node, make_user):
    alice = make_user(node=login_node(quiet_cluster), idle_release_s=1)
    # A first call: a pounced that has just started asks slurmctld what it has before it asks for more.
    alice.python("import pounce\nwith pounce.Client() as client: client.submit(pow, 2, 3).result(90)").ended()
    instance = alice.endpoint()["instance"]
    wait_until(lambda: not alice.jobs(instance), 40, "the first call's job is gone")
    pid = int(Path(f"/opt/pounce-cluster-{quiet_cluster}/run/slurmctld.pid").read_text())

    os.kill(pid, signal.SIGSTOP)
    try:
        run = alice.python("""
            import pounce
            client = pounce.Client()
            future = client.submit(pow, 2, 10)
            report(submitted=True)
            report(result=future.result(120))
            report(jobs=len(client.queue()))
            client.close()
        """)
        run.reported("submitted")
        # slurmctld answers nothing for longer than libslurm's own 10 s: the outcome of the submit is unknown.
        log = f"/home/alice/.local/state/pounce/pounce{quiet_cluster}/{instance}/pounced.log"
        wait_until(lambda: "slurmctld did not answer" in Path(log).read_text(), 60, "the submit's outcome is unknown")
    finally:
        os.kill(pid, signal.SIGCONT)

    assert run.ended(120).reported("result") == 1024
    assert run.reported("jobs") == 1


def test_kernels_that_start_while_slurmctld_is_down_are_all_told_why_by_one_start(quiet_cluster, login_node, make_user):
    """One kernel's pounced tries; the others, which waited for it, are told what it was told."""
    alice = make_user(node=login_node(quiet_cluster))
    logs = Path(f"/home/alice/.local/state/pounce/pounce{quiet_cluster}")
    failed_starts = lambda: sum(log.read_text().count("slurmctld did not answer") for log in logs.glob("*/pounced.log"))
    before = failed_starts()
    end(quiet_cluster, "slurmctld")

    runs = [alice.python(SUBMIT_AT_START) for _ in range(5)]
    errors = [run.ended().reported("error") for run in runs]

    for error in errors:
        assert_told(error, "SlurmUnreachable", "slurmctld did not answer")
    assert failed_starts() == before + 1
