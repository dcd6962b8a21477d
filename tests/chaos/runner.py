"""One run: the people work, faults come as planned, then there is quiet, and everything is looked at from the outside."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from chaos_site import Site
from fault_table import BY_NAME, Fault
from login_node import wait_until
from workload import Workload

FINDS_S = 10.0   # so long a fault waits for a target, then it has hit nothing
QUIET_S = 260.0  # at most, for the futures; and then
MENDS_S = 3.0
BACK_S = 90.0    # for leases and processes
DAEMONS = {"pounced", "pounce-slurm"}  # they may stay, idle
OF_THE_NODE = {"slurmd", "slurmstepd"}


def run(site: Site, faults: list[Fault], seed: int, say) -> None:
    workload = Workload(site, seed)
    workload.keep_alive()
    wait_until(lambda: site.history.rows("end"), 90, "the first task ends")
    start = time.monotonic()
    with mending(site):
        with ThreadPoolExecutor(12) as threads:
            doing = []
            for fault in faults:
                while (left := start + fault.after_s - time.monotonic()) > 0:
                    time.sleep(min(left, 0.5))
                    workload.keep_alive()
                doing.append(threads.submit(one_fault, site, fault))
                say(f"{fault.number}/{len(faults)} at {time.monotonic() - start:.0f} s: {fault.kind}")
        for broken in filter(None, (done.exception() for done in doing)):
            site.history.note("trouble", text=repr(broken))
        site.slurm.heal()
        workload.finish()
        say("quiet: what waits and runs ends by itself")
        patient(workload.ended, QUIET_S)
        workload.collect()
        say("the leases go back")
        patient(lambda: nothing_left(site), BACK_S)
    look(site)


def one_fault(site: Site, fault: Fault) -> None:
    kind, found, deadline = BY_NAME[fault.kind], [], time.monotonic() + FINDS_S
    while not (found := kind.hits(site)) and time.monotonic() < deadline:
        time.sleep(0.2)
    if not found:
        site.history.note("missed", kind=fault.kind, number=fault.number)
        return
    target, at = found[int(fault.pick * len(found))], time.monotonic()
    if undo := kind.acts(site, target):
        time.sleep(fault.lasts_s)
        undo()
    site.history.note("fault", kind=fault.kind, number=fault.number, target=target, since=at, until=time.monotonic())


@contextlib.contextmanager
def mending(site: Site):
    over = threading.Event()

    def mend() -> None:
        while not over.wait(MENDS_S):
            site.slurm.mend()

    admin = threading.Thread(target=mend)
    admin.start()
    try:
        yield
    finally:
        over.set()
        admin.join()


def patient(condition, seconds: float) -> None:
    """What has not come by then the oracle says."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.3)


# ---- afterwards --------------------------------------------------------------------------------------------------------


def look(site: Site) -> None:
    for row in accounts(site):
        site.history.note("account", **row)
    site.history.note("after", **left(site))


def left(site: Site) -> dict:
    return {"jobs": [f"{job.number} {job.state} {job.comment}" for job in site.slurm.jobs()],
            "leases": [lease for login in site.people for lease in leases(site, login)],
            "held": {node: held(site, node) for node in site.nodes},
            "processes": [f"{process.name} {process.pid} on {process.place}" for process in site.processes()
                          if process.name not in (OF_THE_NODE if process.place in site.nodes else DAEMONS)]}


def nothing_left(site: Site) -> bool:
    now = left(site)
    return not any((now["jobs"], now["leases"], now["processes"], *now["held"].values()))


def leases(site: Site, login: str) -> list[str]:
    said = site.people[login].run("pouncectl", "status", "--json", check=False)
    rows = json.loads(said).get("leases", []) if said.startswith("{") else []  # no pounced any more: Slurm's queue says the rest
    return [f"{row['lease']} {row['state']} on login node {login}" for row in rows if row["state"] != "ended"]


def held(site: Site, node: str) -> str:
    words = site.slurm.run("scontrol", "show", "node", node, "--oneliner").split()
    return next((word.partition("=")[2] for word in words if word.startswith("AllocTRES=")), "no answer")


def accounts(site: Site) -> list[dict]:
    """Jobs of pounce as slurmdbd has them; what slurmctld has not told it yet, it is about to."""
    first = site.first_job
    rows: list[dict] = []

    def all_ended() -> bool:
        rows[:] = [row for row in account_rows(site) if int(row["job"]) >= first]
        return all(row["state"].split()[0] not in ("RUNNING", "PENDING") for row in rows)

    patient(all_ended, 30)
    return rows


def account_rows(site: Site) -> list[dict]:
    said = site.slurm.run("sacct", "--allusers", "-X", "--noheader", "--parsable2", "--duplicates", "--starttime=now-3hours",
                      "--format=JobIDRaw,State,Comment,NodeList,Start,End")
    names = ("job", "state", "comment", "node", "start", "end")
    rows = [dict(zip(names, line.split("|"), strict=True)) for line in said.splitlines() if line.count("|") == 5]
    return [{**row, "tag": row["comment"].split()[0].removeprefix("pounce:1:")} for row in rows if row["comment"].startswith("pounce:1:")]
