"""How a fault is done to its target. What undoes it is returned as a function, if there is anything to undo."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from cluster_parts import end, set_clock

HOUR_S = 3600


def send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has ended, or another fault has killed it
        os.kill(pid, number)


def kill(site, target: dict) -> None:
    send(target["pid"], signal.SIGKILL)


def kill_client(site, target: dict) -> None:
    site.history.note("killed", client=target["client"])  # first: what it is told from now on nobody waits for
    kill(site, target)


def hang(site, target: dict) -> Callable[[], None]:
    send(target["pid"], signal.SIGSTOP)
    return lambda: send(target["pid"], signal.SIGCONT)


def kill_and_start(site, target: dict) -> Callable[[], None]:
    send(target["pid"], signal.SIGKILL)
    return lambda: site.slurm.start(target["daemon"])


def end_and_start(site, target: dict) -> Callable[[], None]:
    """As its service manager restarts it."""
    with contextlib.suppress(OSError, AssertionError):  # another fault was quicker, or has it hanging
        end(site.cluster, target["daemon"])
    return lambda: site.slurm.start(target["daemon"])


def unplug(site, target: dict) -> Callable[[], None]:
    """At the bridge's port: what is behind it keeps its address and its default route."""
    link = lambda state: subprocess.run(["ip", "link", "set", target["link"], state], check=False)
    link("down")
    return lambda: link("up")


SLOW = (["netem", "delay", "100ms", "50ms", "loss", "5%"],
        ["tbf", "rate", "300kbit", "burst", "16kb", "latency", "400ms"])  # where the kernel has no netem


def slow(site, target: dict) -> Callable[[], None]:
    tc = lambda *words: subprocess.run(["tc", "qdisc", *words], check=False, capture_output=True).returncode == 0
    any(tc("replace", "dev", target["link"], "root", *how) for how in SLOW)
    return lambda: tc("delete", "dev", target["link"], "root")


def fill(site, target: dict) -> Callable[[], None]:
    filler = Path(target["disk"], "filler")
    subprocess.run(["sh", "-c", f"head -c 100000000 /dev/zero >{filler}"], check=False, capture_output=True)
    return lambda: filler.unlink(missing_ok=True)


def move_clock(site, target: dict) -> Callable[[], None]:
    set_clock(Path(target["clock"]), HOUR_S if site.even() else -HOUR_S)
    return lambda: set_clock(Path(target["clock"]), 0)


def requeue(site, target: dict) -> None:
    site.slurm.run("scontrol", "update", f"jobid={target['job']}", "requeue=1")
    site.slurm.run("scontrol", "requeue", target["job"])


def cancel(site, target: dict) -> None:
    site.slurm.run("scancel", target["job"])


def preempt(site, target: dict) -> Callable[[], None]:
    done = site.slurm.run("sbatch", "--parsable", "--qos=cheetah", f"--nodelist={target['node']}", f"--gres=gpu:{target['gpus']}", "--time=1",
                      "--mem=100", "--chdir=/", "--output=/dev/null", "--job-name=chaos", "--wrap", "sleep 2")
    return lambda: site.slurm.run("scancel", done) if done else None


def drain(site, target: dict) -> Callable[[], None]:
    site.slurm.run("scontrol", "update", f"nodename={target['node']}", "state=drain", "reason=chaos")
    return lambda: site.slurm.resume(target["node"])
