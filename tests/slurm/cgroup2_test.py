"""Control groups of version 2, as most sites have them today: the disposable cluster takes them, memory is bounded, and a worker that
takes too much is told so. On a machine with version 1 that needs another kernel's boot."""

from __future__ import annotations

import os
import re

import pytest
import virtual_machine
from login_node import CLUSTER, RELEASE

why = "" if os.environ.get("POUNCE_LONG_RUN") else "it starts a virtual machine: in long runs"
why = why or ("the system's Slurm alone" if RELEASE else "") or virtual_machine.what_is_missing()
pytestmark = [pytest.mark.skipif(bool(why), reason=why), pytest.mark.timeout(600)]

PROGRAM = """
import pounce
def place():
    return open("/proc/self/cgroup").read().strip()
with pounce.Client(memory="300MB", cpus=1) as client:
    print("PLACE", client.submit(place).result(150), flush=True)
    print("DIED", type(client.submit(lambda: len(bytearray(10**9))).exception(150)).__name__, flush=True)
"""
SCRIPT = f"""
export POUNCE_CLUSTER_ID=90
cat >/tmp/program.py <<'PROGRAM'
{PROGRAM}
PROGRAM
chmod 644 /tmp/program.py
{CLUSTER} up && {CLUSTER} run --as alice -- python /tmp/program.py && {CLUSTER} down
code=$?
echo LEFT "$(find /sys/fs/cgroup -name '*slurm*' -type d | wc -l)"
exit $code
"""


def test_memory_is_bounded_and_a_worker_that_takes_too_much_is_told_so(tmp_path):
    said = virtual_machine.run(tmp_path, SCRIPT, 500)

    assert "EXIT CODE 0" in said, said[-4000:]
    assert re.search(r"PLACE 0::/system\.slice/g\d_slurmstepd\.scope/job_\d+/", said)
    assert "DIED OutOfMemory" in said
    assert "LEFT 0" in said
