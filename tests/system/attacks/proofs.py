"""Hellos whose proof is somebody else's, another's, none, or alice's for something else."""

from __future__ import annotations

import secrets

from attacks.table import BOB, LOCAL, MALLORY, SLURM, STRANGER, TASK, Attack, refused, welcomed
from attacks.target import uid_of

EITHER = (MALLORY, BOB)
ROLES = ("client", "worker")
LOCALLY, IN_SLURM = (LOCAL,), (SLURM,)


def stolen(it, **fields) -> dict:
    """A proof of alice's as it was used a moment ago."""
    return it.hello(proof=it.alice.endpoint["proof"], credential=it.own_hello()["credential"], **fields)


def borrowed(it) -> dict:
    used = it.own_hello()
    return it.hello(proof=it.alice.endpoint["proof"], credential=used["credential"], claimed_key=used["keys"][0])


def for_another(it, first: dict, then: dict) -> dict:
    """A fresh proof of alice's, made for one thing and shown for another, by herself and with her key."""
    keys = it.handshake_keys()
    made = it.own_hello(keys=keys, endpoint=it.alice.handshake("tcp"), header={"key": "x"}, **first)  # refused, so not used up
    return it.own_hello(keys=keys, credential=made["credential"], **{**first, **then})


def twice(it) -> dict:
    first = it.own_hello()
    return it.own_hello(credential=first["credential"], keys=first["keys"])


def sealed(it) -> dict:
    """The seal of alice's endpoint file, as if it were a proof."""
    seal = (it.alice.state / "endpoint").read_bytes().splitlines()[1].strip()
    return it.hello(proof=it.alice.endpoint["proof"], credential=seal.hex())


def bobs_key_file(it, role: str) -> dict:
    return it.hello(role=role, proof="key_file", key_file=it.bob.endpoint["key_file"])


ONE = secrets.token_hex(16)
SECOND = secrets.token_hex(16)
ATTACKS = [
    *(Attack(f"the_kernels_word_over_tcp_as_{role}", EITHER, "says that the kernel vouches for her, over tcp",
             lambda it, role=role: it.hello(role=role, proof="peer"), refused("does not vouch"),
             lambda it: it.own_hello(over="ipc", proof="peer"), welcomed) for role in ROLES),
    Attack("a_hello_with_another_key_than_the_connections", STRANGER, "says hello for alice's key on a connection of her own",
           lambda it: it.hello(proof="peer", claimed_key=it.alice.live["public"]), refused("not the key of the connection")),
    *(Attack(f"a_used_proof_of_alices_as_{role}", EITHER, "shows alice's proof on a connection of her own",
             lambda it, role=role: stolen(it, role=role), refused()) for role in ROLES),
    Attack("a_used_proof_of_alices_with_her_key", EITHER, "shows alice's proof, and her key", borrowed,
           refused("not the key of the connection")),
    Attack("a_proof_of_another_kind", STRANGER, "offers a kind of proof that this pounced does not ask for",
           lambda it: it.hello(proof="munge" if it.alice.endpoint["proof"] == "key_file" else "key_file", credential="00" * 32),
           refused("another kind of proof")),
    Attack("the_seal_of_the_endpoint_file_as_a_proof", STRANGER, "shows what alice's pounced signed for its workers", sealed, refused()),
    Attack("a_clients_proof_for_a_worker", TASK, "shows for a worker what was made for a client",
           lambda it: for_another(it, {"role": "client", "subject": "ab" * 8},
                                  {"role": "worker"}), refused(), lambda it: it.own_hello(), welcomed),
    Attack("a_proof_for_another_session", TASK, "shows for one session what was made for another",
           lambda it: for_another(it, {"subject": ONE}, {"subject": SECOND}), refused(), lambda it: it.own_hello(subject=SECOND), welcomed),
    Attack("a_proof_for_another_pounced", TASK, "shows what was made for bob's pounced",
           lambda it: it.own_hello(audience=it.bob.endpoint["key"]), refused(), lambda it: it.own_hello(), welcomed),
    *(Attack(f"a_guessed_key_as_{role}", EITHER, "makes the proof with a key that she guesses",
             lambda it, role=role: it.hello(role=role, proof="key_file", guessed_key=secrets.token_hex(32)), refused("does not fit"),
             lambda it: it.own_hello(), welcomed, where=LOCALLY) for role in ROLES),
    Attack("a_key_of_zeros", STRANGER, "makes the proof with a key of zeros",
           lambda it: it.hello(proof="key_file", guessed_key="00" * 32), refused("does not fit"), where=LOCALLY),
    *(Attack(f"a_proof_of_{size}_bytes", STRANGER, f"shows a proof of {size} bytes",
             lambda it, size=size: it.hello(proof="key_file",
                                            credential="00" * size), refused("does not fit"), where=LOCALLY) for size in (0, 31, 33, 7000)),
    *(Attack(f"bobs_own_key_file_as_{role}", BOB, "makes the proof with the key file of his own pounced",
             lambda it, role=role: bobs_key_file(it, role), refused("does not fit"), where=LOCALLY) for role in ROLES),
    *(Attack(f"another_users_credential_as_{role}", EITHER, "shows a credential of her own for exactly this key and role",
             lambda it, role=role: it.hello(role=role, proof="munge"), refused("another user's"),
             lambda it, role=role: it.own_hello(role=role, subject="ab" * (16 if role == "client" else 8)), welcomed, where=IN_SLURM)
      for role in ROLES),
    Attack("a_credential_twice", TASK, "shows a credential that was accepted, with the same key",
           twice, refused("Replayed"), where=IN_SLURM),
    Attack("a_credential_that_is_old", TASK, "shows a credential whose time is over",
           lambda it: it.own_hello(ttl=1, wait_s=2.1), refused("Expired"), lambda it: it.own_hello(ttl=60), welcomed, where=IN_SLURM),
    Attack("a_credential_of_alices_for_something_else", TASK, "shows what alice signed without a word, as `munge -n` does",
           lambda it: it.own_hello(payload=""), refused("another key or daemon"), where=IN_SLURM),
    Attack("a_credential_for_another_reader", TASK, "shows a credential that only bob may read",
           lambda it: it.own_hello(uid=uid_of(BOB)), refused("not accepted"), where=IN_SLURM),
    *(Attack(f"a_credential_that_is_none_{name}", STRANGER, "shows nonsense for a credential",
             lambda it, text=text: it.hello(proof="munge", credential=text), refused("not accepted"), where=IN_SLURM)
      for name, text in (("empty", ""), ("a_name", b"MUNGE:".hex()), ("half", b"MUNGE:AwQDAACxs0V7:".hex()),
                         ("noise", secrets.token_hex(400)))),
]
