"""Somebody who is let in, by his own pounced, and names what is alice's; a program of alice's that says what it may not."""

from __future__ import annotations

from attacks.messages import MALFORMED
from attacks.table import BOB, TASK, Attack, Outcome, answered, says_nothing_of, welcomed

OTHER_SESSION, OTHER_LEASE = "cd" * 16, "cd" * 8
SHELL = {"pid": 1, "host": "h", "directory": "/", "interpreter": ["/bin/sh"], "environment": {}}
RESOURCES = {"class": "", "gpus": 0, "memory_mib": 100}
AS_A_WORKER = {
    "worker_up": {"worker": 0, "job": 1, "pid": 1, "interpreter_ready": True, "epoch": 9, "endpoint": "tcp://127.0.0.1:1", "key": "x"},
    "interpreter_up": {"worker": 0, "epoch": 9, "endpoint": "tcp://127.0.0.1:1", "key": "x"},
    "interpreter_down": {"worker": 0, "epoch": 9, "error": {"code": "internal", "text": "x"}},
    "worker_beat": {"worker": 0, "running": 0, "leaving": True},
    "worker_gpus": {"worker": 0, "node": "g1", "gpus": [{"uuid": "GPU-1", "failed": "it fell off"}]},
    "detached_ended": {"worker": 0, "task": "ab" * 16, "ok": True, "digest": "ab" * 32},
}
AS_POUNCED = {
    "admit": {"lease": OTHER_LEASE, "session": OTHER_SESSION, "key": "x"},
    "end_worker": {"lease": OTHER_LEASE},
    "granted": {"request": 1, "lease": OTHER_LEASE, "worker": 0, "epoch": 1, "endpoint": "tcp://127.0.0.1:1", "key": "x"},
}


def ended_nothing(outcome: Outcome) -> bool:
    """Of the lease that it was asked for it knows nothing: to this pounced it has ended, or never was."""
    rows = [row for message in outcome["heard"] for row in message.get("rows", [])]
    return outcome["alive"] and all(row["state"] in ("ended", "", "unknown") for row in rows)


def one_of_ours(it, kind: str, **fields) -> dict:
    """As bob, about alice's lease and session."""
    return it.say("control", {"type": kind, "session": it.alice.live["session"], "lease": it.alice.worker["lease"], **fields})


def claims(it) -> dict:
    """A demand that holds alice's lease."""
    held = {"id": 77, "resources": RESOURCES, "waiting": 0, "running": 0, "holds": [it.alice.worker["lease"]]}
    heard = it.say("control", {"type": "demand", "session": it.second_session(), "requests": [held]}, second=True)
    it.say("control", {"type": "demand", "session": it.second_session(), "requests": []}, second=True)
    return heard


ATTACKS = [
    *(Attack(f"{kind}_of_alices_session", BOB, f"says {kind} for alice's session to his own pounced",
             lambda it, kind=kind, fields=fields: one_of_ours(it, kind, **fields), answered("not_authenticated"))
      for kind, fields in (("open_session", SHELL), ("demand", {"requests": []}), ("close_session", {}))),
    *(Attack(f"release_of_alices_lease_{how}", BOB, f"asks his pounced to release alice's lease, {how}",
             lambda it, how=how: one_of_ours(it, "release_ask", question=1, leases=[it.alice.worker["lease"]], how=how,
                                             by="bob"), ended_nothing)
      for how in ("now", "cancel")),
    Attack("a_claim_of_alices_lease", BOB, "tells his pounced that he holds alice's lease", claims,
           lambda outcome: "granted" not in str(outcome)),
    Attack("the_status_of_bobs_pounced", BOB, "looks for alice in the status of his own pounced",
           lambda it: one_of_ours(it, "status_ask", question=5),
           lambda outcome: outcome["alive"] and "status_is" in str(outcome) and "/home/alice" not in str(outcome)),
    Attack("the_queue_of_bobs_pounced", BOB, "looks for alice's jobs in his own pounced's queue",
           lambda it: {**it.say("control", {"type": "queue_ask", "question": 6}, until=["queue_is"]), "lease": it.alice.worker["lease"]},
           lambda outcome: outcome["alive"] and str(outcome).count(outcome["lease"]) == 1),
    Attack("a_detached_task_of_alices", BOB, "asks his pounced to forget a detached task of alice's",
           lambda it: one_of_ours(it, "cancel_detached", question=7, name="../../../../alice/x", forget=True), answered("no_such_name")),
    *(Attack(f"{kind}_said_by_a_client", BOB, f"says {kind} for alice's lease, with a client's key",
             lambda it, kind=kind, fields=fields: one_of_ours(it, kind, **fields), answered("protocol"))
      for kind, fields in (AS_A_WORKER | AS_POUNCED).items()),
    Attack("another_session_of_the_same_user", TASK, "opens another session than its hello named",
           lambda it: it.say("control", {"type": "open_session", "session": OTHER_SESSION, **SHELL},
                             second=True), answered("not_authenticated")),
    Attack("a_session_without_an_interpreter", TASK, "opens its session with nothing to run",
           lambda it: it.say("control", {"type": "open_session", "session": it.second_session(), **SHELL, "interpreter": []},
                             second=True), answered("protocol")),
    *(Attack(f"{name}_on_the_control_channel", TASK, "says " + name.replace("_", " ") + " where it is let in",
             lambda it, text=text: it.say("control", text, second=True), answered("protocol"))
      for name, text in MALFORMED.items() if isinstance(text, str) or "role" not in text),
    Attack("deeper_json_on_the_control_channel", TASK, "says 200 KiB of opening brackets",
           lambda it: it.say("control", {"text": "[", "times": 200_000}, second=True), answered("protocol")),
    Attack("a_header_over_256_kib", TASK, "says a header of 300 KiB: its connection is cut, and comes back",
           lambda it: it.say("control", {"text": " ", "times": 300_000}, second=True), lambda outcome: outcome["alive"]),
    Attack("frames_without_number", TASK, "says a message of 2,000 frames",
           lambda it: it.say("control", *[{"type": "status_ask", "question": 3}, *["x"] * 1999],
                             second=True), says_nothing_of("status_is")),
    Attack("a_worker_of_a_session", TASK, "says hello as a worker, with a session for its lease",
           lambda it: it.own_hello(role="worker", subject=it.alice.live["session"]), lambda outcome: not welcomed(outcome)),
]
