"""Clusters that are configured as some site is, each with several oddities at once so that few are started."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gateway import of_cluster
from login_node import CLUSTER, cluster_folder, own_cluster_number


def node_line(cluster_id: int, node: int, has: str, state: str = "UNKNOWN") -> str:
    """A NodeName line of slurm.conf, as packaging/cluster.d/nodes.sh has them."""
    port = 17_000 + cluster_id * 100 + 30 + node
    place = f"NodeHostname={socket.gethostname().split('.')[0]} NodeAddr=10.77.{cluster_id}.{node} Port={port}"
    return f"NodeName=g{node} {place} {has} State={state}"


class SiteCluster:
    """A cluster with other lines in slurm.conf; `run` runs a command there, as root where no user is named."""

    def __init__(self, number: int, nodes: int = 2):
        self.nodes = nodes
        self.cluster_id = number
        self.home = cluster_folder(self.cluster_id)

    def command(self, *words: str, check: bool = True) -> subprocess.CompletedProcess:
        done = subprocess.run([str(CLUSTER), *words], env=self.environment(), capture_output=True, text=True, timeout=180)
        assert not check or done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
        return done

    def environment(self) -> dict[str, str]:
        return {**of_cluster(self.cluster_id), "POUNCE_CLUSTER_NODES": str(self.nodes)}

    def run(self, *words: str, user: str = "root", check: bool = True) -> str:
        return self.command("run", "--as", user, "--", *words, check=check).stdout.strip()


@contextmanager
def site_cluster(configuration, *options: str, nodes: int = 2) -> Iterator[SiteCluster]:
    """Started with the files that `configuration(cluster)` returns by their names; ended with the block."""
    with own_cluster_number() as number:
        cluster = SiteCluster(number, nodes)
        with tempfile.TemporaryDirectory(prefix="pounce-site-") as folder:
            for name, (text, mode) in configuration(cluster).items():
                Path(folder, name).write_text(text)
                Path(folder, name).chmod(mode)
            os.chmod(folder, 0o755)
            cluster.command("up", "--site", folder, *options)
        try:
            yield cluster
        finally:
            cluster.command("down")
