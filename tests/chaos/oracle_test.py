"""The oracle finds what it is for: histories made by hand, each with one thing in it that must not be."""

from __future__ import annotations

import pytest
from fault_table import BY_NAME, KINDS, plan
from oracle import violations

TASK = {"what": "asked", "at": 10, "task": "t", "client": "c", "kind": "plain", "retries": 0, "parts": 1}
BEGIN = {"what": "begin", "at": 11, "task": "t", "part": 0, "run": "r1"}
END = {"what": "end", "at": 12, "task": "t", "part": 0, "run": "r1"}
TOLD = {"what": "told", "at": 13, "task": "t", "client": "c", "value": ["t", 0]}
ACCEPTED = {"what": "accepted", "at": 10.5, "task": "t", "client": "c"}
KEPT = {"what": "kept", "at": 40, "task": "t", "client": "collector", "value": ["t", 0]}
AFTER = {"what": "after", "at": 50, "jobs": [], "leases": [], "held": {"g1": "", "g2": ""}, "processes": []}
CLIENT = {"what": "client", "at": 1, "client": "c", "login": "a", "pid": 1}
OTHER = [{**TASK, "task": "u"}, *({**row, "task": "u"} for row in (BEGIN, END)), {**TOLD, "task": "u", "value": ["u", 0]}]  # one that ends well
SILENT = {"what": "slurm silent", "at": 12, "since": 11}
ACCOUNT = {"what": "account", "at": 49, "job": "7", "state": "COMPLETED", "tag": "i:l"}


def error(name: str, **context) -> dict:
    return {"what": "told", "at": 13, "task": "t", "client": "c", "error": name, "ours": True, "text": "why", "context": context}


def fault(kind: str, since: float = 11.5, **target) -> dict:
    return {"what": "fault", "at": since, "kind": kind, "number": 1, "target": target, "since": since, "until": since}


def found(*rows: dict) -> set[str]:
    return {violation.name for violation in violations([CLIENT, *OTHER, *rows, AFTER])}


@pytest.mark.parametrize("rows", [
    (TASK, BEGIN, END, TOLD),
    (TASK, ACCEPTED, BEGIN, END, TOLD, KEPT),
    (TASK, BEGIN, error("JobCancelled", job="7"), fault("job cancelled", job="7")),
    (TASK, BEGIN, error("Preempted", job="7"), {**ACCOUNT, "state": "PREEMPTED"}),
    (TASK, BEGIN, error("Preempted", job="7"), {**ACCOUNT, "state": "CANCELLED"}, fault("slurmctld killed", since=15)),
    (TASK, BEGIN, error("Preempted", job="7"), ACCOUNT, fault("slurmctld killed", since=15)),
    (TASK, BEGIN, error("NodeFailed", job="7"), {**ACCOUNT, "state": "NODE_FAIL"}),
    (TASK, BEGIN, {"what": "killed", "at": 12, "client": "c"}),
    (TASK, error("SlurmUnreachable"), SILENT),
    ({**TASK, "retries": 1}, BEGIN, {**BEGIN, "run": "r2"}, {**END, "run": "r2"}, TOLD),
])
def test_a_history_as_it_should_be_shows_nothing(rows):
    assert found(*rows) == set()


@pytest.mark.parametrize("name, rows", [
    ("every_future_ended", (TASK, BEGIN)),
    ("every_future_ended", (TASK, BEGIN, error("Timeout"))),
    ("no_task_ran_twice_without_retries", (TASK, BEGIN, {**BEGIN, "run": "r2"}, END, TOLD)),
    ("no_task_ran_twice_without_retries", ({**TASK, "retries": 1}, *({**BEGIN, "run": run} for run in "abc"), END, TOLD)),
    ("every_result_was_computed", (TASK, BEGIN, TOLD)),
    ("every_result_was_computed", (TASK, BEGIN, END, {**TOLD, "value": ["u", 0]})),
    ("no_acknowledged_result_was_lost", (TASK, ACCEPTED, BEGIN, END, TOLD)),
    ("no_acknowledged_result_was_lost", (TASK, ACCEPTED, BEGIN, END, TOLD, {**error("Timeout"), "what": "kept"})),
    ("no_acknowledged_result_was_lost", (TASK, ACCEPTED, BEGIN, END, TOLD, {**error("NoSuchName"), "what": "kept"})),
    ("no_acknowledged_result_was_lost", (TASK, ACCEPTED, BEGIN, END, TOLD, {**error("ResultGone"), "what": "kept"})),
    ("every_error_is_true", (TASK, BEGIN, error("JobCancelled", job="7"))),
    ("every_error_is_true", (TASK, BEGIN, error("JobCancelled", job="7"), fault("job cancelled", job="8"))),
    ("every_error_is_true", (TASK, BEGIN, error("JobCancelled", job="7"), fault("job cancelled", since=20, job="7"))),
    ("every_error_is_true", (TASK, BEGIN, error("Preempted", job="7"), {**ACCOUNT, "state": "CANCELLED"})),
    ("every_error_is_true", (TASK, BEGIN, error("Preempted", job="7"), {**ACCOUNT, "state": "CANCELLED"}, fault("slurmctld killed", since=40))),
    ("every_error_is_true", (TASK, BEGIN, error("Preempted", job="7"), {**ACCOUNT, "state": "TIMEOUT"}, fault("slurmctld killed", since=15))),
    ("every_error_is_true", (TASK, BEGIN, error("InternalError"), fault("pounced killed", login="a"))),
    ("every_error_is_true", (TASK, BEGIN, {**error("KeyError"), "ours": False})),
    ("every_error_is_true", (TASK, error("SlurmUnreachable"))),
    ("every_error_is_true", (TASK, error("SlurmUnreachable"), {**SILENT, "at": 23, "since": 20})),
    ("every_error_is_true", (TASK, BEGIN, error("DaemonUnavailable"), fault("disk full", login="b"))),
    ("every_lease_went_back", ({**ACCOUNT, "state": "RUNNING"},)),
    ("no_lease_had_two_jobs", (ACCOUNT, {**ACCOUNT, "job": "8"})),
])
def test_a_history_that_must_not_be_is_found(name, rows):
    assert name in found(*rows)


@pytest.mark.parametrize("name, left", [
    ("every_lease_went_back", {"jobs": ["7 RUNNING pounce:1:i:l"]}),
    ("every_lease_went_back", {"leases": ["l idle"]}),
    ("every_gpu_is_back", {"held": {"g1": "gres/gpu=1"}}),
    ("nobody_was_left_behind", {"processes": ["python 12 on g1"]}),
])
def test_what_is_left_in_the_end_is_found(name, left):
    assert name in {violation.name for violation in violations([CLIENT, *OTHER, {**AFTER, **left}])}


def test_a_run_that_was_cut_short_does_not_pass():
    assert {violation.name for violation in violations([CLIENT])} == {"it_was_looked_at_in_the_end"}


def test_the_faults_are_a_function_of_the_seed():
    assert plan(7, 200) == plan(7, 200) != plan(8, 200)


def test_sixty_faults_have_every_kind():
    assert {one.kind for one in plan(1, 60)} == set(BY_NAME) and len(BY_NAME) == len(KINDS)
