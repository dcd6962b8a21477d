"""GPUs that fail, or are not the lease's, on a real Slurm: by a library that stands in for their driver's, since the cluster's are none."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from fake_driver import FakeDriver

# The first run of the call breaks the GPU that it has; a later one finds the file.
BREAKS = """
    import pounce
    client = pounce.Client(gpus=1)
    def breaks(folder):
        if os.path.exists(f"{folder}/ran"):
            return "went on"
        open(f"{folder}/ran", "w").close()
        with open(f"{folder}/new", "w") as file:
            file.write("79")
        os.rename(f"{folder}/new", f"{folder}/xid-" + os.environ["CUDA_VISIBLE_DEVICES"])
        while True:
            time.sleep(0.05)
    def nodes():
        return [lease.node for lease in client.leases() if lease.node]
"""


@pytest.fixture
def alice(quiet_cluster, login_node, make_user):
    return make_user("alice", login_node(quiet_cluster), poll_max_s=2)


@pytest.fixture
def driver(alice) -> FakeDriver:
    driver = FakeDriver(alice.folder)
    driver.folder.chmod(0o777)
    return driver


def test_a_call_whose_gpu_fails_goes_on_on_another_node_and_that_one_is_avoided(alice, driver):
    run = alice.python(BREAKS + f"""
    future = client.submit(breaks, {str(driver.folder)!r}, retries=1)
    while not (first := nodes()):
        time.sleep(0.02)
    report(first=first[0], result=future.result(150), then=nodes()[-1])
    signal.pause()
    """, **driver.environment)
    assert run.reported("result", 180) == "went on"
    assert run.reported("then") != run.reported("first")

    nodes = {node["node"]: node for node in json.loads(alice.run("pouncectl", "nodes", "--json"))["nodes"]}
    assert set(nodes) == {"g1", "g2"} and all(node["slurm"]["cpus"] > 0 for node in nodes.values())
    broken, whole = nodes[run.reported("first")], nodes[run.reported("then")]
    assert broken["avoided_until_s"] > 0 and "Xid 79" in broken["trouble"]
    assert broken["health"].endswith("avoided")  # behind "GPU-first failed" while its lease has not ended
    assert [gpu["model"] for gpu in whole["gpus"]] == ["Fake GPU"] and whole["health"] == "ok"
    run.process.kill()


def test_gpus_that_a_site_s_script_adds_are_not_the_lease_s(quiet_cluster, login_node, make_user):
    alice = make_user("alice", login_node(quiet_cluster), policy={"prologue": "export CUDA_VISIBLE_DEVICES=0,1,2,3"})
    run = alice.python("""
    import pounce
    with pounce.Client(gpus=1) as client:
        try:
            client.submit(pow, 2, 3).result(150)
        except Exception as e:
            report(refused=error(e))
    """)
    refused = run.reported("refused", 180)
    assert refused["type"] == "DeviceUnavailable" and "(0,1,2,3)" in refused["text"], refused
