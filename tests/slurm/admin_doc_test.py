"""docs/admin.md does what it says: its marked commands, in its order, on a real Slurm, with the seconds that they take."""

from __future__ import annotations

import re
import subprocess
import time

from faults import measured
from gateway import of_cluster
from login_node import CLUSTER, ROOT

BLOCKS = re.findall(r"^## ([^\n]+)|^<!-- run(?: as (\w+))? -->\n```sh\n(.*?)^```", (ROOT / "docs" / "admin.md").read_text(), re.M | re.S)


def test_every_marked_command_of_the_admins_page_works(quiet_cluster, tmp_path):
    section, ran = "", 0
    tmp_path.chmod(0o755)
    for title, user, commands in BLOCKS:
        section = title or section
        if title:
            continue
        begin = time.monotonic()
        done = subprocess.run([str(CLUSTER), "run", "--as", user or "root", "--", "sh", "-e", "-c", f"cd {'~' if user else tmp_path}\n{commands}"],
                              env=of_cluster(quiet_cluster), capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{section}:\n{commands}\n{done.stdout}\n{done.stderr}"
        measured(f"admin.md, {section}", time.monotonic() - begin)
        ran += 1
    assert ran >= 4
