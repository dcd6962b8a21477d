"""What a history must not show. Pure: rows in, violations out.

Each property is one function, and one case of the report. A task is one call, one item of a map or one cell; its runs are
known by the marks that the function itself writes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from fault_table import BY_NAME

LINGERS_S = 90  # so long after a fault an error that it causes may be told: a call that waits learns of it late
FORGETS_S = 15  # what a controller told within these seconds before it was killed, the next one may not know
LOOKS_S = 10  # at most, between two looks at whether slurmctld answers
SLURM_SAYS = {"Preempted": "PREEMPTED", "NodeFailed": "NODE_FAIL", "WalltimeReached": "TIMEOUT"}  # its own word is the proof
NEVER = {"InternalError", "ProtocolError", "NotAuthenticated", "VersionMismatch", "BadRequest", "Timeout", "NoSuchName", "NameTaken"}


class Violation(NamedTuple):
    name: str
    text: str


class History:
    """A history, by task."""

    def __init__(self, rows: list[dict]):
        self.rows = rows
        by = lambda what: [row for row in rows if row["what"] == what]
        self.asked = {row["task"]: row for row in by("asked")}
        self.told = {row["task"]: row for row in by("told")}
        self.kept = {row["task"]: row for row in by("kept")}
        self.accepted = {row["task"] for row in by("accepted")}
        self.killed = {row["client"] for row in by("killed")}
        self.login = {row["client"]: row["login"] for row in by("client")}
        self.begins, self.ends = defaultdict(list), defaultdict(list)
        for row in by("begin"):
            self.begins[row["task"], row["part"]].append(row)
        for row in by("end"):
            self.ends[row["task"], row["part"]].append(row)
        self.faults = by("fault")
        self.accounts = by("account")
        self.silent = by("slurm silent")
        self.after = (by("after") or [{}])[-1]

    def outcomes(self) -> Iterable[tuple[dict, dict]]:
        """(what was asked, what was said of it), the results that were fetched later too."""
        for said in (self.told, self.kept):
            for task, row in said.items():
                yield self.asked[task], row


# ---- the properties ----------------------------------------------------------------------------------------------------


def every_future_ended(history: History):
    for task, asked in history.asked.items():
        if task not in history.told and asked["client"] not in history.killed:
            yield f"{task} ({asked['kind']}) was never told anything"
        elif history.told.get(task, {}).get("error") == "Timeout":
            yield f"{task} ({asked['kind']}) had not ended when its caller gave up"


def no_task_ran_twice_without_retries(history: History):
    for (task, part), begins in history.begins.items():
        runs = {row["run"] for row in begins}
        if len(runs) > 1 + history.asked[task]["retries"]:
            yield f"{task}, part {part}, with retries={history.asked[task]['retries']} ran {len(runs)} times"


def every_result_was_computed(history: History):
    for asked, said in history.outcomes():
        if "error" in said or asked["kind"] == "open":
            continue
        task, parts = asked["task"], asked["parts"]
        wanted = [[task, part] for part in range(parts)]
        if said["value"] != (wanted if parts > 1 else wanted[0]):
            yield f"{task} was told {said['value']!r}"
        for part in range(parts):
            if not any(row["at"] <= said["at"] for row in history.ends[task, part]):
                yield f"{task}, part {part}: a result was told of a run that had not ended"


def no_acknowledged_result_was_lost(history: History):
    for task in history.accepted:
        told, kept = history.told.get(task), history.kept.get(task)
        if kept is None:
            yield f"{task} was accepted under a name, and nobody could fetch it"
        elif kept.get("error") == "Timeout":
            yield f"{task} was accepted under a name, and who asked for it later was told nothing"
        elif kept.get("error") == "NoSuchName":
            yield f"{task} was accepted under a name that is not there any more"
        elif told and "error" not in told and "error" in kept and kept["error"] != "ResultGone":
            yield f"{task} had ended well, and later {kept['error']} was told: {kept['text']}"
        elif told and "error" not in told and kept.get("error") == "ResultGone":
            yield f"{task} had ended well, and its result is gone: {kept['text']}"


def every_error_is_true(history: History):
    for asked, said in history.outcomes():
        if "error" in said and said["error"] != "Timeout" and (trouble := false_error(history, asked, said)):
            yield f"{asked['task']} ({asked['kind']}) was told {said['error']}: {trouble}; its text: {said['text'].splitlines()[0]}"


def false_error(history: History, asked: dict, said: dict) -> str:
    if not said["ours"]:
        return "that is no error of pounce"
    if said["error"] in NEVER:
        return "no fault may cause it"
    if state := SLURM_SAYS.get(said["error"]):
        jobs = {row["job"] for row in history.accounts if row["state"].startswith(state)} | forgotten_ends(history, asked)
        return "" if said["context"].get("job") in jobs or jobs and "job" not in said["context"] else f"for Slurm its job was not {state}"
    if said["error"] == "SlurmUnreachable":
        silent = any(asked["at"] - LOOKS_S < look["at"] and look["since"] < said["at"] for look in history.silent)
        return "" if silent else "slurmctld answered all the time"
    may = [fault for fault in history.faults if said["error"] in BY_NAME[fault["kind"]].may]
    if not may:
        return "no fault of this run may cause it"
    return "" if any(caused(history, fault, asked, said) for fault in may) else "none of the faults that may cause it hit this task"


def forgotten_ends(history: History, asked: dict) -> set[str]:
    """Jobs whose end a controller told and had not written yet when it was killed: the next one has them running or
    waiting again, and what it accounts is that pounced, which knew the end, cancelled them or told the worker to end."""
    at = history.told.get(asked["task"], {}).get("at", asked["at"])
    killed = any(fault["kind"] == "slurmctld killed" and abs(fault["since"] - at) < FORGETS_S for fault in history.faults)
    return {row["job"] for row in history.accounts if killed and row["state"].startswith(("CANCELLED", "COMPLETED"))}


def caused(history: History, fault: dict, asked: dict, said: dict) -> bool:
    if fault["since"] > said["at"] or fault["until"] + LINGERS_S < asked["at"]:
        return False
    target, context = fault["target"], said.get("context", {})
    if BY_NAME[fault["kind"]].to == "login":
        return target["login"] == history.login.get(asked["client"])
    if BY_NAME[fault["kind"]].to == "cluster":
        return True
    named = [key for key in ("job", "lease") if key in context and key in target]
    return all(context[key] == target[key] for key in named)


def every_lease_went_back(history: History):
    for job in history.after.get("jobs", []):
        yield f"job {job} is still in Slurm's queue"
    for lease in history.after.get("leases", []):
        yield f"a pounced still holds {lease}"
    for row in history.accounts:
        if row["state"].split()[0] in ("RUNNING", "PENDING"):
            yield f"for slurmdbd job {row['job']} is still {row['state']}"


def no_lease_had_two_jobs(history: History):
    jobs = defaultdict(set)
    for row in history.accounts:
        if row["tag"]:
            jobs[row["tag"]].add(row["job"])
    yield from (f"lease {tag} had the jobs {', '.join(sorted(numbers))}" for tag, numbers in jobs.items() if len(numbers) > 1)


def every_gpu_is_back(history: History):
    for node, held in history.after.get("held", {}).items():
        if held:
            yield f"{node} still has {held} given out"


def nobody_was_left_behind(history: History):
    yield from (f"{process} still runs" for process in history.after.get("processes", []))


def it_was_looked_at_in_the_end(history: History):
    """Else a run that was cut short would show nothing, and pass."""
    if not history.after:
        yield "there is no look at the cluster after the last fault"
    yield from (f"a fault could not be done: {row['text']}" for row in history.rows if row["what"] == "trouble")
    if not any("error" not in row for row in history.told.values()):
        yield "not one task ended well"


PROPERTIES = [every_future_ended, no_task_ran_twice_without_retries, every_result_was_computed, no_acknowledged_result_was_lost,
              every_error_is_true, every_lease_went_back, no_lease_had_two_jobs, every_gpu_is_back, nobody_was_left_behind,
              it_was_looked_at_in_the_end]


def violations(rows: list[dict]) -> list[Violation]:
    history = History(rows)
    return [Violation(check.__name__, text) for check in PROPERTIES for text in check(history)]


def endings(rows: list[dict]) -> Counter:
    """How the tasks ended: "well", or the type of error that was told."""
    history = History(rows)
    return Counter(history.told[task].get("error", "well") if task in history.told else "its client was killed"
                   for task, asked in history.asked.items() if asked["kind"] != "open")
