"""Whoever is there first: names in /tmp and /var/tmp, a state folder, a configuration, made by mallory before alice starts.

Each has a machine's folders of its own (attacks/place.py). pounced starts elsewhere, or says by name what is wrong.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time

from attacks.table import BOB, MALLORY, Attack, Outcome

NO_HOME = {"HOME": "/proc"}  # where nothing can be made: the state goes to /var/tmp
KINDS = {
    "an_open_folder": "mkdir -m 0777 {name}",
    "an_open_folder_with_all_below_it": "mkdir -p -m 0777 {name}/local/0123456789ab {name}/results",
    "a_link_to_hers": "mkdir -m 0777 {{shared}}/hers && ln -s {{shared}}/hers {name}",
    "a_link_to_nothing": "ln -s {{shared}}/nothing {name}",
    "a_link_to_itself": "ln -s {name} {name}",
    "a_file": "echo x >{name}",
    "a_fifo": "mkfifo {name}",
}
BESIDE = "for n in 0 1 2 3 4 5 6 7 8 9; do mkdir -m 0777 {name}-$n; done; mkdir -m 0777 {name}; ln -s {{shared}} {name}-x"
SWAP = "mkdir -m 0777 {shared}/hers; touch {shared}/ready; while [ -e {shared}/ready ]; do " \
       "mkdir -m 0777 /tmp/{own}; rmdir /tmp/{own}; ln -s {shared}/hers /tmp/{own}; rm /tmp/{own}; done 2>/dev/null"
HUGE = "truncate -s 1G"


def elsewhere(outcome: Outcome) -> bool:
    """It started, in folders that nobody else can enter and nobody else made."""
    return "error" not in outcome and outcome["entered"] == [] and outcome["taken"] == []


def refused_by_name(outcome: Outcome) -> bool:
    return "error" in outcome and "/" in outcome["text"] and outcome["taken"] == []


def elsewhere_or_refused(outcome: Outcome) -> bool:
    return elsewhere(outcome) or refused_by_name(outcome)


def squatted(script: str, by: str = "mallory", config: dict | None = None, **environment: str):
    def tries(it) -> Outcome:
        with it.place() as place:
            place.prepare(by, script)
            if config is not None:
                place.configure({key: str(value).format(**place.names) for key, value in config.items()})
            return place.start(**environment)

    return tries


def fresh(it) -> Outcome:
    with it.place() as place:
        return place.start()


def swapped(it) -> Outcome:
    """Five starts while the name changes all the time."""
    with it.place() as place:
        mallory = subprocess.Popen(place.words("mallory", "umask 0; " + SWAP))
        try:
            outcomes = [place.start() for _ in range(5)]
        finally:
            place.run("mallory", "rm {shared}/ready")
            mallory.wait(10)
    return next((outcome for outcome in outcomes if not elsewhere_or_refused(outcome)), outcomes[0])


def group_writable(it) -> Outcome:
    with it.place() as place:
        subprocess.run(["chgrp", "mallory", str(place.home)], check=True)
        place.home.chmod(0o770)
        place.configure({})
        place.config.rename(place.root / "pounced.json")  # of root's folder: not what is tried here
        outcome = place.start(POUNCE_CONFIG=str(place.root / "pounced.json"))
        return {**outcome, "below": [folder for folder in outcome.get("folders", []) if folder.startswith(str(place.home))]}


def configured(script: str, path: str = "{shared}/pounced.json"):
    """alice starts with a configuration that mallory can have written."""

    def tries(it) -> Outcome:
        with it.place() as place:
            place.prepare("mallory", script)
            return place.start(POUNCE_CONFIG=path)

    return tries


def loosened(mode: int, owner: str = "alice", group: str = "alice"):
    def tries(it) -> Outcome:
        with it.place() as place:
            subprocess.run(["chown", f"{owner}:{group}", str(place.config)], check=True)
            place.config.chmod(mode)
            return place.start()

    return tries


def followed(it) -> Outcome:
    """Alice's pounced is killed, and where her worker looks for the next one lies bob's endpoint file: as if he had found a
    way to put it there, as alice's own file. What the worker says of it."""
    with it.place() as place, place.session(it.target) as (person, log):
        os.kill(person.endpoint["pid"], signal.SIGKILL)
        planted = person.state / "endpoint"
        planted.write_bytes((it.bob.state / "endpoint").read_bytes())
        deadline = time.monotonic() + 30
        while "is believed" not in log.read_text() and time.monotonic() < deadline:
            time.sleep(0.1)
        return {"worker": log.read_text(), "bob": (it.bob.state / "pounced.log").read_text(), "lease": person.worker["lease"]}


