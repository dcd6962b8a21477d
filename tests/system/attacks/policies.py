"""The site's policy, whose prologue runs in every job of whoever goes by it: a file that mallory has planted or may write.

Alice's pounced leaves it alone and says why; an admin's `pouncectl policy apply` refuses it by name.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Callable

from attacks.place import Place, end
from attacks.table import MALLORY, SLURM, Attack, Outcome

CALL = """
import pounce
with pounce.Client() as client:
    print(client.options(memory="200MB", **{options}).submit(max, 1, 2).result(60))
"""
PLANT = """echo '{{"prologue": "touch {shared}/ran"}}' >{shared}/hers.json; """
OTHERS = ("can be written by others", "belongs to another user")


def planted(script: str, name: str = "policy.json") -> Callable[[Place], str]:
    """By mallory, in a folder that is open to all."""

    def path(place: Place) -> str:
        place.prepare("mallory", PLANT + script)
        return str(place.shared / name)

    return path


def loosened(mode: int, owner: str = "alice", group: str = "alice") -> Callable[[Place], str]:
    """In alice's own home."""

    def path(place: Place) -> str:
        file = place.home / "policy.json"
        file.write_text(json.dumps({"prologue": f"touch {place.shared}/ran"}))
        subprocess.run(["chown", f"{owner}:{group}", str(file)], check=True)
        file.chmod(mode)
        return str(file)

    return path


def gone_by(path: Callable[[Place], str]):
    """Alice's pounced has that policy, and a call of hers runs: what it says of the policy, and whether its prologue ran."""

    def tries(it) -> Outcome:
        with it.place() as place:
            place.configure({"launcher": "slurm", "policy": path(place)})
            # As in a job: an instance of its own, which leaves the jobs of her other pounced alone.
            settings = {"HOME": place.home, "POUNCE_CONFIG": place.config, "XDG_RUNTIME_DIR": place.home, "SLURM_JOB_ID": 999_999_999}
            env = ["env", *(f"{name}={value}" for name, value in settings.items())]
            try:
                options = {"class_": it.target.resources["class"]}
                answer = it.target.output("alice", [*env, "python", "-c", CALL.format(options=options)])
                policy = json.loads(it.target.output("alice", [*env, "pouncectl", "status", "--json"]))["policy"]
                return {"answer": answer, "policy": policy, "ran": (place.shared / "ran").exists()}
            finally:
                with contextlib.suppress(subprocess.CalledProcessError):
                    end(json.loads(it.target.output("alice", [*env, "pounced", "ensure"]).splitlines()[-1])["pid"])

    return tries


def left_alone(outcome: Outcome) -> bool:
    trouble = outcome["policy"]["trouble"]
    return outcome["answer"] == "2\n" and not outcome["ran"] and "/" in trouble and any(words in trouble for words in OTHERS)


def in_force(outcome: Outcome) -> bool:
    return outcome["answer"] == "2\n" and outcome["ran"] and outcome["policy"]["trouble"] == ""


def applied(path: Callable[[Place], str]):
    """Whoever runs `policy apply` of it; it is looked at before Slurm is asked for anything."""

    def tries(it) -> Outcome:
        with it.place() as place:
            done = place.run("alice", f"pouncectl policy apply --json {path(place)}")
            return {"code": done.returncode, "text": done.stdout + done.stderr}

    return tries


def refused_by_name(outcome: Outcome) -> bool:
    return outcome["code"] != 0 and "/" in outcome["text"] and any(words in outcome["text"] for words in OTHERS)


def looked_at(outcome: Outcome) -> bool:
    return not any(words in outcome["text"] for words in OTHERS)


FILES = [
    ("a_policy_of_hers", "makes the policy file", planted("mv {shared}/hers.json {shared}/policy.json")),
    ("a_policy_by_a_link_of_hers", "makes a link where the policy is to be", planted("ln -s {shared}/hers.json {shared}/policy.json")),
    ("a_policy_by_a_link_of_hers_to_alices_own", "makes a link to alice's policy, and can turn it",
     lambda place: (loosened(0o644)(place), planted("ln -s {home}/policy.json {shared}/policy.json")(place))[1]),
    ("a_policy_that_all_may_write", "may write the policy", loosened(0o666)),
    ("a_policy_that_her_group_may_write", "is in the group that may write the policy", loosened(0o664, group="mallory")),
    ("a_policy_that_she_owns", "owns the policy", loosened(0o644, "mallory")),
]
ATTACKS = [
    *(Attack(f"{name}_in_force", MALLORY, f"{what} that alice's pounced goes by", gone_by(path), left_alone,
             *((gone_by(loosened(0o644)), in_force) if name == "a_policy_of_hers" else ()), where=(SLURM,)) for name, what, path in FILES),
    *(Attack(f"{name}_applied", MALLORY, f"{what} that is applied", applied(path), refused_by_name, applied(loosened(0o644)), looked_at)
      for name, what, path in FILES),
]
