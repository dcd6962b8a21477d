"""The worker's data socket, from inside: a client of alice's own that says what it may not. The worker goes on."""

from __future__ import annotations

import secrets

from attacks.messages import MALFORMED
from attacks.table import TASK, Attack, answered, ignored
from attacks.target import OTHER_KEY

NEVER_SENT = "ab" * 16
TO_A_WORKER = {
    "admit": {"lease": "ab" * 8, "session": "cd" * 16, "key": OTHER_KEY},
    "dismiss": {"lease": "ab" * 8, "session": "cd" * 16},
    "end_worker": {"lease": "ab" * 8},
    "run_detached": {"lease": "ab" * 8, "worker": 0, "epoch": 0, "session": "ab" * 16, "task": "ab" * 16, "folder": "/etc"},
    "walltime": {"end_time_s": 1},
    "ready": {"endpoint": "tcp://127.0.0.1:1", "key": OTHER_KEY},
    "hello": {"role": "client", "proof": "peer", "key": OTHER_KEY},
    "open_session": {"session": "ab" * 16},
}


def to_the_worker(*frames, **fields):
    return lambda it: it.say("worker", *frames, **fields)


def object_of(sizes: list[int], *chunks: tuple[int, int, int]):
    """Announced with those sizes, then chunks of (buffer, offset, bytes)."""
    identity = secrets.token_hex(16)

    def tries(it) -> dict:
        heard = it.say("worker", {"type": "object", "object": identity, "buffers": sizes, "pickle_follows": True}, "")
        for buffer, offset, size in chunks:
            more = it.say("worker", {"type": "chunk", "of": identity, "buffer": buffer, "offset": offset}, {"text": "x", "times": size})
            heard = {"heard": heard["heard"] + more["heard"], "alive": more["alive"]}
        it.say("worker", {"type": "drop", "objects": [identity], "functions": []})
        return heard

    return tries


def attach(it, session: str = "", **fields) -> dict:
    """Only who is attached is listened to: again after a refusal, and on each new connection."""
    versions = {"pounce": it.alice.endpoint["version"], "python": "3.11", "cloudpickle": ""}
    return it.say("worker", {"type": "attach", "session": session or it.alice.live["session"], **versions}, **fields)


def as_another(it) -> dict:
    outcome = attach(it, "cd" * 16, until=["refused"])
    attach(it, until=["attached"])
    return outcome


def cut_and_back(*frames):
    def tries(it) -> dict:
        it.say("worker", *frames, until=["refused"], seconds=2)  # to its next connection it is a stranger until it attaches
        return attach(it, until=["attached"])

    return tries


ATTACKS = [
    *(Attack(f"{kind}_to_a_worker", TASK, f"says {kind} to a worker, as pounced does",
             to_the_worker({"type": kind, **fields}), answered("protocol")) for kind, fields in TO_A_WORKER.items()),
    *(Attack(f"{name}_to_a_worker", TASK, "says " + name.replace("_", " ") + " to a worker", to_the_worker(text), answered("protocol"))
      for name, text in MALFORMED.items() if isinstance(text, str) or "role" not in text),
    Attack("an_attach_for_another_session", TASK, "attaches for another session than pounced named for its key",
           as_another, answered("not_authenticated")),
    Attack("a_function_under_anothers_id", TASK, "sends a function under an id that is not its content's",
           to_the_worker({"type": "function", "function": NEVER_SENT, "command": True}, '["/bin/true"]'), answered("protocol")),
    Attack("a_function_of_two_payloads", TASK, "sends a function with two payloads",
           to_the_worker({"type": "function", "function": NEVER_SENT, "command": True}, "[]", "[]"), answered("protocol")),
    Attack("a_task_of_a_function_that_nobody_sent", TASK, "names a function that the worker does not have",
           lambda it: it.say("worker", {"type": "task", "task": secrets.token_hex(16), "function": NEVER_SENT, "objects": [], "attempt": 0}, "",
                             until=["outcome"]), answered("protocol")),
    Attack("a_chunk_that_nobody_announced", TASK, "sends a chunk of no object",
           to_the_worker({"type": "chunk", "of": NEVER_SENT, "buffer": 0, "offset": 0}, "x"), answered("protocol")),
    Attack("a_chunk_behind_the_end", TASK, "sends more than it announced", object_of([10], (0, 0, 20)), answered("protocol")),
    Attack("a_chunk_far_behind_the_end", TASK, "writes at 2^62 of an object of 10 bytes", object_of([10], (0, 2**62, 5)),
           answered("protocol")),
    Attack("a_chunk_of_another_buffer", TASK, "writes into a buffer that was not announced", object_of([10], (7, 0, 5)),
           answered("protocol")),
    Attack("sizes_that_wrap", TASK, "announces buffers whose sum is more than 2^64", object_of([2**63, 2**63, 2**63]),
           answered("too_large")),
    Attack("an_object_larger_than_the_machine", TASK, "announces 2^60 bytes", object_of([2**60]), answered("too_large")),
    Attack("a_header_over_1_mib", TASK, "says a header of 1.1 MiB", to_the_worker({"text": " ", "times": 1_100_000}), answered("too_large")),
    Attack("a_frame_over_64_mib", TASK, "sends a frame of 65 MiB: its connection is cut, and comes back",
           cut_and_back({"text": " ", "times": 65 << 20}), lambda outcome: outcome["alive"]),
    Attack("2000_frames_to_a_worker", TASK, "says a message of 2,000 frames", to_the_worker(*["{}"] * 2000), ignored),
    Attack("an_input_for_nobody", TASK, "answers a question that no task asked",
           to_the_worker({"type": "input", "task": NEVER_SENT}, "{}"), ignored),
]
