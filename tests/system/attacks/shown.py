"""What others say reaches logs, tables and terminals with its control characters shown, cut short, and as said by them."""

from __future__ import annotations

import json
import secrets
import time

from attacks.table import BOB, SLURM, STRANGER, Attack, Outcome

ESCAPES = "\x1b]0;owned\x07\x1b[2J\n2026-01-01T00:00:00.000 critical pounced all keys are lost\r"
KINDS = {"type": {"type": ESCAPES}, "version": {"type": "hello", "role": "client", "proof": "peer", "key": "x", "version": ESCAPES},
         "role": {"type": "hello", "role": ESCAPES, "proof": "peer", "key": "x"}, "key": {"type": "hello", "role": "client",
                  "proof": "peer", "key": ESCAPES}}

QUOTED = ("type", "role")  # in the refusal; of a version or key nothing is repeated
LOGGED, LOGGED_S = "refused a hello", 10


def logged(it, frame: dict) -> Outcome:
    """What pounced's log has of it. About one refusal a second is written, so it is said until one is."""
    path = it.alice.state / "pounced.log"
    before, text, until = path.stat().st_size, "", time.monotonic() + LOGGED_S
    while LOGGED not in text and time.monotonic() < until:
        it.strange(frame, "")
        text = path.read_bytes()[before:].decode(errors="replace")
    return {"log": text}


def clean(outcome: Outcome) -> bool:
    text = outcome["log"]
    forged = [line for line in text.splitlines() if line.startswith("2026-01-01") or len(line) > 500]
    return LOGGED in text and not set(text) & set("\x1b\x07\r") and forged == []


def clean_and_quoted(outcome: Outcome) -> bool:
    return clean(outcome) and r"\x1b]0;owned\x07" in outcome["log"]


def said_much(it) -> Outcome:
    path = it.alice.state / "pounced.log"
    before = path.stat().st_size
    it.ask("many_hellos", endpoint=it.alice.handshake("tcp"), daemon_key=it.alice.endpoint["key"], count=3000,
           header={"version": "x" * 2000})
    return {"grown": path.stat().st_size - before}


def queued(it, *options: str) -> str:
    """A job of bob's that waits for ever; returns its number."""
    made = it.run("sbatch", "--parsable", "--hold", "--mem=100", "--output=/dev/null", *options, "--wrap=true")
    assert made["code"] == 0, made
    return made["output"].split()[0].split(";")[0]


def looked_at(it, *options: str, ask: tuple[str, ...] = ("pouncectl", "top")) -> Outcome:
    """What alice's terminal gets while such a job waits; and as JSON."""
    job = queued(it, *options)
    try:
        table, document = (it.as_("alice").run(*ask, *more) for more in ((), ("--json",)))
        json.loads(document["output"])
        return {"table": table["output"] + document["output"], "code": table["code"]}
    finally:
        it.run("scancel", job)


def harmless(outcome: Outcome) -> bool:
    return outcome["code"] == 0 and not set(outcome["table"]) & set("\x1b\x07\r") and "\nowned" not in outcome["table"]


def forged(it, comment: str) -> Outcome:
    """A job of bob's with alice's tag: her pounced asks Slurm, and shows its own job and no other."""
    job = queued(it, f"--comment={comment}")
    try:
        rows = it.as_("alice").say("control", {"type": "queue_ask", "question": 8}, until=["queue_is"])
        shown = [row for message in rows["heard"] for row in message.get("rows", [])]
        still = it.run("squeue", "--noheader", "--format=%i", f"--jobs={job}")["output"].split()
        return {"jobs": [str(row["job"]) for row in shown], "still": still == [job], "job": job}
    finally:
        it.run("scancel", job)


def not_hers(outcome: Outcome) -> bool:
    return outcome["jobs"] != [] and outcome["job"] not in outcome["jobs"] and outcome["still"]


ATTACKS = [
    *(Attack(f"control_characters_as_{name}", STRANGER, f"says hello with control characters and a whole line of a log as its {name}",
             lambda it, frame=frame: logged(it, frame), clean_and_quoted if name in QUOTED else clean) for name, frame in KINDS.items()),
    Attack("3000_hellos_for_the_log", STRANGER, "says hello 3,000 times with 2 KiB of text", said_much,
           lambda outcome: outcome["grown"] < 64 * 1024),
    *(Attack(f"a_job_whose_{option}_{what}".replace("-", "_"), BOB, f"submits a job whose {option} {what.replace('_', ' ')}",
             lambda it, option=option, text=text: looked_at(it, f"--{option}={text}"), harmless, where=(SLURM,))
      for option in ("job-name", "comment") for what, text in
      (("acts_on_a_terminal", "pounce-x\x1b]0;owned\x07\x1b[2J"), ("is_several_lines", "pounce-x\r\nowned\ttab"))),
    Attack("a_job_that_says_it_is_busy", BOB, "submits a job whose comment is a tag with busy and idle times",
           lambda it: looked_at(it, f"--comment=pounce:1:{'ab' * 6}:{'cd' * 8} busy=99999999999s idle=-1s\x1b[31m"), harmless, where=(SLURM,)),
    Attack("a_job_with_the_tag_of_alices_lease", BOB, "submits a job with the tag of alice's lease",
           lambda it: forged(it, f"pounce:1:{it.alice.endpoint['instance']}:{it.alice.worker['lease']}"), not_hers, where=(SLURM,)),
    Attack("a_job_with_a_tag_of_alices_instance", BOB, "submits a job with a tag of alice's pounced and no lease of hers",
           lambda it: forged(it, f"pounce:1:{it.alice.endpoint['instance']}:{secrets.token_hex(8)}"), not_hers, where=(SLURM,)),
]
