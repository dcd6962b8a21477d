"""Alice sends, returns, prints and scatters a marker, and nobody finds it; nor any private key of her processes."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
from pathlib import Path

import pytest
from bridge import Capture
from hunt import OPEN_TO_ALL, Hunt, key_pairs, known_to, memory, told_by_slurm
from login_node import SHARED, wait_until

BRIDGE = f"pounce{SHARED}"
pytestmark = pytest.mark.xdist_group("hunt")

MARKED = """
    import os, resource, time
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    import pounce
    marker = bytes.fromhex({marker!r})
    os.environ["ALICES_TOKEN"] = os.environ["MLFLOW_TRACKING_TOKEN"] = os.environ["AWS_SECRET_ACCESS_KEY"] = {token!r}
    def work(small, large, held):
        import os
        print("printed", small.hex(), flush=True)
        return small, large, held[:32] == small and len(os.environ["MLFLOW_TRACKING_TOKEN"]) == 64, os.getpid(), os.getppid()
    client = pounce.Client()
    held = client.scatter(bytearray(marker * 100_000))
    small, large, same, worker, supervisor = client.submit(work, marker, marker * 100_000, held).result(60)
    report(same=same and small == marker and large == marker * 100_000, kernel=os.getpid(), worker=worker, supervisor=supervisor)
    while not os.path.exists({flag!r}):
        time.sleep(0.05)
    client.close()
