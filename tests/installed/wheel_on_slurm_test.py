"""The wheel on a site with a Slurm of its own: an ordinary user installs it as docs/admin.md says, `pouncectl setup` builds what
fits that Slurm, and a call and a command run on a GPU of a node. Nothing else of the tree can be seen."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from bare_user import LIBRARIES, ROOT
from conftest import LONG, SYSTEMS, built_wheel, install_commands

pytestmark = pytest.mark.skipif(not LONG, reason="it compiles for some minutes and starts a Slurm: in long runs")
CLUSTER = ROOT / "packaging" / "cluster"
CLUSTER_ID = os.environ.get("POUNCE_CLUSTER_ID", "7")  # the other suites have 0 and 8 to 10, what tests start 20 to 149

# For sh, as root on the login side: alice's command sees Slurm, its headers and a compiler, and neither this tree nor the headers that
# came with the wheel.
AS_ALICE = f"""
for folder in /usr/include/nlohmann /usr/include/spdlog /usr/include/fmt /usr/include/tl /opt/pounce-demo {ROOT}; do
  [ ! -d $folder ] || mount -t tmpfs none $folder
done
cd /home/alice
exec setpriv --reuid=alice --regid=alice --init-groups env HOME=/home/alice USER=alice LOGNAME=alice "$@"
"""
CALL = """
import json, os, sys, pounce
def where():
    return sys.executable, os.environ["CUDA_VISIBLE_DEVICES"]
with pounce.Client(gpus=1) as client:
    print(json.dumps([*client.submit(where).result(200), client.leases()[0].job]))
"""


class Site:
    """The cluster, and the folder that its nodes see under the same path."""

    def __init__(self, folder: Path):
        self.apps = folder / "apps"
        self.environment = {**os.environ, "POUNCE_CLUSTER_ID": CLUSTER_ID, "POUNCE_ENVIRONMENT": str(self.apps / "pounce")}

    def cluster(self, *words: str) -> None:
        subprocess.run([CLUSTER, *words], env=self.environment, stdout=subprocess.DEVNULL, check=True, timeout=300)

    def alice(self, *words: str, code: int = 0) -> str:
        """What the command prints; pip is told where this machine has its packages."""
        pip = [f"{name}={value}" for name, value in os.environ.items() if name.startswith("PIP_")]
        command = [CLUSTER, "run", "--", "unshare", "--mount", "sh", "-ec", AS_ALICE, "as-alice", *pip, *words]
        done = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=900)
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout


@pytest.fixture(scope="module")
def site(readable_folder):
    """With the wheel in it, installed by alice with the page's own lines."""
    wheel = built_wheel(SYSTEMS)
    site = Site(readable_folder / "site")
    (site.apps / "wheels").mkdir(parents=True)
    shutil.copy(wheel, site.apps / "wheels")
    site.cluster("up")
    shutil.chown(site.apps, "alice")
    site.alice("sh", "-ec", install_commands(site.apps, "/usr/bin/python3"))
    yield site
    site.cluster("down")


@pytest.mark.timeout(45 * 60)
def test_setup_builds_what_fits_the_sites_slurm_and_ends_in_the_doctors_lines(site):
    found = json.loads(site.alice("pouncectl", "setup", "--json"))["setup"]  # the wheel's own fits: it was made beside this Slurm
    said = json.loads(site.alice("pouncectl", "setup", "--rebuild", "--json"))
    again = json.loads(site.alice("pouncectl", "setup", "--json"))
    states = {line["check"]: line["state"] for line in said["checks"]}

    assert not found["built"] and found["pounce_slurm"] == f"{site.apps}/pounce/bin/pounce-slurm"
    assert said["setup"]["built"] and said["setup"]["pounce_slurm"].startswith(f"{site.apps}/pounce/lib/pounce/pounce-slurm/")
    assert Path(said["setup"]["libslurm"]).parent == LIBRARIES and not again["setup"]["built"]
    assert said["wrong"] == 0, said
    assert {"programs", "Python", "libslurm", "slurmctld", "classes", "munge"} <= {check for check, state in states.items() if state == "ok"}, said


@pytest.mark.timeout(900)
def test_a_call_and_a_command_run_on_a_gpu_of_a_node(site):
    python, gpu, job = json.loads(site.alice("python", "-c", CALL).splitlines()[-1])
    said = site.alice("pouncectl", "run", "--gpu", "1", "--", "sh", "-c", "echo GPU $CUDA_VISIBLE_DEVICES; exit 7", code=7)

    assert python == f"{site.apps}/pounce/bin/python" and gpu.isdigit() and job > 0
    assert re.search(r"^GPU \d$", said, re.M), said
