"""Saved variables on a real NFS: written through one mount of an export, read through another, as two machines would."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from state_folder import restored, saved

EXPORT = "/srv/pounce-nfs-test"


def missing() -> str:
    """What keeps a real NFS from being here; empty: nothing."""
    if os.geteuid() != 0:
        return "only root can export and mount a folder"
    kinds = {line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines()}
    absent = {"nfs4", "nfsd"} - kinds
    if absent:
        return f"the kernel {os.uname().release} has no {' and no '.join(sorted(absent))} (/proc/filesystems)"
    programs = [name for name in ("exportfs", "rpc.nfsd", "mount.nfs4") if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None]
    return f"there is no {programs[0]}: apt-get install nfs-kernel-server" if programs else ""


@pytest.fixture
def mounts(tmp_path):
    """Two views of one export on the loopback, each with caches of its own."""
    why = missing()
    if why:
        pytest.skip(why)
    run = lambda *words: subprocess.run(words, check=True, timeout=60)
    both = [tmp_path / "writer", tmp_path / "reader"]
    Path(EXPORT).mkdir(exist_ok=True)
    run("mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd")
    run("exportfs", "-o", "rw,no_root_squash,fsid=0,insecure", f"127.0.0.1:{EXPORT}")
    run("rpc.nfsd", "--no-nfs-version", "3", "--host", "127.0.0.1", "1")
    for one in both:
        one.mkdir()
        run("mount", "-t", "nfs4", "-o", "nosharecache", "127.0.0.1:/", str(one))
    yield both
    for one in both:
        run("umount", str(one))
    run("rpc.nfsd", "0")
    run("exportfs", "-u", f"127.0.0.1:{EXPORT}")
    shutil.rmtree(EXPORT)


def test_what_one_machine_saves_the_other_restores(mounts):
    writer, reader = mounts

    for number in range(3):
        saved(writer / "state", f"x = [{number}] * 1000")

        assert restored(reader / "state") == {"x": [number] * 1000}
