"""The lock under which torch compiles an extension: one that a killed process left is the next one's, any other is waited for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pounce._common.machine import Mount, boot_id
from pounce._worker import extension_lock
from pounce._worker.extension_lock import BuildLock, is_left_behind

HOLDS = """
import sys
from pounce._worker.extension_lock import BuildLock
lock = BuildLock(sys.argv[1])
assert lock.try_acquire()
print("held", flush=True)
sys.stdin.read()
lock.release()
"""


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "lock")


@pytest.fixture
def holder(path):
    """Another process, which holds the lock until its standard input ends."""
    with subprocess.Popen([sys.executable, "-c", HOLDS, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


@pytest.fixture
def pauses(monkeypatch):
    """In place of time: what happens in each pause of a process that waits; every pause is a minute long."""
    later: list = []
    minutes = iter(range(100))
    monkeypatch.setattr(extension_lock.time, "monotonic", lambda: 60.0 * next(minutes))
    monkeypatch.setattr(extension_lock.time, "sleep", lambda _: later.pop(0)())
    return later


def test_a_lock_that_a_killed_process_left_is_taken_at_once(path, holder):
    holder.kill()
    holder.wait()
    lock = BuildLock(path)

    assert lock.try_acquire()
    lock.release()
    assert not os.path.exists(path)


def test_the_lock_of_a_process_that_lives_is_waited_for_and_its_work_is_not_done_again(path, holder, pauses):
    pauses += [lambda: None, lambda: holder.communicate()]

    assert not BuildLock(path).try_acquire()
    assert not pauses


def test_a_process_that_is_killed_while_another_waits_leaves_the_lock_to_it(path, holder, pauses):
    pauses += [lambda: None, lambda: (holder.kill(), holder.wait())]

    assert BuildLock(path).try_acquire()
    assert boot_id() in Path(path).read_text()


def test_a_lock_of_another_node_stays_where_flocks_do_not_reach_that_node(path, pauses, capsys):
    Path(path).write_text("another-boot g2\n")
    pauses += [lambda: None, lambda: os.remove(path)]

    assert not BuildLock(path).try_acquire()
    assert capsys.readouterr().err == (
        f"pounce: torch waits while a process on g2 compiles this extension; if none does, remove {path}\n")


def test_torchs_own_lock_has_no_owner_that_could_be_looked_for_so_it_is_waited_for_with_a_word(path, pauses, capsys):
    Path(path).touch()
    pauses += [lambda: None, lambda: None, lambda: os.remove(path)]

    assert not BuildLock(path).try_acquire()
    assert capsys.readouterr().err == (
        f"pounce: torch waits while another process compiles this extension; if none does, remove {path}\n")


@pytest.mark.parametrize(("boot", "mount", "is_left"), [
    (boot_id(), Mount("ext4", frozenset()), True),
    (boot_id(), Mount("", frozenset()), True),
    ("", Mount("nfs4", frozenset({"local_lock=none"})), False),
    ("another", Mount("ext4", frozenset()), False),
    ("another", Mount("nfs4", frozenset({"vers=4.2", "local_lock=none"})), True),
    ("another", Mount("nfs", frozenset({"nolock", "local_lock=all"})), False),
    ("another", Mount("nfs", frozenset({"local_lock=flock"})), False),
    ("another", Mount("lustre", frozenset({"flock"})), True),
    ("another", Mount("lustre", frozenset({"localflock"})), False),
    ("another", Mount("gpfs", frozenset()), True),
    ("another", Mount("beegfs", frozenset()), False)])
def test_a_free_flock_tells_of_another_nodes_owner_where_flocks_reach_that_node(boot, mount, is_left):
    assert is_left_behind(boot, mount) == is_left


COMPILER = """#!/bin/sh
begun=$(dirname "$0")/begun
case " $* " in *" -c "*) [ -e "$begun" ] || { : >"$begun"; exec sleep 1000; } ;; esac
exec c++ "$@"
"""


@pytest.mark.skipif(shutil.which("ninja") is None, reason="torch compiles with ninja")
def test_an_extension_that_a_killed_worker_began_to_compile_is_compiled_by_the_next(home):
    pytest.importorskip("torch")
    compiler = home.folder / "compiler"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    (home.folder / "made.cpp").write_text('extern "C" int made() { return 42; }\n')
    (home.folder / "built").mkdir()

    run = home.run("""
        os.environ["CXX"] = os.path.abspath("compiler")
        def made():
            import ctypes, torch.utils.cpp_extension
            torch.utils.cpp_extension.load("made", ["made.cpp"], build_directory="built", is_python_module=False)
            return ctypes.CDLL("built/made.so").made()
        client = pounce.Client()
        worker = client.submit(os.getpid).result(60)
        killed = client.submit(made)
        while not os.path.exists("begun") and not killed.done():
            time.sleep(0.01)
        os.kill(worker, signal.SIGKILL)
        report(killed=error_of(lambda: killed.result(60))["type"], left=os.path.exists("built/lock"))
        report(result=client.submit(made).result(60), after=os.path.exists("built/lock"))
        client.close()
    """)

    assert run.reports == {"killed": "WorkerCrashed", "left": True, "result": 42, "after": False}
