"""hash() of a text is the same on all of a notebook's workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pounce._worker.state import hash_seed

HASHES = """
    class Keeps:
        def __init__(self, name): self.name, self.kept = name, hash(name)
        def __hash__(self): return self.kept
        def __eq__(self, other): return self.name == other.name
    def there(): return [hash("a text"), os.environ.get("PYTHONHASHSEED"), subprocess_sees()]
    def subprocess_sees():
        import subprocess
        return subprocess.run(["sh", "-c", "echo ${PYTHONHASHSEED-none}"], capture_output=True, text=True).stdout.strip()
    with pounce.Client() as client:
        report(here=hash("a text"), one=client.submit(there).result(60), other=client.options(cpus=2).submit(there).result(60))
        with client.gang(workers=2) as gang: report(ranks=gang.run(lambda: hash("a text")))
        report(found=client.options(cpus=2).submit(lambda table: Keeps("x") in table, client.submit(lambda: {Keeps("x"): 1}).result(60)).result(60))
        %s
"""


def test_all_workers_have_one_seed_over_programs_and_daemons(home):
    """A seed was drawn by each interpreter: what kept a hash was not found on the next worker, and shards by hash fell apart."""
    home.environment.pop("PYTHONHASHSEED", None)
    first = home.run(HASHES % "os.kill(pounced_pid(), signal.SIGKILL)").reports
    second = home.run(HASHES % "").reports

    hashes = [run[key][0] for run in (first, second) for key in ("one", "other")] + first["ranks"] + second["ranks"]
    assert len(set(hashes)) == 1 and first["found"] and second["found"]
    assert first["one"][1:] == [None, "none"], "user code sees the variables that its notebook has"
    (kept,) = home.folder.glob(".local/state/pounce/*/parked/hash_seed")
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_notebook_whose_seed_is_told_shares_it_with_its_workers(home):
    home.environment["PYTHONHASHSEED"] = "7"
    reports = home.run("""
        os.environ["PYTHONHASHSEED"] = "8"  # too late for this Python, and for those that are to hash as it does
        def there(): return [hash("a text"), os.environ["PYTHONHASHSEED"]]
        with pounce.Client() as client:
            report(here=hash("a text"), there=client.submit(there).result(60))
    """).reports
    assert reports["there"] == [reports["here"], "8"]


# ---- where the seed comes from ----


@pytest.mark.parametrize("began_with, is_told", [("7", "7"), ("007", "7"), ("0", "0"), ("random", ""), ("", ""), (None, "")])
def test_the_seed_that_this_python_began_with_is_told_where_it_is_a_number(tmp_path, began_with, is_told):
    site = str(Path(hash_seed.__file__).parents[3])
    program = f"import sys; sys.path.insert(0, {site!r}); from pounce._worker.state.hash_seed import hash_seed; print(hash_seed(sys.argv[1]))"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    if began_with is not None:
        environment["PYTHONHASHSEED"] = began_with
    said = subprocess.run([sys.executable, "-c", program, str(tmp_path / "parked")], env=environment, capture_output=True, text=True, check=True)
    kept = tmp_path / "parked" / "hash_seed"
    assert said.stdout.strip() == (is_told or kept.read_text()) and kept.exists() == (not is_told)


@pytest.fixture
def unknown(monkeypatch):
    monkeypatch.setattr(hash_seed, "_began_with", dict)


def test_a_seed_that_is_kept_is_taken_and_one_that_was_cut_off_is_made_anew(tmp_path, unknown):
    first = hash_seed.hash_seed(str(tmp_path))
    assert hash_seed.hash_seed(str(tmp_path)) == first and 1 <= int(first) <= 2**32 - 1
    (tmp_path / "hash_seed").write_text("")
    anew = hash_seed.hash_seed(str(tmp_path))
    assert anew == hash_seed.hash_seed(str(tmp_path)) == (tmp_path / "hash_seed").read_text()


@pytest.mark.parametrize("spoil", [lambda root: os.chmod(root, 0o777), lambda root: os.rmdir(root) or root.write_text("no folder"),
                                   lambda root: (root / "hash_seed").symlink_to("/etc/hostname")])
def test_where_it_cannot_be_kept_it_is_one_of_this_process(tmp_path, unknown, spoil):
    root = tmp_path / "parked"
    root.mkdir(mode=0o700)
    spoil(root)
    seed = hash_seed.hash_seed(str(root))
    assert seed == hash_seed.hash_seed(str(root)) and int(seed) > 0
