"""quickstart --here, run to its end by an ordinary user on the Slurm that is there."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from login_node import ROOT, wait_until

PREFIX = Path(os.environ.get("POUNCE_ENVIRONMENT", "/opt/pounce-demo"))


@pytest.mark.timeout(12 * 60)  # it trains on two cores that others use too
@pytest.mark.skipif(not os.environ.get("POUNCE_LONG_RUN"), reason="takes two minutes: tests/run --long runs it")
def test_here_trains_on_a_gpu_of_the_slurm_that_is_there(quiet_cluster, login_node, make_user):
    if not (PREFIX / ".made-of").exists():
        pytest.skip(f"there is no environment {PREFIX}: packaging/environment makes it")
    alice = make_user("alice", login_node(quiet_cluster))  # the example looks whether she has a job
    alice.run("sh", "-c", "rm -rf ~/pounce-quickstart")
    run = alice.start([str(ROOT / "packaging" / "quickstart"), "--here", "--env", str(PREFIX)])

    run.ended(11 * 60)

    executed = json.loads(alice.run("sh", "-c", "cat ~/pounce-quickstart/offload-executed.ipynb"))
    assert all(cell["execution_count"] for cell in executed["cells"] if cell["cell_type"] == "code")
    assert re.search(r"RUNNING +g[12] +gpu:", run.output) and "CPU standing in" not in run.output
    wait_until(lambda: not alice.jobs(), 60, "its lease goes back")
