"""What a stranger says in place of a hello, and hellos that are none."""

from __future__ import annotations

from attacks.table import STRANGER, Attack, cut, refused, refused_as, unanswered, welcomed

PROTOCOL = refused_as("protocol")
HELLO = {"type": "hello", "role": "client", "proof": "peer", "key": "x", "session": "ab" * 16, "version": "1"}
NOT_HELLO = {
    "open_session": {"session": "ab" * 16, "pid": 1, "host": "h", "directory": "/", "interpreter": ["/bin/sh"], "environment": {}},
    "demand": {"session": "ab" * 16, "requests": []},
    "close_session": {"session": "ab" * 16},
    "status_ask": {"question": 1},
    "queue_ask": {"question": 1},
    "release_ask": {"question": 1, "leases": ["ab" * 8], "how": "cancel", "by": "m"},
    "submit_detached": {"question": 1, "name": "n", "task": "ab" * 16, "resources": {}, "retries": 0},
    "cancel_detached": {"question": 1, "name": "n", "forget": True},
    "worker_up": {"lease": "ab" * 8, "worker": 0},
    "admit": {"lease": "ab" * 8, "session": "ab" * 16, "key": "x"},
    "welcome": {"control": [], "instance": "", "heartbeat_ms": 1},
    "beat": {"answer": False, "sent_ns": 1},
}
MALFORMED = {
    "deep_json": {"text": "[", "times": 8000},
    "deep_objects": {"text": '{"a":', "times": 1600},
    "no_json": "hello",
    "nothing": "",
    "no_object": "[2]",
    "text_that_is_not_utf_8": {"hex": b'{"v":2,"type":"hello","role":"\xff\xfe"}'.hex()},
    "a_nul": {**HELLO, "role": "client\0worker"},
    "a_type_that_nobody_knows": {"type": "sudo"},
    "a_type_that_is_a_number": {"type": 7},
    "a_number_without_end": '{"v":2,"type":"hello","role":"client","proof":"peer","key":1e9999}',
    "a_role_that_nobody_knows": {**HELLO, "role": "admin"},
    "a_proof_that_nobody_knows": {**HELLO, "proof": "none"},
    "a_key_that_is_a_list": {**HELLO, "key": ["x"]},
}
WITH_PROOF = ""
ATTACKS = [
    *(Attack(f"{kind}_in_place_of_a_hello", STRANGER, f"says {kind} to the handshake endpoint",
             lambda it, kind=kind, fields=fields: it.strange({"type": kind, **fields},
                                                             WITH_PROOF), PROTOCOL) for kind, fields in NOT_HELLO.items()),
    *(Attack(f"a_hello_of_{name}", STRANGER, "says hello with " + name.replace("_", " "),
             lambda it, text=text: it.strange(text, WITH_PROOF), PROTOCOL) for name, text in MALFORMED.items()),
    *(Attack(f"a_hello_of_version_{version}".replace("-", "minus_"), STRANGER, f"says hello in version {version} of the protocol",
             lambda it, version=version: it.strange({**HELLO, "v": version}, WITH_PROOF), refused()) for version in (0, 1, 3, 2**64, -1)),
    Attack("a_key_that_is_no_key", STRANGER, "says hello with text in place of a key",
           lambda it: it.strange(HELLO, WITH_PROOF), refused("not the key of the connection")),
    Attack("a_client_without_a_session", STRANGER, "says hello for no session", lambda it: it.hello(proof="peer", subject=""), PROTOCOL),
    Attack("a_client_with_a_leases_name", STRANGER, "says hello for a session whose id is a path",
           lambda it: it.hello(proof="peer", subject="../../etc"), PROTOCOL),
    Attack("a_hello_without_its_proofs_frame", STRANGER, "says hello in one frame", lambda it: it.strange(HELLO), refused("two frames")),
    Attack("a_hello_of_three_frames", STRANGER, "says hello in three frames", lambda it: it.hello(proof="peer", extra_frames=[1]),
           refused("two frames")),
    Attack("a_hello_of_1000_frames", STRANGER, "says hello in a thousand frames",
           lambda it: it.hello(proof="peer", extra_frames=[1] * 998, patience_s=1), unanswered),
    Attack("a_hello_over_8_kib", STRANGER, "says hello with a proof of 8,100 bytes",
           lambda it: it.hello(proof="peer", credential="00" * 8100), refused("at most 8 KiB"),
           lambda it: it.own_hello(), welcomed),
    Attack("a_frame_over_8_kib", STRANGER, "says hello with a proof of 9 KiB",
           lambda it: it.hello(proof="peer", credential="00" * (9 * 1024)), cut,
           lambda it: it.own_hello(), welcomed),
    Attack("alices_name_as_her_own", STRANGER, "calls her connection as alice calls hers",
           lambda it: it.hello(proof="peer", identity=it.alice.live["session"]), refused(),
           lambda it: it.own_hello(), welcomed),
]
