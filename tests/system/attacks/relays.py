"""Between alice and pounced: whoever hands the bytes on learns nothing, changes nothing, and cannot say them again. And
whoever poses as pounced or as a worker hears nothing."""

from __future__ import annotations

from attacks.table import BOB, MALLORY, STRANGER, Attack, Outcome, not_let_in, welcomed

EITHER = (MALLORY, BOB)
IN_THE_KEY, IN_THE_HELLO = 160, 700  # places in what a client says first: in the key of its connection; in what is encrypted with it
PATIENCE_S = 1.5


def through(it, flips: int = -1) -> dict:
    """Alice's hello through a port of the attacker's."""
    port = it.ask("relay", endpoint=it.alice.handshake("tcp"), host=it.host, flips=flips)["bound"]
    return it.own_hello(endpoint=port, patience_s=PATIENCE_S)


def listened(it) -> dict:
    """What the attacker has of a whole hello of alice's: her proof and her session are not in it."""
    session = "5e" * 16
    port = it.ask("relay", endpoint=it.alice.handshake("tcp"), host=it.host)["bound"]
    hello = it.own_hello(endpoint=port, subject=session)
    return {**it.ask("relayed", words=[session, hello["credential"]]), "welcomed": welcomed(hello)}


def said_again(it, to: str) -> dict:
    through(it)
    return it.ask("replay", endpoint=to)


def imitated(it, pinned: str) -> dict:
    """Alice's program at a port of the attacker's, with the key that she knows."""
    port = it.ask("imitate", bind=f"tcp://{it.host}:*")["bound"]
    return {**it.as_("alice").handshake(port, pinned), **it.ask("heard")}


def heard_nothing(outcome: Outcome) -> bool:
    return not_let_in(outcome) and outcome["heard"] == []


def hello_at_bobs(it) -> dict:
    """Alice's hello, with what bob's pounced says of itself: as if his endpoint file had been put in place of hers."""
    return it.own_hello(endpoint=it.bob.handshake("tcp"), daemon_key=it.bob.endpoint["key"])


ATTACKS = [
    Attack("alices_bytes_handed_on", EITHER, "hands alice's hello on and looks for her proof and her session in it", listened,
           lambda outcome: outcome["bytes"] > 400 and outcome["contains"] == [], lambda it: through(it), welcomed),
    Attack("a_bit_of_alices_handshake", STRANGER, "hands alice's bytes on with one bit of her handshake changed",
           lambda it: through(it, IN_THE_KEY), not_let_in),
    Attack("a_bit_of_alices_hello", STRANGER, "hands alice's bytes on with one bit of her hello changed",
           lambda it: through(it, IN_THE_HELLO), lambda outcome: not welcomed(outcome)),
    *(Attack(f"alices_bytes_again_at_the_{name}", EITHER, "says again, byte for byte, what alice said",
             lambda it, to=to: said_again(it, to(it)), lambda outcome: outcome["longest_s"] < 6 and outcome["heard"] < 300)
      for name, to in (("handshake", lambda it: it.alice.handshake("tcp")), ("control", lambda it: it.alice.control))),
    Attack("an_imitation_of_pounced", EITHER, "poses as alice's pounced", lambda it: imitated(it, it.alice.endpoint["key"]), heard_nothing),
    Attack("an_imitation_of_a_worker", EITHER, "poses as alice's worker", lambda it: imitated(it, it.alice.worker["key"]), heard_nothing),
    Attack("bobs_pounced_for_alices", BOB, "has alice's program say hello to his own pounced", hello_at_bobs,
           lambda outcome: not welcomed(outcome)),
]
