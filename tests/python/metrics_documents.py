"""Documents as pounced and pouncectl give them, for tests of the exporter."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

MONITORING = Path(__file__).resolve().parents[2] / "packaging" / "monitoring"
SECRETS = ("849549b329594418e0c819989981d94f", "/home/alice/private", "ce5d55e2", "alice", "g7", "18442", "my-cell")


def lease(name: str, state: str = "busy", class_name: str = "lion", *, age_s: float = 100.0, ready_after_s: float | None = 3.0, gpus: int = 1, workers: int = 1,
          busy_ms: int = 0, idle_ms: int = 0, **more) -> dict:
    """`ready_after_s`: after its request; None: it has no worker yet."""
    history = [{"ago_s": age_s, "cause": {"code": "wanted", "word": SECRETS[0]}}, {"ago_s": age_s, "from": "requested", "to": "submitting"}]
    if ready_after_s is not None:
        history.append({"ago_s": age_s - ready_after_s, "from": "starting", "to": "busy"})
    used = {"used": {"busy_ms": busy_ms, "idle_ms": idle_ms}} if ready_after_s is not None else {}
    return {"lease": "ce5d55e2" + name, "state": state, "class": class_name, "gpus": gpus, "workers": workers, "age_s": age_s, "waiting": 0, "running": 0, "node": "g7",
            "job": 18442, "session": SECRETS[0], "reported": {"status": "my-cell"}, "history": history, **used, **more}


def ended(name: str, code: str = "lease_ended", cause: str = "idle", class_name: str = "lion", gpus: int = 1, busy_ms: int = 0, idle_ms: int = 0) -> dict:
    return {"lease": "ce5d55e2" + name, "class": class_name, "gpus": gpus, "workers": 1, "busy_ms": busy_ms, "idle_ms": idle_ms, "code": code, "cause": {"code": cause}, "node": "g7"}


def status(leases=(), over=(), **more) -> dict:
    return {"version": "0.1.0", "cluster": "pounce", "launcher": "slurm", "libslurm": "38.0.0", "pid": 0, "reconciled": True, "policy": {"path": "", "trouble": ""},
            "sessions": [{"session": SECRETS[0], "directory": SECRETS[1], "host": "login1", "pid": 1}],
            "listeners": [{"name": "control", "connections": 2, "most": 1280, "full": False, "times_full": 1}],
            "rpc": {"submits": 3, "polls": 4, "looks": 5, "reconciles": 1, "cancels": 2, "events": 9, "ignored": 0},
            "nodes": [{"node": "g7", "avoided_until_s": 2_000_000_000}, {"node": "g8"}], "leases": list(leases), "ended": list(over), **more}


def queue(now_s: float) -> dict:
    held = {"user": "alice", "class": "lion", "job": 18442, "name": "my-cell", "node": "g7", "cpus": 4}
    return {"cluster": "pounce", "only_own_jobs": False,
            "jobs": [{**held, "gpus": {"a100": 2}, "lease": "ce5d55e2", "batch": True}, {**held, "gpus": {"a100": 1}, "lease": None, "batch": True},
                     {**held, "gpus": {}, "lease": None, "batch": False, "class": "tabby"}],
            "waiting": [{"class": "lion", "jobs": 5, "leases": 2, "gpus": 7, "oldest_s": int(now_s) - 90, "reasons": {"Priority by alice": 5}}],
            "gpus": [{"type": "a100", "total": 8, "free": 5}]}


# Answers as pouncectl does from files of a folder; `accounting` from jobs.json, as Slurm's database would.
PROGRAM = """#!{python}
import json, pathlib, sys
folder = pathlib.Path({folder!r})
if sys.argv[1] != "accounting":
    file = folder / (sys.argv[1] + ".json")
    print(file.read_text() if file.exists() else json.dumps({{"error": {{"code": "daemon_unavailable", "text": "no pounced runs here", "remedy": ""}}}}))
    sys.exit()
for line in sys.stdin:
    if not (folder / "jobs.json").exists():
        print(json.dumps({{"error": {{"code": "slurm_unreachable", "text": "slurmdbd did not answer", "remedy": ""}}}}), flush=True)
        continue
    ask, jobs = json.loads(line), json.loads((folder / "jobs.json").read_text())
    for row in [{{"facts": jobs["facts"]}}] if ask["ask"] == "facts" else [{{"job": job}} for job in jobs["jobs"] if ask["ask"] == "jobs"]:
        print(json.dumps(row))
    print(json.dumps({{"end": True}}), flush=True)
"""


def stand_in(folder: Path) -> Path:
    """A folder with a pouncectl that says what lies in `folder`."""
    programs = folder / "programs"
    programs.mkdir()
    program = programs / "pouncectl"
    program.write_text(PROGRAM.format(python=sys.executable, folder=str(folder)))
    program.chmod(0o755)
    return programs


def expressions() -> dict[str, list[str]]:
    """What the dashboard and the alert rules ask Prometheus."""
    board = json.loads((MONITORING / "grafana-dashboard.json").read_text())
    shown = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    shown += [variable["definition"] for variable in board["templating"]["list"] if "definition" in variable]
    return {"dashboard": shown, "alerts": re.findall(r"^ +expr: (.*(?:\n {10,}.*)*)", (MONITORING / "alerts.yml").read_text(), re.M)}
