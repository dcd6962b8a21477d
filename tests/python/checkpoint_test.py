"""A task's checkpoint: whole or not there, this user's alone, and what the next run of the task begins with."""

from __future__ import annotations

import errno
import os
import signal
import threading
from types import SimpleNamespace

import numpy
import pounce
import pytest
from pounce import errors, on_worker
from pounce._common import result_store

TRAIN = """
    def train(epochs, fate):
        import pathlib
        done = pounce.restored([])
        while len(done) < epochs:
            epoch = len(done)
            with open("epochs", "a") as log:
                log.write(f"{epoch}\\n")
            done = [*done, epoch]
            pounce.checkpoint(done)
            if epoch == 2 and not pathlib.Path("died").exists():
                pathlib.Path("died").touch()
                fate()
        return done
    def killed():
        os.kill(os.getpid(), signal.SIGKILL)
    def kept():
        import pathlib
        return [file.name for file in pathlib.Path(".local/state/pounce").glob("*/checkpoints/*")]
"""


class Worker:
    """This process as a worker on which one task runs after the other."""

    def __init__(self, state, monkeypatch):
        self._state, self._monkeypatch = state, monkeypatch
        self.removed_with_outcome: dict[str, str] = {}
        monkeypatch.setattr(on_worker.interpreter, "core", SimpleNamespace(remove_when_acknowledged=self.removed_with_outcome.__setitem__))
        monkeypatch.setattr(on_worker.interpreter, "node", "g1")
        self.sees(state)
        self.runs("aa")

    def runs(self, task: str, kept_in: str = "") -> None:
        self._monkeypatch.setattr(on_worker.interpreter, "running", SimpleNamespace(task=task, session="5e", kept_in=kept_in))

    def sees(self, state) -> None:
        self._monkeypatch.setattr(on_worker.interpreter, "state_folder", str(state))


@pytest.fixture
def kept(tmp_path):
    """Where checkpoints are, beside pounced's own folder."""
    (tmp_path / "0123456789ab").mkdir(mode=0o700)
    (tmp_path / "checkpoints").mkdir(mode=0o700)
    return tmp_path / "checkpoints"


@pytest.fixture
def worker(kept, monkeypatch):
    return Worker(kept.parent / "0123456789ab", monkeypatch)


# ---- what is kept ----

def test_the_last_one_is_what_is_restored(worker):
    pounce.checkpoint({"epoch": 1})
    pounce.checkpoint({"epoch": 2})

    assert pounce.restored() == {"epoch": 2}


def test_a_task_without_one_has_the_default(worker):
    assert pounce.restored() is None and pounce.restored(default=7) == 7


def test_each_task_has_its_own(worker):
    pounce.checkpoint("of aa")
    worker.runs("bb")
    pounce.checkpoint("of bb")
    worker.runs("aa")

    assert pounce.restored() == "of aa"


def test_arrays_come_back_writable_and_what_shares_memory_shares_it(worker):
    array = numpy.arange(100_000.0)
    pounce.checkpoint({"all": array, "fortran": numpy.asfortranarray(numpy.ones((3, 4))), "again": array})

    back = pounce.restored()

    back["all"][0] = 5
    assert back["again"][0] == 5 and back["all"][-1] == 99_999
    assert back["fortran"].flags.f_contiguous and back["fortran"].sum() == 12


