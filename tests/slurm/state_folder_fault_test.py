"""A state folder that cannot be written, is full, or goes away under pounced."""

from __future__ import annotations

import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from faults import AGAIN, HeldTask, assert_told
from login_node import wait_until


@pytest.fixture
def small_disk():
    """A file system of 64 KiB that alice owns."""
    folder = Path(tempfile.mkdtemp(prefix="pounce-disk-"))
    folder.chmod(0o755)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700,uid=alice,gid=alice", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)
    folder.rmdir()


def fill(who, folder: Path) -> None:
    # The journal's last page has room of its own.
    who.run("sh", "-c", f"for journal in {folder}/*/*/journal; do truncate --no-create --size=%4096 $journal; done; "
                        f"head -c 100000 /dev/zero >{folder}/filler", check=False)


FAILING_START = """
    import pounce
    try:
        pounce.Client().submit(pow, 2, 3).result(100)
    except Exception as e:
        report(error=error(e))
"""


def test_a_state_folder_that_cannot_be_written_is_named(make_user):
    nobodys = Path(tempfile.mkdtemp(prefix="pounce-nobodys-"))
    nobodys.chmod(0o755)

    error = make_user(state_folder=str(nobodys / "state")).python(FAILING_START).ended().reported("error")

    assert_told(error, "DaemonUnavailable", str(nobodys), "Permission denied")
    nobodys.rmdir()


def test_a_state_folder_that_is_full_at_the_start_is_named(make_user, small_disk):
    alice = make_user(state_folder=str(small_disk))
    fill(alice, small_disk)

    error = alice.python(FAILING_START).ended().reported("error")

    assert_told(error, "DaemonUnavailable", str(small_disk), "No space left on device")


def test_a_home_that_is_full_moves_the_state_to_the_machines_own_disk_and_says_so(make_user, small_disk):
    alice = make_user(idle_release_s=2)
    other = f"/var/tmp/pounce-{pwd.getpwnam('alice').pw_uid}"
    shutil.rmtree(other, ignore_errors=True)  # of an earlier run
    alice.run("sh", "-c", f"head -c 100000 /dev/zero >{small_disk}/filler", check=False)

    run = alice.python("""
        import pounce
        client = pounce.Client()
        report(result=client.submit(pow, 2, 10).result(100), again=pounce.Client().submit(pow, 2, 11).result(100))
        client.close()
    """, HOME=str(small_disk)).ended()

    assert run.reported("result") == 1024 and run.reported("again") == 2048
    assert f"No space left on device: pounced keeps its state in {other}, on this machine alone" in run.output
    (endpoint,) = Path(other).glob("*/*/endpoint")
    wait_until(lambda: not alice.jobs(endpoint.parent.name), 60, "the leases are given back")


def test_a_state_folder_that_fills_up_stops_new_leases_and_not_running_work(make_user, small_disk):
    alice = make_user(state_folder=str(small_disk), idle_release_s=60)
    task = HeldTask(alice, after=f"""{AGAIN}
    try:
        client.options(cpus=2).submit(pow, 2, 3).result(100)
    except Exception as e:
        report(refused=error(e))
    """)

    fill(alice, small_disk)
    task.let_go()

    assert task.result() == 1024 and task.run.reported("again") == 32
    assert_told(task.run.reported("refused"), "DaemonUnavailable", "No space left on device", "Make room")


def test_a_state_folder_that_is_removed_costs_nothing(make_user):
    alice = make_user(idle_release_s=2)
    task = HeldTask(alice, after=f"report(before=True)\n    while not os.path.exists({str(alice.folder / 'flag1')!r}):\n"
                                 f"        time.sleep(0.05)\n    {AGAIN}")
    first = alice.endpoint()

    alice.run("sh", "-c", f"rm -rf ~/.local/state/pounce/*/{first['instance']}")
    wait_until(lambda: first["pid"] not in alice.node.pids(), 30, "pounced notices and steps down")
    task.let_go()
    assert task.run.reported("result") == 1024
    (alice.folder / "flag1").touch()

    assert task.run.ended().reported("again") == 32
    second = alice.endpoint()
    assert second["pid"] != first["pid"] and second["instance"] == first["instance"]
    wait_until(lambda: not alice.jobs(first["instance"]), 60, "every lease is given back")
