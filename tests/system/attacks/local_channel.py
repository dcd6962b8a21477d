"""The address at which a worker hears its own user's processes on its machine: others, and what the user's own may not say."""

from __future__ import annotations

import struct

from attacks.table import BOB, LOCAL, MALLORY, TASK, Attack

WHERE = (LOCAL,)  # on a cluster it is in another network namespace: nobody is there (tests/slurm/bridge_test.py)


def closed_without_a_byte(outcome: dict) -> bool:
    return outcome.get("closed") is True and outcome["heard"] == ""


def at_the_address(**said):
    return lambda it: it.ask("local", key=it.alice.worker["key"], **said)


def attach(session: str) -> dict:
    return {"v": 2, "type": "attach", "session": session, "pounce": "0.1.0", "python": "3.11", "cloudpickle": ""}


ATTACKS = [
    Attack("another_user_at_the_local_address", (MALLORY, BOB), "connects to the address made from the worker's public key and waits",
           at_the_address(), closed_without_a_byte, at_the_address(), lambda outcome: not outcome["closed"], WHERE),
    Attack("another_user_attaches_at_the_local_address", (MALLORY, BOB), "names alice's session there",
           lambda it: it.ask("local", key=it.alice.worker["key"], header=attach(it.alice.live["session"])), closed_without_a_byte, where=WHERE),
    Attack("a_crowd_at_the_local_address", (MALLORY, BOB), "connects two thousand times",
           lambda it: it.ask("local_crowd", key=it.alice.worker["key"], connections=2000), lambda outcome: "made" in outcome, where=WHERE),
    Attack("an_unknown_session_at_the_local_address", TASK, "attaches with a session that the worker was not told of",
           at_the_address(header=attach("ab" * 16)), closed_without_a_byte, where=WHERE),
    Attack("no_attach_at_the_local_address", TASK, "asks before it attaches",
           at_the_address(header={"v": 2, "type": "query", "tasks": []}), closed_without_a_byte, where=WHERE),
    *(Attack(f"{name}_at_the_local_address", TASK, f"sends {what}", at_the_address(hex=said.hex()), closed_without_a_byte, where=WHERE)
      for name, what, said in [
          ("no_frames", "a message without frames", struct.pack("=I", 0)),
          ("too_many_frames", "more frames than there may be", struct.pack("=I", 2**32 - 1)),
          ("a_frame_of_4_exabytes", "a frame larger than any may be", struct.pack("=IQ", 1, 2**62)),
          ("memory_without_a_descriptor", "memory that does not come", struct.pack("=IQ", 1, 2**63 | 4096)),
          ("http", "something else altogether", b"GET / HTTP/1.1\r\n\r\n"),
      ]),
]
