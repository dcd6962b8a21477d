"""Saved variables of workers that do not see the notebook's folder: a real kernel, on workers of the local launcher."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

from conftest import made_home
from kernel import Notebook

CAN_HIDE = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0
pytestmark = pytest.mark.skipif(not CAN_HIDE, reason="hides a folder from workers in a mount namespace, which takes root")

BLIND = """#!/bin/sh
exec unshare --mount sh -c 'for each in "$HOME"/.local/state/pounce/*/parked; do mount -t tmpfs none "$each"; done; exec "$0" "$@"' {python} "$@"
"""


@pytest.fixture(scope="module")
def notebook():
    """Its workers' interpreters see an empty folder where the notebook's saved variables are."""
    with made_home(idle_release_s=600) as home:
        python = home.folder / "python"
        python.write_text(BLIND.format(python=sys.executable))
        python.chmod(0o755)
        made = Notebook(home)
        assert not made.run(f"import os, pounce, sys; sys.executable = '{python}'").of("error")
        yield made
        made.run("%pounce release")
        made.close()


def test_the_next_worker_has_them_although_neither_sees_the_folder(notebook):
    first = notebook.run("%%pounce\nimport os\nmodel = {'w': [1, 2]}\nalias = model['w']\nunread = bytes(10_000_000)\nfirst = os.getpid()")
    notebook.run("%pounce release")

    cell = notebook.run("%%pounce\nimport os\nalias.append(3)\nmodel, alias is model['w'], os.getpid() != first")

    assert "this worker does not see" in first.said
    assert cell.value == "({'w': [1, 2, 3]}, True, True)"
