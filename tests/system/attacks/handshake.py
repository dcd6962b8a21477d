"""The first bytes at each port: another mechanism, another key, another protocol, silence."""

from __future__ import annotations

from attacks.table import BOB, MALLORY, STRANGER, Attack, denied, done, hung_up_within, let_in, not_let_in
from attacks.target import OTHER_KEY

EITHER = (MALLORY, BOB)
SOCKETS = ("handshake", "control", "worker")
HANDSHAKE_S = 4   # 2 s, and some for a loaded machine
AT_SOCKET = {name: (lambda it, mechanism, at="at_" + name, **fields: getattr(it, at)(mechanism, **fields)) for name in SOCKETS}


def with_curve(at: str):
    """Alice's own key gets in where mallory's does not: at the handshake endpoint any, at the others hers that was admitted."""
    if at == "handshake":
        return lambda it: it.at_handshake()
    return lambda it: it.at_control(keys=it.own_hello()["keys"])


ATTACKS = [
    *(Attack(f"{mechanism}_at_the_{at}", STRANGER, f"offers {mechanism.upper()} at the {at}'s port",
             lambda it, at=at, mechanism=mechanism: AT_SOCKET[at](it, mechanism), not_let_in, with_curve(at), let_in)
      for at in SOCKETS for mechanism in ("null", "plain")),
    *(Attack(f"a_key_nobody_admitted_at_the_{at}", EITHER, f"connects to the {at}'s port with a key pair made now",
             lambda it, at=at: AT_SOCKET[at](it, "curve"), not_let_in, with_curve(at), let_in)
      for at in ("control", "worker")),
    *(Attack(f"alices_public_key_without_its_secret_at_the_{at}", EITHER, "says that alice's admitted key is hers",
             lambda it, at=at: AT_SOCKET[at](it, "curve", keys=[it.alice.live["public"], it.handshake_keys()[1]]), not_let_in)
      for at in ("control", "worker")),
    Attack("a_server_key_of_another", STRANGER, "pins a key that is not pounced's",
           lambda it: it.at_handshake(server_key=OTHER_KEY), not_let_in, lambda it: it.at_handshake(), let_in),
    Attack("bobs_key_at_alices_worker", BOB, "comes with the key that his own pounced and worker admit",
           lambda it: it.at_worker(keys=it.own_keys()), not_let_in),
    Attack("a_key_of_alices_that_was_not_granted_this_worker", "alice", "comes to a worker that another session was granted",
           lambda it: it.at_worker(keys=it.own_hello()["keys"]), not_let_in),
    *(Attack(f"{name}_on_each_port", STRANGER, f"says {said} at each of the three ports",
             lambda it, said=said: it.raw(said), hung_up_within(HANDSHAKE_S))
      for name, said in (("http", "http"), ("tls", "tls"), ("noise", "noise"), ("zmtp_1", "zmtp 1"),
                         ("zmtp_2", "zmtp 2"), ("gssapi", "gssapi"), ("a_message_in_clear", "null, at once a message"),
                         ("another_server", "as the server"), ("a_command_of_4_gib", "a command of 4 GiB"),
                         ("a_message_before_the_handshake", "a message before the handshake"),
                         ("an_initiate_first", "an initiate first"))),
    Attack("half_a_greeting_on_each_port", STRANGER, "says half a greeting and waits",
           lambda it: it.raw("half a greeting"), hung_up_within(HANDSHAKE_S)),
    Attack("a_greeting_and_nothing_on_each_port", STRANGER, "says a greeting and waits",
           lambda it: it.raw("a greeting and nothing"), hung_up_within(HANDSHAKE_S)),
    Attack("one_byte_at_a_time_on_each_port", STRANGER, "says a greeting, a byte each 0.2 s",
           lambda it: it.raw("a greeting and nothing", slowly=True), hung_up_within(HANDSHAKE_S)),
    *(Attack(f"the_local_socket_{name}", EITHER, "connects to a socket in the runtime folder",
             lambda it, name=name: it.ask("enter", unix=f"{it.alice.runtime}/{name}"), denied,
             lambda it, name=name: it.ask("enter", unix=f"{it.alice.runtime}/{name}"), done)
      for name in ("handshake", "control", "hs_tcp", "ctl_tcp")),
    Attack("sockets_without_a_file", EITHER, "looks for abstract sockets, which have no owner, beside the workers' (local_channel.py)",
           lambda it: it.ask("abstract", words=["pounce", "handshake", "control", "zmq"]),
           lambda outcome: all(name.startswith("@pounce-worker/") for name in outcome["abstract"])),
]