def not_believed(outcome: Outcome) -> bool:
    return "no other pounced is believed" in outcome["worker"] and outcome["lease"] not in outcome["bob"]


def name_taken(name: str, script: str) -> str:
    return script.format(name=name)


CONFIG = """echo '{{"launcher": "local"}}' >{shared}/hers.json; """
ATTACKS = [
    *(Attack(f"{kind}_in_tmp", MALLORY, f"makes {kind.replace('_', ' ')} where alice's sockets will be",
             squatted(name_taken("/tmp/{own}", script)), elsewhere, fresh, elsewhere) for kind, script in KINDS.items()),
    *(Attack(f"{kind}_in_var_tmp", MALLORY, f"makes {kind.replace('_', ' ')} where alice's state will be",
             squatted(name_taken("/var/tmp/{own}", script), **NO_HOME), elsewhere) for kind, script in KINDS.items()),
    *(Attack(f"all_likely_names_in_{place.strip('/').replace('/', '_')}", MALLORY, f"makes folders of all likely names in {place}",
             squatted(name_taken(place + "/{own}", BESIDE), **NO_HOME), elsewhere) for place in ("/tmp", "/var/tmp")),
    Attack("a_name_that_changes_all_the_time", MALLORY, "swaps folder and link while alice starts", swapped, elsewhere_or_refused),
    Attack("a_runtime_folder_of_hers", MALLORY, "has alice's XDG_RUNTIME_DIR name a folder of hers",
           squatted("mkdir -m 0777 {shared}/hers", XDG_RUNTIME_DIR="{shared}/hers"), elsewhere),
    Attack("a_runtime_folder_by_a_link", MALLORY, "has alice's XDG_RUNTIME_DIR name a link of hers",
           squatted("ln -s {home} {shared}/hers", XDG_RUNTIME_DIR="{shared}/hers"), elsewhere_or_refused),
    Attack("a_state_folder_below_an_open_one", MALLORY, "can write in the folder above alice's state folder",
           squatted("true", config={"state_folder": "{shared}/state"}), refused_by_name),
    Attack("a_state_folder_that_she_made", MALLORY, "makes alice's state folder in a sticky one",
           squatted("mkdir -m 0777 /tmp/state", config={"state_folder": "/tmp/state"}), refused_by_name),
    Attack("a_state_folder_by_a_link_of_hers", MALLORY, "makes a link where alice's state folder is to be",
           squatted("mkdir -m 0777 {shared}/hers; ln -s {shared}/hers /tmp/state", config={"state_folder": "/tmp/state"}), refused_by_name),
    Attack("a_home_that_her_group_may_write", MALLORY, "is in a group that may write in alice's home", group_writable,
           lambda outcome: elsewhere(outcome) and outcome["below"] == []),
    Attack("an_endpoint_file_where_alices_worker_looks", BOB, "puts his endpoint file where alice's worker looks for the next pounced",
           followed, not_believed),
    Attack("a_configuration_of_hers", MALLORY, "has alice name her configuration file",
           configured(CONFIG + "mv {shared}/hers.json {shared}/pounced.json"), refused_by_name),
    Attack("a_configuration_by_a_link_of_hers", MALLORY, "makes a link where alice's configuration is to be",
           configured(CONFIG + "ln -s {shared}/hers.json {shared}/pounced.json"), refused_by_name),
    Attack("a_configuration_that_is_a_fifo", MALLORY, "makes a FIFO where alice's configuration is to be",
           configured("mkfifo {shared}/pounced.json"), refused_by_name),
    Attack("a_configuration_of_a_gigabyte", MALLORY, "makes a configuration of a gigabyte", configured(HUGE + " {shared}/pounced.json"),
           refused_by_name),
    Attack("a_configuration_that_all_may_write", MALLORY, "may write alice's configuration", loosened(0o666), refused_by_name,
           loosened(0o644), elsewhere),
    Attack("a_configuration_that_her_group_may_write", MALLORY, "is in the group that may write alice's configuration",
           loosened(0o664, group="mallory"), refused_by_name),
    Attack("a_configuration_that_she_owns", MALLORY, "owns alice's configuration", loosened(0o644, "mallory"), refused_by_name),
]
