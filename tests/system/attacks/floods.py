"""Crowds: of connections, of hellos, of bytes. Alice's calls go on meanwhile, and newcomers come in again afterwards."""

from __future__ import annotations

from pathlib import Path

from attacks.table import STRANGER, Attack, Outcome, welcomed

MIB = 1024
BELOW, ABOVE = 150, 600  # of 256 connections that the handshake endpoint takes


def memory_mib(it) -> float:
    words = Path(f"/proc/{it.alice.endpoint['pid']}/status").read_text().split()
    return int(words[words.index("VmRSS:") + 1]) / MIB


def descriptors(it) -> int:
    return len(list(Path(f"/proc/{it.alice.endpoint['pid']}/fd").iterdir()))


def crowded(it, ports: list[str], count: int, newcomer: bool = True) -> Outcome:
    """While they are there: alice's calls, and a newcomer over tcp; afterwards another newcomer."""
    it.ask("half_open", endpoints=ports, count=count)
    try:
        calls = it.target.alice_goes_on()
        meanwhile = welcomed(it.own_hello()) if newcomer else True
        later = it.target.alice_goes_on()
        held = descriptors(it)
    finally:
        it.ask("let_go")
    return {"calls": later - calls, "meanwhile": meanwhile, "afterwards": welcomed(it.own_hello()), "descriptors": held}


def held_off(outcome: Outcome) -> bool:
    return outcome["calls"] > 0 and outcome["meanwhile"] and outcome["afterwards"] and outcome["descriptors"] < 2048


def measured(it, tries) -> Outcome:
    before = memory_mib(it)
    outcome = tries()
    return {**outcome, "grown": memory_mib(it) - before, "afterwards": welcomed(it.own_hello())}


def small(outcome: Outcome) -> bool:
    return outcome["grown"] < 40 and outcome["afterwards"]


def hellos(it, count: int) -> Outcome:
    return it.ask("many_hellos", endpoint=it.alice.handshake("tcp"), daemon_key=it.alice.endpoint["key"], count=count)


def parts(it, endpoint: str, key: str, mib: int = 300) -> Outcome:
    return it.ask("many_parts", endpoint=endpoint, daemon_key=key, mib=mib)


# The numbers from which a ROUTER names its connections where nobody has seeded rand(): of the first four
# that a process makes (docs/gotchas.md Z14).
UNSEEDED = (0x6B8B4567, 0xE43C9869, 0xF4B0DC51, 0x2AE8944A)


def names(it) -> Outcome:
    """Of each likely number the next 1,000, one in 25, and then enough connections to meet one."""
    met = it.ask("names_of_the_next", endpoint=it.alice.handshake("tcp"), daemon_key=it.alice.endpoint["key"], starts=UNSEEDED, every=25,
                 names=40,
                 newcomers=30)
    return {**met, "afterwards": welcomed(it.own_hello())}


ATTACKS = [
    Attack("the_names_of_the_next_connections", STRANGER, "calls her connections as libzmq will call the next ones", names,
           lambda outcome: outcome["afterwards"]),
    Attack("a_message_of_40_000_parts", STRANGER, "says a hello of 40,000 parts, 300 MiB",
           lambda it: measured(it, lambda: parts(it, it.alice.handshake("tcp"), it.alice.endpoint["key"])), small),
    Attack("parts_at_the_control", STRANGER, "says 40,000 parts where she is not let in",
           lambda it: measured(it, lambda: parts(it, it.alice.control, it.alice.endpoint["key"], 30)), small),
    Attack("5000_hellos", STRANGER, "says hello 5,000 times at once", lambda it: measured(it, lambda: hellos(it, 5000)), small),
    Attack("a_crowd_below_the_bound", STRANGER, f"opens {BELOW} connections that say nothing",
           lambda it: crowded(it, [it.alice.handshake("tcp")], BELOW), held_off),
    Attack("a_crowd_at_the_control", STRANGER, f"opens {BELOW} connections to the control channel",
           lambda it: crowded(it, [it.alice.control], BELOW), held_off),
    Attack("a_crowd_at_the_worker", STRANGER, f"opens {BELOW} connections to the worker",
           lambda it: crowded(it, [it.alice.worker["endpoint"]], BELOW), held_off),
    Attack("a_crowd_above_the_bound", STRANGER, f"opens {ABOVE} connections to handshake endpoint and control channel",
           lambda it: crowded(it, it.alice.ports[:2], ABOVE, newcomer=False), held_off),
]
