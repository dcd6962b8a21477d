"""What faults can hit: processes, links, jobs and nodes, as they are when a fault's time comes. Each target is a dict of facts."""

from __future__ import annotations

import os
from pathlib import Path

from cluster_parts import daemon_pid, node_link


def workers(site) -> list[dict]:
    """The Pythons that run tasks."""
    below = {supervisor["pid"]: supervisor for supervisor in supervisors(site)}
    return [{**below[process.parent], "pid": process.pid} for process in site.processes() if process.parent in below]


def supervisors(site) -> list[dict]:
    found = []
    for process in site.processes():
        if process.name == "pounce-worker" and "serve" in process.words and (job := job_of(process.pid)):
            found.append({"pid": process.pid, "lease": process.words[process.words.index("--lease") + 1], "job": job, "place": process.place})
    return found


def job_of(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return ""
    return next((word.partition(b"=")[2].decode() for word in words if word.startswith(b"SLURM_JOB_ID=")), "")


def daemons(site) -> list[dict]:
    return [{"pid": process.pid, "login": process.place} for process in site.processes()
            if process.name == "pounced" and "serve" in process.words and process.place in site.people]


def clients(site) -> list[dict]:
    """Programs and kernels of users; a killed one is a zombie until its parent has waited for it."""
    dead = {row["client"] for row in site.history.rows("killed")}
    alive = {process.pid for process in site.processes()}
    return [{"pid": row["pid"], "client": row["client"], "login": row["login"]} for row in site.history.rows("client")
            if row["client"] not in dead and row["pid"] in alive]


def node_links(site) -> list[dict]:
    return [{"link": node_link(site.cluster, node), "node": node} for node in site.nodes]


def login_links(site) -> list[dict]:
    return [{"link": node.link, "login": name} for name, node in site.logins.items()]


def disks(site) -> list[dict]:
    return [{"disk": str(disk), "login": login} for login, disk in site.disks.items()]


def clocks(site) -> list[dict]:
    return [{"clock": str(clock), "login": login} for login, clock in site.clocks.items()]


def named(daemon: str):
    def one(site) -> list[dict]:
        try:
            pid = daemon_pid(site.cluster, daemon)
            os.kill(pid, 0)
        except (OSError, ValueError):  # another fault has ended it
            return []
        return [{"daemon": daemon, "pid": pid}]
    return one


def slurmds(site) -> list[dict]:
    return [{**target, "node": node} for node in site.nodes for target in named(f"slurmd-{node}")(site)]


def nodes(site) -> list[dict]:
    return [{"node": node} for node in site.nodes]


def jobs(site) -> list[dict]:
    """Those of pounce that run."""
    return [{"job": job.number, "node": job.node} for job in site.slurm.jobs() if job.comment.startswith("pounce:") and job.state == "RUNNING"]


def preemptable_jobs(site) -> list[dict]:
    """With what a job that goes first must ask for on that node, so that there is room for it in this job's place only."""
    found = []
    for job in site.slurm.jobs():
        if job.comment.startswith("pounce:") and job.state == "RUNNING" and job.qos == "lion" and job.gpus:
            kept = sum(other.gpus for other in site.slurm.jobs() if other.node == job.node and other.qos != "lion" and other.state == "RUNNING")
            found.append({"job": job.number, "node": job.node, "gpus": 4 - kept})
    return found