"""


class Alice:
    """Her kernel with a worker, after a task with the marker; it lives until `ends`."""

    def __init__(self, user):
        self.user, self.marker, self.token = user, secrets.token_bytes(32), secrets.token_bytes(32)
        self.flag = user.folder / "flag"
        self.run = user.python(MARKED.format(marker=self.marker.hex(), token=self.token.hex(), flag=str(self.flag)))
        assert self.run.reported("same"), self.run.output
        self.kernel, self.worker, self.supervisor = (self.run.reported(name) for name in ("kernel", "worker", "supervisor"))
        self.endpoint = user.endpoint()
        self.state = Path(self.endpoint["log"]).parent

    def ends(self) -> None:
        self.flag.touch()
        self.run.ended()

    def secrets(self) -> dict[str, bytes]:
        """The marker, what stands in her kernel's environment, the private keys of all of her processes, and the key with
        which they prove themselves where there is no munge."""
        found = {"marker": self.marker, "token": self.token, **self.private_keys()}
        return {**found, **({"key file": Path(self.endpoint["key_file"]).read_bytes()} if self.endpoint["key_file"] else {})}

    def private_keys(self) -> dict[str, bytes]:
        pounced = self.endpoint["pid"]
        pids = {"pounced": pounced, "supervisor": self.supervisor, "interpreter": self.worker, "kernel": self.kernel}
        pairs = {name: key_pairs(pid) for name, pid in pids.items()}
        # A process's own is the one that others know it by; there are those of single connections too.
        own = {"pounced": {self.endpoint["key"]}, "interpreter": known_to(self.kernel, pairs["interpreter"]),
               **{name: known_to(pounced, pairs[name]) for name in ("supervisor", "kernel")}}
        assert all(own.values()), own
        return {f"private key of {name}, {public}": pairs[name][public] for name, publics in own.items() for public in publics}


def test_no_secret_of_alices_is_found_where_it_does_not_belong(make_user, cluster_folder):
    user = make_user(idle_release_s=300)
    with Capture(BRIDGE) as capture:
        alice = Alice(user)
        known = alice.secrets()
        hunt = Hunt(known)
        own = (user.folder, Path.home())  # her script, and what it printed
        places = {
            "processes": hunt.in_processes(),
            "open to all": hunt.in_files(*OPEN_TO_ALL, cluster_folder, others_may_read=True, but=own),
            "her own": hunt.in_files(alice.state, alice.endpoint["results"], others_may_read=False, but=(alice.state / "leases",)),
            "slurm's": hunt.in_files(*(cluster_folder / name for name in ("spool", "log", "state", "etc")), others_may_read=False),
            "records": hunt.within(told_by_slurm(make_user(None, user.node))),
        }
        keys = {name: secret for name, secret in known.items() if name not in ("marker", "token")}
        logs = Hunt(keys).in_files(alice.state / "leases", others_may_read=False)
        alice.ends()
        sent = capture.stop()

    assert {place: found for place, found in places.items() if found} == {}
    assert logs == []
    assert [name for name, looks in hunt.needles.items() if any(sent.contains(look) for look in looks)] == []


def test_no_key_of_a_pounced_without_munge_is_found_where_it_does_not_belong(make_user):
    """The key file is the one place for it; its supervisor holds it too, and knows the next pounced by it."""
    user = make_user(launcher="local", idle_release_s=300)
    alice = Alice(user)
    known = alice.secrets()
    assert any(known["key file"] in piece for piece in memory(alice.supervisor))
    hunt = Hunt({name: secret for name, secret in known.items() if name not in ("marker", "token")})

    places = {
        "processes": hunt.in_processes(),
        "open to all": hunt.in_files(*OPEN_TO_ALL, others_may_read=True),
        "her own": hunt.in_files(alice.state, alice.endpoint["results"], user.folder, others_may_read=False),
    }
    alice.ends()

    assert {place: found for place, found in places.items() if found} == {"her own": [f"key file: {alice.endpoint['key_file']}"]}


def test_the_hunt_would_have_found_it(make_user, tmp_path):
    """The control: a marker in each kind of place is found there."""
    user, marker = make_user(), secrets.token_bytes(32)
    hunt = Hunt({"marker": marker})
    planted = tmp_path / "planted"
    planted.write_bytes(b"x" + marker.hex().encode())
    planted.chmod(0o644)
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o005)
    sleeper = subprocess.Popen(["sleep", "60"], env={"TOKEN": marker.hex()})
    job = user.run("sbatch", "--parsable", "--hold", "--mem=100", f"--comment={marker.hex()}", "--wrap=true").strip()
    try:
        assert hunt.in_processes() == [f"marker: /proc/{sleeper.pid}/environ"]
        assert hunt.in_files(tmp_path, others_may_read=True) == [f"marker: {planted}"]
        planted.chmod(0o600)
        assert hunt.in_files(tmp_path, others_may_read=True) == []
        assert hunt.in_files(tmp_path, others_may_read=False) == [f"marker: {planted}"]
        assert hunt.within(told_by_slurm(make_user(None, user.node))) == ["marker"]
    finally:
        user.run("scancel", job)
        sleeper.kill()
        sleeper.wait()


ABORTED = "cd $(mktemp -d) && ulimit -c unlimited && sh -c 'kill -ABRT $$'; ls | grep ^core"


def core_files(folders: set[Path]) -> set[tuple[Path, int]]:
    return {(path, path.stat().st_mtime_ns) for folder in folders for path in folder.glob("core*")}


def test_pounced_and_supervisor_leave_no_core_file(make_user):
    """They, and pounce-slurm, end by a signal that makes one, in a place where others leave one, and their memory holds keys; nor may anybody
    of the same user read that memory."""
    user = make_user(idle_release_s=30)
    assert "core" in user.run("sh", "-c", ABORTED, check=False) or Path("/proc/sys/kernel/core_pattern").read_text().startswith(("|", "/"))
    alice = Alice(user)
    pids = (alice.endpoint["pid"], alice.supervisor)
    (speaker,) = [pid for pid in children(pids[0]) if Path(f"/proc/{pid}/comm").read_text() == "pounce-slurm\n"]
    places = {Path(os.readlink(f"/proc/{pid}/cwd")) for pid in (speaker, *pids)} | {alice.state}
    before = core_files(places)

    assert [os.stat(f"/proc/{pid}/mem").st_uid for pid in pids] == [0, 0]  # not dumpable: root's
    for pid in (speaker, *pids):
        os.kill(pid, signal.SIGABRT)
    wait_until(lambda: not any(is_alive(pid) for pid in (speaker, *pids)), 30, "their end")

    assert core_files(places) == before


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
