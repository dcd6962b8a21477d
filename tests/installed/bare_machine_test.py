"""quickstart on a bare Debian: a root file system that debootstrap has just made, with this machine's mirrors."""

from __future__ import annotations

import os
import subprocess

import pytest
from bare_user import ROOT
from conftest import LONG

pytestmark = pytest.mark.skipif(not LONG, reason="it downloads a Debian, a Slurm and torch: in long runs")
MINIMAL_ROOT = ROOT / "packaging" / "minimal-root"
CLUSTER = "9"  # the suites have 0 to 8


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A clone of the tree in it, as a newcomer has one."""
    root = tmp_path_factory.mktemp("machine") / "root"
    subprocess.run([MINIMAL_ROOT, "make", root], check=True, timeout=900)
    (root / "pounce").mkdir()
    tree = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "--null", "--files-from=-", "-cf", root / "tree.tar"], input=tree, cwd=ROOT, check=True)
    subprocess.run(["tar", "-xf", root / "tree.tar", "-C", root / "pounce"], check=True)
    return root


@pytest.mark.timeout(60 * 60)
def test_quickstart_on_a_bare_debian_ends_with_the_notebook_run_in_both_ways(machine):
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") and name != "PIP_FIND_LINKS"}
    environment = kept | {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "POUNCE_CLUSTER_ID": CLUSTER}
    script = "code=0; /pounce/packaging/quickstart || code=$?; /pounce/packaging/cluster down; exit $code"

    done = subprocess.run([MINIMAL_ROOT, "run", machine, "/bin/sh", "-c", script], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=50 * 60)

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "quickstart: done" in done.stdout
