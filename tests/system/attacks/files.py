"""What alice keeps on disk: her pounced's state, sockets, results, logs and jobs' scripts; and files of others in their place."""

from __future__ import annotations

from attacks.table import BOB, MALLORY, SLURM, Attack, denied, done

EITHER = (MALLORY, BOB)
STATE = ("endpoint", "journal", "pounced.log", "place")


def worst(it, question: str, paths: list[str], **fields) -> dict:
    outcomes = [it.ask(question, path=path, **fields) for path in paths]
    return next((outcome for outcome in outcomes if not denied(outcome)), outcomes[0])


def folders(it) -> list[str]:
    return [str(it.alice.state), str(it.alice.runtime), it.alice.endpoint["results"], f"{it.alice.state}/leases"]


def files(it) -> list[str]:
    return [f"{it.alice.state}/{name}" for name in STATE] + [f"{it.alice.state}/leases/{it.alice.worker['lease']}.log"]


def key_file(it) -> str:
    return it.alice.endpoint["key_file"] or f"{it.alice.state}/key"


def guessed(it) -> dict:
    """Its own pounced's key file, to whoever knows where such files lie."""
    return worst(it, "read", [key_file(it), str(it.alice.state / "key"), f"{it.alice.state}/../key"])


def it_is_no_script(outcome: dict) -> bool:
    return "pounce-worker" not in outcome["output"]


def scripts(it) -> dict:
    look = 'cd "$(dirname "$SLURM_CONF")/.." && cat spool/*/job*/slurm_script state/hash.*/job.*/* 2>/dev/null; exit 0'
    return {**it.run("sh", "-c", look), "lease": it.alice.worker["lease"]}


ATTACKS = [
    Attack("reads_alices_state", EITHER, "reads endpoint file, journal, logs", lambda it: worst(it, "read", files(it)), denied,
           lambda it: it.ask("read", path=files(it)[0]), done),
    Attack("reads_alices_key_file", EITHER, "reads the key file", guessed, denied),
    Attack("writes_to_alices_state", EITHER, "writes to endpoint file, journal, logs", lambda it: worst(it, "write", files(it)), denied),
    Attack("lists_alices_folders", EITHER, "lists the folders of state, sockets, results and logs",
           lambda it: worst(it, "listed", folders(it)), denied,
           lambda it: worst(it, "listed", folders(it)), done),
    *(Attack(f"a_{kind.replace(' ', '_')}_in_alices_folders", EITHER, f"makes a {kind} in the folders of state, sockets, results and logs",
             lambda it, kind=kind: worst(it, "make", [f"{folder}/planted" for folder in folders(it)], kind=kind, to="/etc/passwd"), denied)
      for kind in ("file", "link", "hard link", "fifo", "folder", "device")),
    Attack("an_endpoint_file_in_place_of_alices", EITHER, "makes the endpoint file anew",
           lambda it: it.ask("make", path=f"{it.alice.state}/endpoint", kind="file"), denied),
    Attack("a_hard_link_to_alices_key", EITHER, "links alice's key file and endpoint file to names of her own",
           lambda it: worst(it, "make", ["/tmp/pounce-attack-link"], kind="hard link", to=key_file(it)), lambda outcome: not done(outcome)),
    Attack("alices_folders_renamed", EITHER, "renames alice's folders, and the one of sockets in /tmp",
           lambda it: worst(it, "remove", [*folders(it), str(it.alice.runtime.parent)]), lambda outcome: not done(outcome)),
    Attack("a_result_in_alices_name", EITHER, "makes a detached task's folder in alice's results",
           lambda it: it.ask("make", path=f"{it.alice.endpoint['results']}/train-7", kind="folder"), denied),
    Attack("the_script_of_alices_job", EITHER, "reads the jobs' scripts in Slurm's spool and state", scripts,
           lambda outcome: outcome["lease"] not in outcome["output"],
           scripts, lambda outcome: outcome["lease"] in outcome["output"], where=(SLURM,)),
    Attack("slurms_view_of_alices_script", EITHER, "asks Slurm for the script of alice's job",
           lambda it: it.run("scontrol", "write", "batch_script", it.job(), "-"), it_is_no_script,
           lambda it: it.run("scontrol", "write", "batch_script", it.job(),
                             "-"), lambda outcome: not it_is_no_script(outcome), where=(SLURM,)),
]
