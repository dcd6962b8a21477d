"""The real cluster, shared by all tests of this folder; each test that starts daemons gets a login node of its own."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import subprocess
from pathlib import Path

import pytest
from gateway import of_cluster
from lab import JUPYTER, PICTURES, Lab
from login_node import CLUSTER, ROOT, SHARED, LoginNode, User, own_cluster_number, wait_until

# Looked for once, before the processes that share the tests begin: they have to collect the same, and a release may be built meanwhile.
os.environ.setdefault("POUNCE_BUILT_RELEASES", " ".join(
    path.parent.name.removeprefix("slurm-") for path in (ROOT / "build").glob("slurm-*/pounce-slurm")))

# Files with tests of a minute and more. They begin first: at the end one worker would be busy with them, and the others with nothing.
LONG = ("state", "mlflow_projects", "node_fault", "checkpoint", "eta", "batch", "hold", "cell", "job_fault", "workers")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    of_file = {f"{name}_test": place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: of_file.get(item.path.stem, len(LONG)))


@pytest.fixture(scope="session")
def cluster():
    if os.geteuid() != 0:
        pytest.skip("only root can start the disposable Slurm and its namespaces")
    subprocess.run([str(CLUSTER), "up"], check=True, stdout=subprocess.DEVNULL)
    return CLUSTER


@pytest.fixture
def cluster_folder(cluster):
    status = subprocess.run([str(CLUSTER), "status", "--json"], capture_output=True, text=True, check=True).stdout
    return Path(json.loads(status)["dir"])


@pytest.fixture(scope="module")
def spare_cluster():
    """A second cluster for the tests of one file that stop its daemons or cut its links: nobody else waits for those."""
    if os.geteuid() != 0:
        pytest.skip("only root can start the disposable Slurm and its namespaces")
    with own_cluster_number() as number:
        yield number
        cluster_command(number, "down")


@pytest.fixture
def quiet_cluster(spare_cluster):
    """It, with everything up that an earlier test ended, and without the jobs that it left: their workers live for a while
    after the login node, and hold GPUs."""
    cluster_command(spare_cluster, "up")
    for user in ("alice", "bob"):
        cluster_command(spare_cluster, "run", "--", "scancel", f"--user={user}")
    squeue = [str(CLUSTER), "run", "--", "squeue", "--noheader"]
    nothing = lambda: not subprocess.run(squeue, env=of_cluster(spare_cluster), capture_output=True, text=True, check=True).stdout
    wait_until(nothing, 90, "no job is left of an earlier test")
    return spare_cluster


@pytest.fixture
def admin(quiet_cluster):
    """Runs a command of Slurm's as root on the quiet cluster; returns what it prints."""

    def admin(*words: str, user: str = "root") -> str:
        command = [str(CLUSTER), "run", "--as", user, "--", *words]
        done = subprocess.run(command, env=of_cluster(quiet_cluster), capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
        return done.stdout.strip()

    return admin


def cluster_command(number: int, *words: str) -> None:
    env = {**os.environ, "POUNCE_CLUSTER_ID": str(number)}
    subprocess.run([str(CLUSTER), *words], check=True, env=env, stdout=subprocess.DEVNULL)


def worker_number() -> int:
    name = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    return int(name.removeprefix("gw"))


# 12 numbers for each parallel test process: unique addresses without talking to each other. A node of a whole group keeps its own.
_free_numbers = collections.deque(range(12))


@pytest.fixture
def login_node(cluster):
    """Makes login nodes: `login_node()` one on the shared cluster, `login_node(cluster_id)` one elsewhere."""
    with login_nodes() as make:
        yield make


@contextlib.contextmanager
def login_nodes():
    nodes: list[tuple[int, LoginNode]] = []

    def make(cluster_id: int = SHARED) -> LoginNode:
        number = _free_numbers.popleft()
        node = LoginNode(worker_number() * 12 + number, cluster_id)
        nodes.append((number, node))
        node.connect()
        return node

    try:
        yield make
    finally:
        for number, node in nodes:
            node.disconnect()
            _free_numbers.append(number)


@pytest.fixture
def make_user(login_node):
    """Makes a user on a new login node: `user("alice", idle_release_s=5)`."""

    def make(user: str | None = "alice", node: LoginNode | None = None, **config) -> User:
        return User(node or login_node(), user, **config)

    return make


# ---- JupyterLab --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def shared_page(cluster):
    """One server and one browser for all tests of the group lab: they take longer to start than most tests with them."""
    if not JUPYTER.exists():
        pytest.fail(f"{JUPYTER} is not there; packaging/lab-environment makes it")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with login_nodes() as make:
        page = Lab(User(make(), "alice", idle_release_s=600))
        yield page
        page.browser.close()


@pytest.fixture
def page(shared_page, request):
    yield shared_page
    shared_page.browser.picture(PICTURES / f"{request.node.name}.png")  # of a failure too
    shared_page.end_kernels()
    shared_page.user.run("pouncectl", "release", "--all", "--now", check=False)  # one whose kernel was restarted keeps its worker
    wait_until(lambda: not shared_page.jobs(), 120, "all workers have gone back")
