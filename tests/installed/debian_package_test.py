"""The Debian package: what it asks for, and that a call runs to its end with what it installs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest
from bare_user import ROOT
from conftest import BUILD

CALL = "import pounce\nwith pounce.Client(launcher='local') as client: print(client.submit(pow, 2, 10).result())"


@pytest.fixture(scope="module")
def package(readable_folder):
    done = subprocess.run([ROOT / "packaging" / "debian-package", "--build", BUILD / "debian", readable_folder], capture_output=True, text=True,
                          timeout=20 * 60, env={**os.environ, "CCACHE_BASEDIR": str(ROOT), "DEBEMAIL": "admin@cluster.org"})
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = readable_folder.glob("*.deb")
    assert done.stdout.strip() == str(made)
    return made


def field(package, name: str) -> str:
    return subprocess.run(["dpkg-deb", "--field", package, name], capture_output=True, text=True, check=True).stdout


@pytest.mark.timeout(25 * 60)
def test_it_depends_on_its_libraries_and_only_recommends_slurms(package):
    assert re.fullmatch(r"pounce_0\.1\.0_\w+\.deb", package.name)
    for library in ("libzmq5", "libsodium23", "libssl3", "libmunge2", "libstdc++6", "python3"):
        assert library in field(package, "Depends"), library
    assert "libslurm" not in field(package, "Depends") and "libslurm" in field(package, "Recommends")


def test_nothing_in_it_names_the_folder_that_it_was_made_in(package, readable_folder):
    unpacked = readable_folder / "unpacked"
    subprocess.run(["dpkg", "-x", package, unpacked], check=True)

    found = subprocess.run(["grep", "-rl", "-e", str(ROOT), "-e", "/tmp/", unpacked / "usr/lib/pounce/bin",
                            *unpacked.glob("usr/lib/pounce/lib/python*/site-packages/*.dist-info"), unpacked / "usr/lib/pounce/pyvenv.cfg"],
                           capture_output=True, text=True)

    assert found.stdout == ""


def test_what_it_installs_runs_a_call_to_its_end(package, readable_folder):
    """Laid over /usr for one command, as dpkg would unpack it."""
    unpacked, home = readable_folder / "laid-over", readable_folder / "debian-home"
    subprocess.run(["dpkg", "-x", package, unpacked], check=True)
    home.mkdir()
    shutil.chown(home, "nobody", "nogroup")
    run = ("mount -t overlay overlay -o lowerdir=$1/usr:/usr /usr; shift; cd /; "
           "exec setpriv --reuid=nobody --regid=nogroup --clear-groups -- \"$@\"")

    def seen(*words: str) -> str:
        done = subprocess.run(["unshare", "--mount", "sh", "-ec", run, "run", str(unpacked), *words], capture_output=True, text=True, timeout=120,
                              env={"HOME": str(home), "PATH": "/usr/bin:/bin"})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    version = json.loads(seen("pouncectl", "version", "--json"))
    assert version["python"]["pounce"] == version["pounce"] == "0.1.0"
    assert version["python"]["program"] == "/usr/lib/pounce/bin/python"
    assert seen("/usr/lib/pounce/bin/python", "-c", CALL).strip().endswith("1024")


def test_lintian_finds_no_error(package):
    if shutil.which("lintian") is None:
        pytest.skip("lintian is not installed")
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", package], capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
