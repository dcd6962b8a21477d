"""Requests that ask for too much, or say something to Slurm by the way. As alice: whoever talks her into such a request, or a
program of hers that takes its numbers from elsewhere, gets what she may have, and nothing that she did not ask for."""

from __future__ import annotations

import secrets

from attacks.table import SLURM, TASK, Attack, Outcome, answered

BAD = "\n; id >/tmp/pounce-attack-ran #"
NUMBERS = {
    "gpus_that_wrap": {"gpus": 2**31, "workers": 2},
    "gpus_over_the_bound": {"gpus": 4097},
    "gpus_below_zero": {"gpus": -1},
    "gpus_in_half": {"gpus": 0.5},
    "gpus_as_text": {"gpus": "1"},
    "cpus_that_wrap": {"cpus": 2**32},
    "memory_over_the_range": {"memory_mib": 2**63},
    "memory_of_each_cpu": {"memory_mib": 2**63 + 1},
    "time_below_zero": {"time_min": -1},
    "time_without_end": {"time_min": 2**31},
    "no_workers": {"workers": 0},
    "workers_without_number": {"workers": 2**32 - 1},
    "niceness_below_zero": {"nice": -100},
    "a_cuda_of_next_century": {"cuda": 2**31},
}
# To Slurm's controller these are names that there are not, whatever else is in them.
TEXTS = {
    "class": ("cheetah --wrap=id", "cheetah" + BAD, "../cheetah", "-p", "x" * 3000),
    "gpu_type": ("a100:1,gres/gpu:4", "a100" + BAD, "--wrap=id"),
    "account": ("ml --uid=0", "root" + BAD),
    "reservation": ("--wrap=id", BAD),
    "not_nodes": ("g[1-99999999]", "g1" + BAD),
}
OPTIONS = {"wrap": "id", "uid": "0", "gid": "0", "chdir": "/root", "output": "/tmp/pounce-attack-ran", "export": "ALL,LD_PRELOAD=/tmp/x",
           "prolog": "/tmp/x",
           "comment": "pounce:1:000000000000:0000000000000000", "job-name": "x\ny", "clusters": "all", "get-user-env": "1", "wckey\nuid": "0", "--wrap": "id", "": ""}
NAMES = {"above": "..", "here": ".", "a_path": "../../x", "absolute": "/etc/x", "hidden": ".x", "an_option": "-rf", "a_nul": "a\0b",
         "a_newline": "a\nb",
         "an_escape": "\x1b[2Jx", "nothing": "", "300_letters": "n" * 300, "a_slash": "a/b"}


def demanded(it, **asked) -> Outcome:
    """By a session of alice's without a worker; then it asks for nothing any more."""
    request = {"id": secrets.randbelow(2**31), "resources": {"class": it.target.resources.get("class", ""), "memory_mib": 100, **asked},
               "waiting": 1, "running": 0, "holds": []}
    session = it.second_session()
    heard = it.say("control", {"type": "demand", "session": session, "requests": [request]}, second=True,
                   until=["refused", "request_failed", "granted"])
    it.say("control", {"type": "demand", "session": session, "requests": []}, second=True)
    return {**heard, "ran": it.run("ls", "/tmp/pounce-attack-ran")["code"] == 0}


def failed(outcome: Outcome) -> bool:
    kinds = [message["type"] for message in outcome["heard"]]
    return outcome["alive"] and not outcome["ran"] and "granted" not in kinds and bool({"refused", "request_failed"} & set(kinds))


def granted(outcome: Outcome) -> bool:
    return "granted" in [message["type"] for message in outcome["heard"]]


def submitted(it, name: str) -> Outcome:
    task = {"task": secrets.token_hex(16), "resources": {}, "retries": 0}
    return it.say("control", {"type": "submit_detached", "question": 9, "name": name, **task}, second=True)


ATTACKS = [
    *(Attack(name, TASK, "asks for " + ", ".join(f"{key}={value}" for key, value in asked.items()),
             lambda it, asked=asked: demanded(it, **asked), failed, *((demanded, granted) if name == "gpus_that_wrap" else ()))
      for name, asked in NUMBERS.items()),
    *(Attack(f"a_{field}_with_more_in_it_{number}", TASK, f"asks for the {field.replace('_', ' ')} {text[:30]!r}",
             lambda it, field=field, text=text: demanded(it, **{field: text, "gpus": int(field == "gpu_type")}), failed, where=(SLURM,))
      for field, texts in TEXTS.items() for number, text in enumerate(texts, 1)),
    *(Attack(f"an_option_of_sbatch_{number}", TASK, f"asks for Slurm's option {name!r}",
             lambda it, name=name, value=value: demanded(it, slurm={name: value}), failed, where=(SLURM,))
      for number, (name, value) in enumerate(OPTIONS.items(), 1)),
    *(Attack(f"a_detached_task_whose_name_is_{what}", TASK, f"submits a detached task of the name {name[:20]!r}",
             lambda it, name=name: submitted(it, name), answered("bad_request")) for what, name in NAMES.items()),
]
