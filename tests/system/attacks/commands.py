"""Slurm's own commands on alice's job, as another user of the cluster and as one without an account."""

from __future__ import annotations

from attacks.table import BOB, MALLORY, SLURM, Attack, exits_well, exits_with_error

EITHER = (MALLORY, BOB)
COMMANDS = {
    "scancel": ("scancel", "{job}"),
    "scancel_with_a_signal": ("scancel", "--signal=USR1", "--batch", "{job}"),
    "scancel_by_user": ("scancel", "--user=alice", "--verbose"),
    "hold": ("scontrol", "hold", "{job}"),
    "suspend": ("scontrol", "suspend", "{job}"),
    "requeue": ("scontrol", "requeue", "{job}"),
    "another_time_limit": ("scontrol", "update", "JobId={job}", "TimeLimit=1"),
    "another_comment": ("scontrol", "update", "JobId={job}", "Comment=pounce:1:000000000000:0000000000000000"),
    "another_account": ("scontrol", "update", "JobId={job}", "Account=root"),
    "a_step_in_alices_job": ("srun", "--immediate=5", "--jobid={job}", "--overlap", "id"),
    "a_file_into_alices_job": ("sbcast", "--jobid={job}", "/etc/hostname", "/tmp/pounce-attack-cast"),
    "the_output_of_alices_steps": ("sattach", "{job}.batch"),
    "the_node": ("scontrol", "update", "NodeName=g1", "State=DOWN", "Reason=x"),
    "a_class_of_the_site": ("sacctmgr", "-i", "modify", "qos", "cheetah", "set", "MaxWall=1"),
    "a_job_in_alices_name": ("sbatch", "--uid=alice", "--output=/dev/null", "--wrap=id"),
    "a_job_for_alices_account": ("sbatch", "--account=root", "--output=/dev/null", "--wrap=id"),
}


def ran(it, words: tuple[str, ...]) -> dict:
    """What it printed; by its exit code some of Slurm's commands succeed whose every request was refused."""
    outcome = it.run(*(word.format(job=it.job()) for word in words))
    shown = it.as_("alice").run("squeue", "--noheader", "--jobs=" + it.job(), "--format=%T|%k|%l")["output"]
    return {**outcome, "goes_on": shown.startswith("RUNNING|pounce:1:" + it.alice.endpoint["instance"])}


def own(it) -> dict:
    return it.run("scontrol", "update", "JobId=" + it.job(), "Nice=1")


def refused(outcome: dict) -> bool:
    told = any(word in outcome["output"].lower() for word in ("denied", "not permitted", "error"))
    return outcome["goes_on"] and (exits_with_error()(outcome) or told)


ATTACKS = [
    *(Attack(name, EITHER, "runs `" + " ".join(words).format(job="JOB") + "`", lambda it, words=words: ran(it, words), refused,
             *((own, exits_well) if name == "another_comment" else ()), where=(SLURM,))
      for name, words in COMMANDS.items()),
]