def test_a_model_and_its_optimizer_come_back(worker):
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(3)).sum().backward()
    optimizer.step()

    pounce.checkpoint({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    back = pounce.restored()

    assert torch.equal(back["model"]["weight"], model.weight)
    assert back["optimizer"]["state"][0]["step"] == 1


def test_it_is_one_file_of_this_users_alone(worker, kept):
    pounce.checkpoint(1)
    pounce.checkpoint(2)

    (file,) = kept.iterdir()
    assert file.name == "5e-aa.checkpoint" and file.stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_pickled_is_named_and_the_one_before_is_kept(worker):
    pounce.checkpoint(1)

    with pytest.raises(errors.NotPicklable, match=r"the checkpoint\['log'\] is a lock"):
        pounce.checkpoint({"log": threading.Lock()})

    assert pounce.restored() == 1


def test_a_full_disk_is_named_and_the_one_before_is_kept(worker, kept, monkeypatch):
    pounce.checkpoint(1)

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(result_store.os, "fsync", full)
        with pytest.raises(OSError, match="No space left on device: the checkpoint was not written; the one before") as raised:
            pounce.checkpoint(2)

    assert raised.value.errno == errno.ENOSPC
    assert pounce.restored() == 1 and len(list(kept.iterdir())) == 1


def test_one_that_is_interrupted_while_it_is_written_leaves_nothing(worker, kept, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(result_store.os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pounce.checkpoint(1)

    assert list(kept.iterdir()) == []


# ---- who may have written it ----

def test_a_changed_byte_is_found_and_nothing_is_unpickled(worker, kept):
    pounce.checkpoint(list(range(1000)))
    data = bytearray((kept / "5e-aa.checkpoint").read_bytes())
    data[len(data) // 2] ^= 1
    (kept / "5e-aa.checkpoint").write_bytes(data)

    with pytest.raises(errors.ResultGone, match=r"digest differs.*Remove it, and begin anew"):
        pounce.restored()


@pytest.mark.parametrize("left", [0, 5, 40, -1])
def test_one_that_is_cut_off_is_refused(worker, kept, left):
    pounce.checkpoint(list(range(1000)))
    file = kept / "5e-aa.checkpoint"
    os.truncate(file, left if left >= 0 else file.stat().st_size + left)

    with pytest.raises(errors.ResultGone):
        pounce.restored()


def test_one_that_others_could_have_written_is_refused(worker, kept):
    pounce.checkpoint(1)
    (kept / "5e-aa.checkpoint").chmod(0o620)

    with pytest.raises(errors.ResultGone, match="not this user's alone"):
        pounce.restored()


def test_a_link_is_not_followed(worker, kept, tmp_path):
    pounce.checkpoint(1)
    (kept / "5e-aa.checkpoint").rename(tmp_path / "elsewhere")
    (kept / "5e-aa.checkpoint").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(errors.ResultGone):
        pounce.restored()


def test_a_folder_that_others_can_write_to_is_refused(worker, kept):
    kept.chmod(0o770)

    with pytest.raises(errors.ResultGone, match="not this user's alone"):
        pounce.checkpoint(1)


def test_another_python_is_named(worker, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(result_store, "PYTHON", "2.7")
        pounce.checkpoint(1)

    with pytest.raises(errors.VersionMismatch, match=r"2\.7"):
        pounce.restored()


# ---- where it is kept ----

@pytest.mark.parametrize("ask", [lambda: pounce.checkpoint(1), pounce.restored])
@pytest.mark.parametrize("state", ["", "/nowhere/hpc/0123456789ab"])
def test_a_worker_that_does_not_see_the_folder_says_so(worker, ask, state):
    worker.sees(state)

    with pytest.raises(errors.NotShared, match=r"the worker on g1 does not see .* Set state_folder"):
        ask()


def test_another_machines_folder_of_the_same_name_is_not_taken_for_it(worker, kept):
    worker.sees(kept.parent / "ffffffffffff")  # a pounced ran here too, but not the one that asked for this worker

    with pytest.raises(errors.NotShared):
        pounce.checkpoint(1)


def test_the_clients_having_the_outcome_removes_it(worker, kept):
    pounce.checkpoint(1)

    assert worker.removed_with_outcome == {"aa": str(kept / "5e-aa.checkpoint")}


def test_so_it_does_after_a_run_that_only_restored_it(worker, kept):
    pounce.checkpoint(1)
    worker.removed_with_outcome.clear()

    pounce.restored()

    assert worker.removed_with_outcome == {"aa": str(kept / "5e-aa.checkpoint")}


def test_that_of_a_task_with_a_name_is_pounceds_to_remove(worker):
    worker.runs("aa", kept_in="/home/alice/.local/state/pounce/hpc/results/train-7")
    pounce.checkpoint(1)
    pounce.restored()

    assert worker.removed_with_outcome == {}


def test_in_the_notebook_itself_nothing_is_kept():
    pounce.checkpoint(1)

    assert pounce.restored(default="from the beginning") == "from the beginning"


# ---- a worker that is lost ----

def test_a_task_whose_worker_is_killed_goes_on_from_its_last_checkpoint(home):
    run = home.run(TRAIN + """
    client = pounce.Client()
    report(done=client.submit(train, 6, killed, retries=1).result(60))
    while kept(): time.sleep(0.02)
    """)

    assert run.reports == {"done": [0, 1, 2, 3, 4, 5]}
    assert (home.folder / "epochs").read_text().split() == ["0", "1", "2", "3", "4", "5"]


def test_a_task_with_a_name_does_too_and_its_end_removes_the_checkpoint(home):
    run = home.run(TRAIN + """
    client = pounce.Client()
    future = client.options(name="train-7").submit(train, 6, killed, retries=1)
    report(done=future.result(60), kept=kept())
    """)

    assert run.reports == {"done": [0, 1, 2, 3, 4, 5], "kept": []}
    assert (home.folder / "epochs").read_text().split() == ["0", "1", "2", "3", "4", "5"]


def test_that_of_a_task_that_was_lost_for_good_is_kept_until_it_is_forgotten(home):
    run = home.run(TRAIN + """
    client = pounce.Client()
    future = client.options(name="train-7").submit(train, 6, killed)
    report(error=error_of(lambda: future.result(60))["type"], kept=kept() == [f"{future.id}.checkpoint"])
    future.forget()
    report(forgotten=kept())
    """)

    assert run.reports == {"error": "WorkerCrashed", "kept": True, "forgotten": []}


@pytest.mark.parametrize("home", [{"result_keep_s": 1}], indirect=True)
def test_that_of_a_task_without_a_name_that_was_lost_goes_by_age(home):
    run = home.run(TRAIN + """
    client = pounce.Client()
    report(error=error_of(lambda: client.submit(train, 6, killed).result(60))["type"], kept=len(kept()))
    while kept(): time.sleep(0.05)
    """)

    assert run.reports == {"error": "WorkerCrashed", "kept": 1}


def test_that_of_a_task_that_was_lost_goes_with_its_client(home):
    home.run(TRAIN + """
    client = pounce.Client()
    error_of(lambda: client.submit(train, 6, killed).result(60))
    client.close()
    while kept(): time.sleep(0.02)
    """)


@pytest.mark.parametrize("home", [{"orphan_grace_s": 1}], indirect=True)
def test_that_of_a_client_that_was_killed_goes_once_its_session_is_given_up(home):
    home.run(TRAIN + """
    client = pounce.Client()
    error_of(lambda: client.submit(train, 6, killed).result(60))
    os.kill(os.getpid(), signal.SIGKILL)
    """, code=-signal.SIGKILL)

    home.run(TRAIN + """
    assert len(kept()) == 1, kept()
    while kept(): time.sleep(0.02)
    """)


def test_an_outcome_that_arrives_removes_the_checkpoint_also_where_the_function_raised(home):
    home.run(TRAIN + """
    def fails():
        pounce.checkpoint(1)
        raise ValueError("no")
    client = pounce.Client()
    error_of(lambda: client.submit(fails).result(60))
    while kept(): time.sleep(0.02)
    """)
